"""Bilingual text to learn and test on: gettext catalogues inside packages, and a planted corpus."""

from __future__ import annotations

import html
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "DownloadError",
    "PlantedCorpus",
    "catalog_pairs",
    "download_wheel",
    "planted_bilingual",
    "read_catalog",
]

Pair = tuple[str, str]

_MO_MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}
_CHARSET = re.compile(rb"content-type:[^\n]*?charset=([\w.:-]+)", re.IGNORECASE)
_PO_KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d+)\])?)\s*(?=\")")
_BYTE_ESCAPES = r"(?:\\x[0-9a-fA-F]{1,2}|\\[0-7]{1,3})+"
_PO_ESCAPE = re.compile(rf"{_BYTE_ESCAPES}|\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class DownloadError(OSError):
    """A package could not be fetched; the message says why."""


class _Entry(NamedTuple):
    sources: list[str]  # msgid, then msgid_plural if there is one
    targets: list[str]  # msgstr, or the plural forms in order


def _entry_pairs(entry: _Entry) -> Iterator[Pair]:
    """The singular goes with the first form, the plural with the last; a lone form is read as the plural."""
    sources, targets = entry
    if not sources or not sources[0]:
        return
    if len(sources) == 1:
        pairs = [(sources[0], targets[0] if targets else "")]
    elif len(targets) > 1:
        pairs = [(sources[0], targets[0]), (sources[1], targets[-1])]
    else:
        pairs = [(sources[1], targets[0] if targets else "")]
    yield from (pair for pair in pairs if all(pair))


def _charset(header: bytes) -> str:
    found = _CHARSET.search(header)
    # "CHARSET" is what the tools leave in a template that nobody has filled in.
    name = found[1].decode("ascii") if found and found[1] != b"CHARSET" else "utf-8"
    try:
        "".encode(name)
    except LookupError:
        raise ValueError(f"file: unknown charset {name!r} in the catalogue's header") from None
    return name


def _decode(raw: bytes, charset: str) -> str:
    try:
        return raw.decode(charset)
    except UnicodeDecodeError as error:
        raise ValueError(f"file: not valid {charset} at byte {error.start}") from error


def _read_mo(raw: bytes) -> Iterator[_Entry]:
    order = _MO_MAGIC[raw[:4]]

    def strings(table: int, count: int) -> Iterator[bytes]:
        for number in range(count):
            length, start = struct.unpack_from(f"{order}II", raw, table + 8 * number)
            if start + length > len(raw):
                raise ValueError("file: truncated .mo catalogue")
            yield raw[start : start + length]

    try:
        count, sources_at, targets_at = struct.unpack_from(f"{order}III", raw, 8)
        messages = list(zip(strings(sources_at, count), strings(targets_at, count), strict=True))
    except struct.error:
        raise ValueError("file: truncated .mo catalogue") from None
    charset = _charset(next((target for source, target in messages if not source), b""))
    for source, target in messages:
        text = _decode(source, charset).rpartition("\x04")[2]  # a context stands before the separator
        yield _Entry(text.split("\0"), _decode(target, charset).split("\0"))


def _unescape(text: str, charset: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1] is not None:
            return _ESCAPED.get(match[1], match[1])
        codes = re.findall(r"\\x([0-9a-fA-F]+)|\\([0-7]+)", match[0])
        return bytes(int(h, 16) if h else int(o, 8) & 255 for h, o in codes).decode(charset, "replace")

    return _PO_ESCAPE.sub(one, text)


def _quoted(text: str, number: int, charset: str) -> str:
    text = text.strip()
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        raise ValueError(f"file: line {number}: expected a quoted string, got {text[:40]!r}")
    return _unescape(text[1:-1], charset)


def _read_po(raw: bytes) -> Iterator[_Entry]:
    charset = _charset(raw)
    sources: list[str] = []
    targets: list[str] = []
    strings = sources  # the list whose last string a continuation line extends
    fuzzy = False
    # Not splitlines(): U+2028 and the like may stand inside a string.
    for number, line in enumerate(_decode(raw.removeprefix(b"\xef\xbb\xbf"), charset).split("\n"), start=1):
        line = line.strip(" \t\r\f")
        keyword = _PO_KEYWORD.match(line)
        starts_entry = keyword is not None and keyword[1] in ("msgctxt", "msgid")
        if targets and (starts_entry or line.startswith("#")):
            if not fuzzy:
                yield _Entry(sources, targets)
            sources, targets, fuzzy = [], [], False
        if line.startswith("#,"):
            fuzzy = fuzzy or "fuzzy" in re.split(r"[,\s]+", line[2:])
        if not line or line.startswith("#"):
            continue
        if keyword is None:
            if not strings:
                raise ValueError(f"file: line {number}: not a line of a gettext catalogue: {line[:40]!r}")
            strings[-1] += _quoted(line, number, charset)
            continue
        text = _quoted(line[keyword.end() :], number, charset)
        strings = {"msgctxt": [], "msgid": sources, "msgid_plural": sources}.get(keyword[1], targets)
        strings.append(text)
    if targets and not fuzzy:
        yield _Entry(sources, targets)


def read_catalog(file: str | os.PathLike[str] | bytes | IO[bytes]) -> list[Pair]:
    r"""Read the translated messages of a gettext catalogue.

    Fuzzy, obsolete and untranslated entries are left out. Of the plural forms, the singular is paired with
    the first and the plural with the last.

    Parameters
    ----------
    file : path, bytes or binary file
        A ``.po`` or ``.mo`` catalogue; which of the two is seen from its first bytes.

    Returns
    -------
    list of (str, str)
        Messages and their translations, in the order of the catalogue.

    Examples
    --------
    >>> from semproj.datasets import read_catalog
    >>> read_catalog(b'msgid "one\\ttwo"\nmsgstr "uno "\n"dos"\n')
    [('one\ttwo', 'uno dos')]
    """
    if isinstance(file, bytes):
        raw = file
    elif isinstance(file, (str, os.PathLike)):
        raw = Path(file).read_bytes()
    elif hasattr(file, "read"):
        raw = file.read()
    else:
        raise TypeError(f"file: expected a path, bytes or a binary file, got {type(file).__name__}")
    if not isinstance(raw, bytes):
        raise TypeError("file: expected a file opened in binary mode")
    entries = _read_mo(raw) if raw[:4] in _MO_MAGIC else _read_po(raw)
    return [pair for entry in entries for pair in _entry_pairs(entry)]


_MARKUP = re.compile(
    r"</?[A-Za-z0-9!][^<>]*>"  # tags
    r"|\{%.*?%\}|\{\{.*?\}\}|\{[\w.!:,\[\] -]*\}"  # template and str.format fields
    r"|%\([\w.]+\)[#0+-]*\d*(?:\.\d+)?[a-zA-Z]"  # %(name)s
    r"|(?<!\d)%(?:\d+\$)?[#0+-]*\d*(?:\.\d+)?[a-zA-Z](?!\w)"  # %s, %1$d, but not the per cent of "5%d"
    r"|\b\w+://\S+",
    re.DOTALL,
)
_WORD = re.compile(r"[^\W_]+")


def _plain(text: str) -> str:
    text = _MARKUP.sub(" ", html.unescape(text)).replace("%%", "%")
    return " ".join(text.split())


def _catalog_files(archive: Path, language: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of one language's catalogues, by name; a .mo only where there is no .po."""
    wanted = re.compile(rf"(?:^|/){re.escape(language)}/LC_MESSAGES/[^/]+\.(?:po|mo)$")

    def choose(names: Iterable[str]) -> list[str]:
        found = {name for name in names if wanted.search(name)}
        return sorted(name for name in found if name.endswith(".po") or f"{name[:-3]}.po" not in found)

    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            for name in choose(wheel.namelist()):
                yield name, wheel.read(name)
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as source:
            for name in choose(member.name for member in source if member.isfile()):
                member = source.extractfile(name)
                if member is not None:
                    yield name, member.read()
    else:
        raise ValueError(f"wheel: {archive.name} is neither a zip nor a tar archive")


def catalog_pairs(
    wheel: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], language: str, *, min_words: int = 6
) -> list[Pair]:
    """Read the translated messages in a package's catalogues as plain sentences.

    Markup, placeholders and addresses become spaces. A message that has been seen already, in either
    language, is left out, so no sentence has two right answers; so is one left in the original language.

    Parameters
    ----------
    wheel : path or sequence of paths
        Wheels, or source archives, with files such as ``package/locale/es/LC_MESSAGES/django.po``.
    language : str
        The name of the catalogue's folder, such as "es" or "pt_BR".
    min_words : int, default=6
        Both sides have at least this many words.

    Returns
    -------
    list of (str, str)
        In the order of the archives given, of their files by name, and of the messages in a file.

    Examples
    --------
    >>> import tempfile, zipfile
    >>> from semproj.datasets import catalog_pairs
    >>> with tempfile.NamedTemporaryFile(suffix=".whl") as file:
    ...     with zipfile.ZipFile(file, "w") as wheel:
    ...         message = 'msgid "<b>two</b> words"\\nmsgstr "dos palabras"'
    ...         wheel.writestr("p/locale/es/LC_MESSAGES/p.po", message)
    ...     catalog_pairs(file.name, "es", min_words=2)
    [('two words', 'dos palabras')]
    """
    archives = [wheel] if isinstance(wheel, (str, os.PathLike)) else list(wheel)
    seen: tuple[set[str], set[str]] = (set(), set())
    pairs = []
    for archive in map(Path, archives):
        for name, raw in _catalog_files(archive, language):
            try:
                messages = read_catalog(raw)
            except ValueError as error:
                raise ValueError(f"wheel: {archive.name}: {name}: {error}") from error
            for message in messages:
                source, target = map(_plain, message)
                keys = tuple(" ".join(_WORD.findall(side.casefold())) for side in (source, target))
                if keys[0] in seen[0] or keys[1] in seen[1] or keys[0] == keys[1]:
                    continue
                if min(len(key.split()) for key in keys) >= min_words:
                    seen[0].add(keys[0])
                    seen[1].add(keys[1])
                    pairs.append((source, target))
    return pairs


_NO_CONNECTION = re.compile(r"connection|retrying|timed out|name resolution", re.IGNORECASE)


def _pip_download(package: str, folder: Path, options: Sequence[str], timeout: float) -> str | None:
    """None when it went well, otherwise what pip said."""
    quick = ["--no-input", "--retries=1", "--timeout=10", "--disable-pip-version-check", "--progress-bar=off"]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", *quick, *options]
    command += ["--dest", str(folder), "--", package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"connection timed out after {timeout:g} seconds"
    return None if done.returncode == 0 else done.stderr.strip() or f"pip ended with {done.returncode}"


def download_wheel(package: str, cache: str | os.PathLike[str], *, timeout: float = 120.0) -> Path:
    """Fetch a package's wheel from the package index, once.

    A source archive is fetched when there is no wheel. Nothing is installed, and a file that is in the cache
    is whole: it is downloaded beside its place and renamed into it.

    Parameters
    ----------
    package : str
        A name, or ``name==version``.
    cache : path
        The folder that keeps the files, one folder for each package; made when missing.
    timeout : float, default=120
        Seconds given to each attempt.

    Returns
    -------
    Path
        The file in the cache.

    Raises
    ------
    DownloadError
        When the index cannot be reached or does not have the package.
    """
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:==[A-Za-z0-9.!+_-]+)?", package):
        raise ValueError(f"package: expected a name or name==version, got {package!r}")
    name, _, version = package.partition("==")
    place = Path(cache) / "-".join(filter(None, [re.sub(r"[-_.]+", "-", name).lower(), version]))
    if not place.is_dir():
        Path(cache).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".download-") as temporary:
            folder = Path(temporary) / "files"
            folder.mkdir()
            problem = _pip_download(package, folder, ["--only-binary=:all:"], timeout)
            # Without a connection the second attempt would only wait as long as the first.
            if problem is not None and not _NO_CONNECTION.search(problem):
                problem = _pip_download(package, folder, ["--no-binary=:all:"], timeout)
            if problem is not None:
                why = "no connection to the package index" if _NO_CONNECTION.search(problem) else "pip failed"
                raise DownloadError(f"package: cannot fetch {package!r}: {why}\n{problem[-400:]}")
            try:
                folder.rename(place)
            except OSError:
                if not place.is_dir():  # otherwise another process was first, and its files serve
                    raise
    files = sorted(path for path in place.iterdir() if path.is_file())
    if len(files) != 1:
        raise DownloadError(f"cache: expected one file in {place}, found {len(files)}; remove the folder")
    return files[0]


# Open syllables here and closed ones there, so that only names look alike.
_SYLLABLES = (
    ["ba", "de", "ki", "lo", "mu", "pe", "ta", "vo"],
    ["gan", "fes", "hir", "jon", "rus", "wel", "zan"],
)
_NAME_SYLLABLES = ["ro", "mi", "sa", "ke", "lu"]


class PlantedCorpus(NamedTuple):
    """Two languages that say the same things; see `planted_bilingual`."""

    first: list[str]
    second: list[str]
    topics: npt.NDArray[np.int64]


def _invented(count: int, syllables: Sequence[str], ending: str = "") -> list[str]:
    """Different words, the first ones shortest: numbers written with syllables for digits."""
    words = []
    for number in range(1, count + 1):
        digits = []
        while number:
            number, digit = divmod(number - 1, len(syllables))
            digits.append(syllables[digit])
        words.append("".join(reversed(digits)) + ending)
    return words


def planted_bilingual(
    n_pairs: int,
    n_topics: int = 20,
    n_terms: int = 4000,
    *,
    shared: float = 0.05,
    common: float = 0.3,
    noise: float = 0.2,
    mean_length: float = 25.0,
    random_state: int = 0,
) -> PlantedCorpus:
    """Draw a corpus in two invented languages whose shared topics are known.

    Each text has one main topic and a little of the others. Every word of the first language is a concept
    with one word in the second; word frequencies follow Zipf's law. Texts of a pair draw the same concepts,
    but for `noise`, in an order of their own.

    Parameters
    ----------
    n_pairs, n_topics, n_terms : int
        Numbers of pairs, of topics and of concepts; each topic owns ``n_terms // n_topics`` of these.
    shared : float, default=0.05
        The fraction of concepts that are names, written alike in both languages.
    common : float, default=0.3
        The fraction of tokens that are function words, which tell nothing.
    noise : float, default=0.2
        The probability that a word of the second text is another one of the same topic.
    mean_length : float, default=25
        The mean number of words; lengths are five plus a geometric number.
    random_state : int, default=0
        The same number gives the same corpus.

    Returns
    -------
    PlantedCorpus
        ``first`` and ``second``, lists of texts, and ``topics``, the main topic of each pair.

    Examples
    --------
    >>> from semproj.datasets import planted_bilingual
    >>> corpus = planted_bilingual(3, n_topics=2, n_terms=40, mean_length=8, random_state=1)
    >>> len(corpus.first), len(corpus.second), corpus.topics.shape
    (3, 3, (3,))
    """
    for name, size in (("n_pairs", n_pairs), ("n_topics", n_topics), ("n_terms", n_terms)):
        if size < 1:
            raise ValueError(f"{name}: expected at least 1, got {size!r}")
    if n_terms < n_topics:
        raise ValueError(f"n_terms: expected at least n_topics = {n_topics}, got {n_terms}")
    for name, fraction in (("shared", shared), ("common", common), ("noise", noise)):
        if not 0 <= fraction <= 1:
            raise ValueError(f"{name}: expected a fraction from 0 to 1, got {fraction!r}")
    if not mean_length > 6:
        raise ValueError(f"mean_length: expected more than 6, got {mean_length!r}")
    rng = np.random.default_rng(random_state)
    lengths = 5 + rng.geometric(1 / (mean_length - 5), n_pairs)
    document = np.repeat(np.arange(n_pairs), lengths)
    main = rng.integers(n_topics, size=n_pairs)
    stray = rng.integers(n_topics, size=document.size)
    topic = np.where(rng.random(document.size) < 0.8, main[document], stray)

    def zipf(n: int) -> npt.NDArray[np.intp]:
        cumulative = np.cumsum(1 / np.arange(1, n + 1))
        drawn: npt.NDArray[np.intp] = np.searchsorted(cumulative, rng.random(document.size) * cumulative[-1])
        return drawn

    # Concepts are dealt to the topics in turn, so a low number is a frequent one in every topic.
    concept = zipf(n_terms // n_topics) * n_topics + topic
    other = zipf(n_terms // n_topics) * n_topics + topic
    translated = np.where(rng.random(document.size) < noise, other, concept)
    n_common = 60
    is_common = rng.random(document.size) < common
    tokens = (
        np.where(is_common, zipf(n_common), concept + n_common),
        np.where(is_common, zipf(n_common), translated + n_common),
    )
    names = rng.random(n_terms) < shared
    name_words = [word.capitalize() for word in _invented(n_terms, _NAME_SYLLABLES, ending="x")]
    texts: list[list[str]] = []
    for ids, syllables in zip(tokens, _SYLLABLES, strict=True):
        words = _invented(n_common + n_terms, syllables)
        for number in np.flatnonzero(names):
            words[n_common + number] = name_words[number]
        order = np.lexsort((rng.random(document.size), document))
        stream = [words[token] for token in ids[order]]
        ends = np.cumsum(lengths).tolist()
        texts.append([" ".join(stream[start:end]) for start, end in zip([0, *ends], ends, strict=False)])
    return PlantedCorpus(texts[0], texts[1], main)
