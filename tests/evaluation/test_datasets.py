"""Catalogs, wheels and the planted corpus. Every catalog here is written by the test itself."""

import io
import struct
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest

from semproj import datasets
from semproj.datasets import catalog_pairs, download_wheel, planted_bilingual, read_catalog
from semproj.metrics import top1

PO = r"""# A translator's comment
msgid ""
msgstr ""
"Project-Id-Version: none\n"
"Content-Type: text/plain; charset=UTF-8\n"

#: file.py:1
#, python-format
msgid "Hello %(name)s"
msgstr "Hola %(name)s"

#, fuzzy, python-format
#| msgid "old"
msgid "guessed"
msgstr "adivinado"

msgctxt "verb"
msgid ""
"a \"quoted\" word,\n"
"a tab\t, a backslash \\n"
msgstr ""
"una palabra \"citada\",\n"
"un\ttabulador \\n"

msgid "one file"
msgid_plural "%d files"
msgstr[0] "un fichero"
msgstr[1] "muchos ficheros"
msgstr[2] "%d ficheros"

msgid "untranslated"
msgstr ""

#~ msgid "obsolete"
#~ msgstr "obsoleto"

msgid "no blank line before"
msgstr "sin línea en blanco"
msgid "octal \303\261 and hex \xc3\xb1"
msgstr "eñe"
"""

PAIRS = [
    ("Hello %(name)s", "Hola %(name)s"),
    ('a "quoted" word,\na tab\t, a backslash \\n', 'una palabra "citada",\nun\ttabulador \\n'),
    ("one file", "un fichero"),
    ("%d files", "%d ficheros"),
    ("no blank line before", "sin línea en blanco"),
    ("octal ñ and hex ñ", "eñe"),
]


def mo(messages, order="<", charset="utf-8"):
    messages = {"": f"Content-Type: text/plain; charset={charset}\n", **messages}
    sources, targets = ([text.encode(charset) for text in side] for side in (messages, messages.values()))
    at = 28 + 16 * len(messages)
    table, body = b"", b""
    for text in [*sources, *targets]:
        table += struct.pack(order + "II", len(text), at + len(body))
        body += text + b"\0"
    n = len(messages)
    return struct.pack(order + "7I", 0x950412DE, 0, n, 28, 28 + 8 * n, 0, 0) + table + body


@pytest.mark.parametrize("change", [str, lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t])
def test_po(change):
    assert read_catalog(change(PO).encode()) == PAIRS


def test_po_from_a_path_and_a_file(tmp_path):
    path = tmp_path / "a.po"
    path.write_bytes(PO.encode())
    assert read_catalog(path) == read_catalog(str(path)) == read_catalog(io.BytesIO(PO.encode())) == PAIRS


def test_po_charset():
    text = PO.replace("UTF-8", "ISO-8859-1").replace("\\303\\261", "\\361").replace("\\xc3\\xb1", "\\xf1")
    assert read_catalog(text.encode("latin-1")) == PAIRS


def test_po_line_separator_inside_a_string():
    assert read_catalog('msgid "a\u2028b"\nmsgstr "c\x85d"'.encode()) == [("a\u2028b", "c\x85d")]


def test_po_without_header_or_with_template_charset():
    body = 'msgid "año"\nmsgstr "year"\n'
    template = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=CHARSET\\n"\n\n'
    assert read_catalog(body.encode()) == read_catalog((template + body).encode()) == [("año", "year")]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
def test_mo(order, charset):
    messages = {
        "one": "uno",
        "verb\x04run": "corre",
        "file\0files": "fichero\0muchos\0ficheros ñ",
        "empty": "",
    }
    assert read_catalog(mo(messages, order, charset)) == [
        ("one", "uno"),
        ("run", "corre"),
        ("file", "fichero"),
        ("files", "ficheros ñ"),
    ]


def test_one_plural_form_goes_with_the_plural():
    assert read_catalog(mo({"file\0files": "fitxategi"})) == [("files", "fitxategi")]
    assert read_catalog(b'msgid "f"\nmsgid_plural "fs"\nmsgstr[0] "g"') == [("fs", "g")]


@pytest.mark.parametrize("size", [10, 27, 40, 60, 90])
def test_truncated_mo(size):
    with pytest.raises(ValueError, match=r"^file: truncated \.mo"):
        read_catalog(mo({"a long message": "otro mensaje largo"})[:size])


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"<html></html>", r"^file: line 1: not a line of a gettext catalog"),
        (b'msgid "a"\nmsgstr "b', r"^file: line 2: expected a quoted string"),
        (b'msgid "\xff"\nmsgstr "b"', r"^file: not valid utf-8 at byte 7"),
        (b'"Content-Type: text/plain; charset=klingon\\n"', r"^file: unknown charset 'klingon'"),
    ],
)
def test_malformed_catalog(raw, message):
    with pytest.raises(ValueError, match=message):
        read_catalog(raw)


def test_wrong_kind_of_file():
    with pytest.raises(TypeError, match=r"^file: expected a path"):
        read_catalog(3)
    with pytest.raises(TypeError, match=r"^file: expected a file opened in binary"):
        read_catalog(io.StringIO("x"))


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("Hello %(name)s, you have %d new %s.", "Hello , you have new ."),
        ("{count} of {{ total }} {% if x %}seats{% endif %}", "of seats"),
        ('See <a href="%(url)s">the docs</a><br/> &amp; more', "See the docs & more"),
        ("100% sure, 5%d, 50%% off", "100% sure, 5%d, 50% off"),
        ("%1$s and %.2f and %(x).3f", "and and"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("go to https://example.org/a?b=c now", "go to now"),
        ("two\n  lines", "two lines"),
    ],
)
def test_markup_is_removed(raw, plain):
    assert datasets._packages._plain(raw) == plain


def write_wheel(path, files):
    with zipfile.ZipFile(path, "w") as wheel:
        for name, raw in files.items():
            wheel.writestr(name, raw)
    return path


def po(*pairs):
    return "\n\n".join(f'msgid "{source}"\nmsgstr "{target}"' for source, target in pairs)


FILES = {
    "p/z/locale/es/LC_MESSAGES/django.po": po(
        ("last one here", "el último aquí"), ("first one here", "otra vez esto")
    ),
    "p/a/locale/es/LC_MESSAGES/django.po": po(
        ("<b>first</b> one here", "el primero aquí"),
        ("First one, HERE!", "otra cosa distinta"),
        ("something quite else", "El primero: aquí"),
        ("too short", "demasiado corto ahora"),
        ("left as it was", "Left as it was."),
    ),
    "p/a/locale/es/LC_MESSAGES/django.mo": mo({"only in the mo": "no se lee aquí"}),
    "p/b/translations/es/LC_MESSAGES/messages.mo": mo({"from a mo file": "de un fichero mo"}),
    "p/a/locale/es_MX/LC_MESSAGES/django.po": po(("another language than asked", "otro idioma que pedido")),
    "p/a/locale/es/other.po": po(("not in the right folder", "no en la carpeta debida")),
}
EXPECTED = [
    ("first one here", "el primero aquí"),
    ("from a mo file", "de un fichero mo"),
    ("last one here", "el último aquí"),
]


def test_catalog_pairs(tmp_path):
    wheel = write_wheel(tmp_path / "p.whl", FILES)
    backwards = write_wheel(tmp_path / "q.whl", dict(reversed(FILES.items())))
    assert catalog_pairs(wheel, "es", min_words=3) == EXPECTED
    assert catalog_pairs(backwards, "es", min_words=3) == EXPECTED
    assert catalog_pairs([wheel, backwards], "es", min_words=3) == EXPECTED
    assert catalog_pairs(str(wheel), "es", min_words=4) == [("from a mo file", "de un fichero mo")]
    assert catalog_pairs(wheel, "fr") == []


def test_catalog_pairs_of_a_source_archive(tmp_path):
    path = tmp_path / "p.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, raw in FILES.items():
            raw = raw.encode() if isinstance(raw, str) else raw
            member = tarfile.TarInfo("p-1.0/" + name)
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    assert catalog_pairs(path, "es", min_words=3) == EXPECTED


def test_catalog_pairs_errors(tmp_path):
    (tmp_path / "no.whl").write_text("not an archive")
    with pytest.raises(ValueError, match=r"^wheel: no\.whl is neither"):
        catalog_pairs(tmp_path / "no.whl", "es")
    wheel = write_wheel(tmp_path / "bad.whl", {"p/locale/es/LC_MESSAGES/x.po": "rubbish"})
    with pytest.raises(ValueError, match=r"^wheel: bad\.whl: p/locale/es/LC_MESSAGES/x\.po: file: line 1"):
        catalog_pairs(wheel, "es")


@pytest.fixture
def fake_pip(monkeypatch):
    """pip download as a function of its options; the calls made."""
    calls = []

    def install(answer):
        def run(command, **kwargs):
            assert command[:4] == [sys.executable, "-m", "pip", "download"]
            calls.append(command)
            folder = command[command.index("--dest") + 1]
            return answer(command, folder, kwargs["timeout"])

        monkeypatch.setattr(subprocess, "run", run)
        return calls

    return install


def result(code, stderr=""):
    return subprocess.CompletedProcess([], code, "", stderr)


def test_download_is_cached_and_whole(fake_pip, tmp_path):
    def answer(command, folder, timeout):
        assert command[-1] == "Some_Package"
        with open(f"{folder}/some_package-1.0-py3-none-any.whl", "wb") as file:
            file.write(b"wheel")
        return result(0)

    calls = fake_pip(answer)
    cache = tmp_path / "new" / "cache"
    path = download_wheel("Some_Package", cache)
    assert path == cache / "some-package" / "some_package-1.0-py3-none-any.whl"
    assert path.read_bytes() == b"wheel"
    assert download_wheel("some.package", cache) == path
    assert len(calls) == 1
    assert [p.name for p in cache.iterdir()] == ["some-package"]


def test_download_falls_back_to_the_source_archive(fake_pip, tmp_path):
    def answer(command, folder, timeout):
        if "--only-binary=:all:" in command:
            return result(1, "ERROR: No matching distribution found for p")
        open(f"{folder}/p-1.0.tar.gz", "wb").close()
        return result(0)

    assert len(calls := fake_pip(answer)) == 0
    assert download_wheel("p==1.0", tmp_path) == tmp_path / "p-1.0" / "p-1.0.tar.gz"
    assert len(calls) == 2


@pytest.mark.parametrize("how", ["refused", "slow", "missing"])
def test_failed_download_leaves_nothing(fake_pip, tmp_path, how):
    def answer(command, folder, timeout):
        with open(f"{folder}/p-1.0-py3-none-any.whl", "wb") as file:
            file.write(b"half")
        if how == "slow":
            raise subprocess.TimeoutExpired(command, timeout)
        warning = "WARNING: Retrying after connection broken\n" if how == "refused" else ""
        return result(1, warning + "ERROR: No matching distribution found for p")

    calls = fake_pip(answer)
    reason = "pip failed" if how == "missing" else "no connection to the package index"
    with pytest.raises(datasets.DownloadError, match=f"^package: cannot fetch 'p': {reason}"):
        download_wheel("p", tmp_path, timeout=1)
    assert len(calls) == (2 if how == "missing" else 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["", "--index-url=x", "a b", "../a", "a>=1", "a=="])
def test_package_name_is_checked(package, tmp_path):
    with pytest.raises(ValueError, match=r"^package: expected a name"):
        download_wheel(package, tmp_path)


def words(texts):
    return {word for text in texts for word in text.split()}


def test_planted_is_reproducible_and_aligned():
    corpus = planted_bilingual(300, n_topics=5, n_terms=500, random_state=7)
    again = planted_bilingual(300, n_topics=5, n_terms=500, random_state=7)
    other = planted_bilingual(300, n_topics=5, n_terms=500, random_state=8)
    assert corpus.first == again.first
    assert corpus.second == again.second
    assert corpus.first != other.first
    assert [len(t.split()) for t in corpus.first] == [len(t.split()) for t in corpus.second]
    assert set(corpus.topics) == set(range(5))


def test_planted_languages_share_names_only():
    corpus = planted_bilingual(400, n_terms=1000, shared=0.1, random_state=1)
    alike = words(corpus.first) & words(corpus.second)
    assert len(alike) > 20
    assert all(word[0].isupper() and word.endswith("x") for word in alike)
    none = planted_bilingual(400, n_terms=1000, shared=0.0, random_state=1)
    assert not words(none.first) & words(none.second)


def test_planted_statistics():
    corpus = planted_bilingual(2000, n_topics=10, n_terms=2000, mean_length=30, random_state=2)
    lengths = np.array([len(text.split()) for text in corpus.first])
    assert abs(lengths.mean() - 30) < 2
    assert lengths.min() >= 6
    assert lengths.std() > 10
    tokens = [word for text in corpus.first for word in text.split()]
    counts = np.sort(np.unique(tokens, return_counts=True)[1])[::-1]
    ranks = np.arange(1, 501)
    slope = np.polyfit(np.log(ranks), np.log(counts[:500]), 1)[0]
    assert -1.3 < slope < -0.7


def test_planted_pairs_say_the_same():
    """When every concept is written alike, a text finds its partner; when none is, never."""

    def found(shared, shift=0):
        corpus = planted_bilingual(300, n_terms=1000, shared=shared, common=0.2, noise=0.1, random_state=3)
        vocabulary = {word: i for i, word in enumerate(sorted(words(corpus.first) | words(corpus.second)))}
        X = np.zeros((2, 300, len(vocabulary)), dtype=np.float32)
        for side, texts in enumerate((corpus.first, corpus.second)):
            for row, text in enumerate(texts):
                np.add.at(X[side, row], [vocabulary[word] for word in text.split()], 1)
        return top1(X[0], np.roll(X[1], shift, axis=0))

    assert found(shared=1.0) > 0.95
    assert 0.2 < found(shared=0.2) < 0.9
    assert found(shared=0.0) == 0
    assert found(shared=1.0, shift=1) < 0.05


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"n_pairs": 0}, "n_pairs"),
        ({"n_topics": 0}, "n_topics"),
        ({"n_terms": 3, "n_topics": 4}, "n_terms"),
        ({"shared": -0.1}, "shared"),
        ({"common": 1.5}, "common"),
        ({"noise": np.nan}, "noise"),
        ({"mean_length": 6}, "mean_length"),
    ],
)
def test_planted_errors(arguments, name):
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        planted_bilingual(**{"n_pairs": 10, **arguments})
