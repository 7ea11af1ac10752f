"""ARPA files with something wrong: an error that names the file and the line, or what KenLM makes of it."""

from __future__ import annotations

import gzip
import lzma
import re
import resource
from pathlib import Path

import pytest

from semproj import NGramLM
from semproj._core import lm as _core
from semproj.lm import kenlm
from tests.reference import ngram as reference

pytestmark = pytest.mark.filterwarnings("ignore::semproj.lm.DiscountWarning")

GOOD = r"""\data\
ngram 1=5
ngram 2=4

\1-grams:
-1.0	<unk>	0
-99	<s>	-0.3
-0.8	</s>	0
-0.5	a	-0.2
-0.7	b	-0.1

\2-grams:
-0.3	<s> a
-0.2	a b
-0.4	b </s>
-0.6	b a

\end\
"""
LINES = GOOD.split("\n")


def with_line(number: int, text: str | None) -> str:
    """The good file with another line (counted from 1), or without it."""
    new = [] if text is None else [text]
    return "\n".join(LINES[: number - 1] + new + LINES[number:])


# What is wrong, the file, and the lines that an error may name.
BROKEN = {
    "no number": (with_line(9, "x\ta\t-0.2"), {9}),
    "no number behind": (with_line(9, "-0.5\ta\tx"), {9}),
    "half a number": (with_line(9, "-0.5y\ta\t-0.2"), {9}),
    "an empty number": (with_line(9, "\ta\t-0.2"), {9}),
    "not a number": (with_line(9, "nan\ta\t-0.2"), {9}),
    "not a number behind": (with_line(9, "-0.5\ta\tnan"), {9}),
    "infinite": (with_line(9, "inf\ta\t-0.2"), {9}),
    "infinite behind": (with_line(9, "-0.5\ta\tinf"), {9}),
    "a probability above one": (with_line(9, "0.5\ta\t-0.2"), {9}),
    "NUL in a number": (with_line(9, "-0\0.5\ta\t-0.2"), {9}),
    "NUL line": (with_line(9, "\0\0\0\0"), {9}),
    "no word": (with_line(9, "-0.5\t\t-0.2"), {9}),
    "no word at all": (with_line(9, "-0.5"), {9}),
    "two words among unigrams": (with_line(9, "-0.5\ta b\t-0.2"), {9}),
    "one word among bigrams": (with_line(14, "-0.2\ta"), {14}),
    "three words among bigrams": (with_line(14, "-0.2\ta b a"), {14}),
    "too many columns": (with_line(9, "-0.5\ta\t-0.2\t-0.2"), {9}),
    "a bigram of unknown words": (with_line(14, "-0.2\ta zzz"), {14}),
    "a unigram twice": (with_line(10, "-0.5\ta\t-0.2"), {10}),
    "a bigram twice": (with_line(15, "-0.2\ta b"), {14, 15, 16, 17, 18}),
    "fewer unigrams than said": (with_line(2, "ngram 1=6"), {2, 11, 12}),
    "more unigrams than said": (with_line(2, "ngram 1=4"), {2, 10, 11}),
    "fewer bigrams than said": (with_line(3, "ngram 2=5"), {3, 17, 18}),
    "more bigrams than said": (with_line(3, "ngram 2=3"), {3, 16, 17}),
    "a negative count": (with_line(2, "ngram 1=-5"), {2}),
    "a negative count of bigrams": (with_line(3, "ngram 2=-1"), {3}),
    "a count that is no number": (with_line(2, "ngram 1=many"), {2}),
    "no count": (with_line(2, "ngram 1="), {2}),
    "a huge count": (with_line(3, "ngram 2=1152921504606846976"), {3, 17, 18}),
    "a count beyond 64 bits": (with_line(3, "ngram 2=36893488147419103232"), {3}),
    "a count in billions": (with_line(2, "ngram 1=4000000000"), {2, 11, 12}),
    "counts out of order": (with_line(2, "ngram 2=5"), {2, 3}),
    "order 0": (with_line(2, "ngram 0=5"), {2}),
    "an order far too high": (with_line(3, "ngram 2=4\nngram 4000000000=1"), {4}),
    "a section that nobody announced": (with_line(18, "\\3-grams:\n-1\ta b a\n\n\\end\\"), {18}),
    "a section less": (with_line(18, None).replace("ngram 2=4", "ngram 2=4\nngram 3=2"), {4, 17, 18, 19, 20}),
    "sections that have changed places": (
        with_line(5, "\\2-grams:").replace("\\2-grams:\n-0.3", "\\1-grams:\n-0.3"),
        {5, 6},
    ),
    "no counts at all": ("\\data\\\n\n\\1-grams:\n-1\t<unk>\n\n\\end\\\n", {2, 3}),
    "no \\data\\": ("ngram 1=5\n" + "\n".join(LINES[3:]), set(range(1, 20))),
    "text": ("It was a bright cold day in April.\n" * 30, set(range(1, 32))),
    "nothing": ("", {0, 1}),
    "zeros": ("\0" * 5000, {1}),
    "no end": (with_line(18, None), {17, 18, 19}),
}


@pytest.fixture
def arpa(tmp_path):
    return tmp_path / "model.arpa"


def test_the_good_one(arpa):
    arpa.write_text(GOOD)
    model = NGramLM.from_arpa(arpa)
    assert [each.log_prob for each in model.score_words("a b zzz a")] == pytest.approx(
        [-0.3, -0.2, -1.1, -0.5, -1.0], abs=1e-6
    )


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("what", BROKEN)
def test_names_the_line(arpa, what, compressed):
    text, lines = BROKEN[what]
    if compressed:
        arpa = arpa.with_suffix(".gz")
        arpa.write_bytes(gzip.compress(text.encode()))
    else:
        arpa.write_bytes(text.encode())
    with pytest.raises(ValueError, match="line") as caught:
        NGramLM.from_arpa(arpa)
    message = str(caught.value)
    assert str(arpa) in message
    named = re.search(r"line (\d+)", message)
    assert named, message
    assert int(named[1]) in lines, message


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    ("number", "line", "word"),
    [
        (9, b"-0.5\tcaf\xe9\t-0.2", r"'caf\xe9'"),  # latin-1
        (9, b"-0.5\t\xe8\xaa\t-0.2", r"'\xe8\xaa'"),  # the third byte is missing
        (9, b"-0.5\ta\xc3\t-0.2", r"'a\xc3'"),
        (9, b"-0.5\t\xed\xa0\x80\t-0.2", r"'\xed\xa0\x80'"),  # a surrogate
        (14, b"-0.2\tcaf\xe9 b", r"'caf\xe9'"),
        (14, b"-0.2\ta \xf0\x9f\x98", r"'\xf0\x9f\x98'"),
        (16, b"-0.6\t\xff a", r"'\xff'"),
    ],
)
def test_words_that_are_no_utf8(arpa, number, line, word, compressed):
    raw = b"\n".join([*(each.encode() for each in LINES[: number - 1]), line, *map(str.encode, LINES[number:])])
    if compressed:
        arpa = arpa.with_suffix(".gz")
    arpa.write_bytes(gzip.compress(raw) if compressed else raw)
    for read in (NGramLM.from_arpa, kenlm.Model):
        with pytest.raises(ValueError, match=r"line \d+") as caught:
            read(arpa)
        assert str(caught.value) == f"{arpa}, line {number}: {word} is not valid UTF-8"
        assert not isinstance(caught.value, UnicodeError)


@pytest.mark.parametrize("filler", ["é", "語", "😀", "x" * 39 + "é", "\x7f"])
def test_long_words_are_cut_between_characters(arpa, filler):
    """Messages are text, wherever they are cut."""
    for shift in range(4):
        word = "x" * shift + filler * 60
        arpa.write_text(with_line(14, f"-0.2\ta {word}"), "utf-8")
        with pytest.raises(ValueError, match=r"line 14: 'x*.*\.\.\.' is not among the 1-grams") as caught:
            NGramLM.from_arpa(arpa)
        assert "\ufffd" not in str(caught.value)
        arpa.write_text(GOOD.replace("\ta\t", f"\t{word}\t").replace("\tb\t", f"\t{word}\t"), "utf-8")
        with pytest.raises(ValueError, match=r"line 10: .*\.\.\.' comes twice"):
            NGramLM.from_arpa(arpa)


def test_words_of_other_scripts(arpa):
    """UTF-8 that is cut between two reads is whole again."""
    words = [f"語é😀{i}" for i in range(60_000)]
    lines = "".join(f"-1.5\t{word}\n" for word in words)
    text = GOOD.replace("ngram 1=5", f"ngram 1={5 + len(words)}").replace("-0.5\ta", lines + "-0.5\ta")
    arpa.write_text(text, "utf-8")
    session = _core.ArpaSession(1)
    raw = arpa.read_bytes()
    for at in range(0, len(raw), 997):
        session.feed(raw[at : at + 997])
    session.finish()
    assert bytes(session.text()).decode() == "<unk><s></s>" + "".join(words) + "ab"


def test_any_end_that_is_missing(arpa):
    """Cut anywhere before its last line is whole."""
    for end in range(GOOD.rindex("\\end\\") + len("\\end")):
        arpa.write_text(GOOD[:end])
        with pytest.raises(ValueError, match="line"):
            NGramLM.from_arpa(arpa)


@pytest.mark.parametrize("module", [gzip, lzma])
def test_compressed_and_cut(arpa, module):
    whole = module.compress(GOOD.encode())
    for end in range(0, len(whole) - 1, 7):
        path = arpa.with_suffix(".gz" if module is gzip else ".xz")
        path.write_bytes(whole[:end])
        with pytest.raises((ValueError, OSError), match=r"model\.(gz|xz)"):
            NGramLM.from_arpa(path)


def test_a_folder_and_a_file_that_is_not_there(arpa, tmp_path):
    with pytest.raises(FileNotFoundError):
        NGramLM.from_arpa(arpa)
    with pytest.raises(OSError, match="directory"):
        NGramLM.from_arpa(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("\ta\t-0.2", "\ta"),  # a back-off that is missing is 0
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip("\n"),
        GOOD + "\n\n",
        GOOD.replace("\\1-grams:", "\n\n\\1-grams:"),
        GOOD.replace("-0.5\t", "-5e-1\t").replace("-0.4", "-.4"),
        GOOD.replace("-99", "0"),  # lmplz's way of writing <s>
        GOOD.replace("-99", "-inf"),
        GOOD.replace("-0.6\tb a", "-0.6\tb a\t0"),  # of the last order
    ],
    ids=["backoff", "CRLF", "no last newline", "blank lines", "more blank", "exponents", "bos 0", "-inf", "last"],
)
def test_what_is_allowed(arpa, text):
    arpa.write_text(text, newline="")
    model = NGramLM.from_arpa(arpa)
    backoff = 0.0 if "\ta\t" not in text else -0.2
    expected = [-0.3, -0.2, -0.6, backoff - 1.0, -0.5, -1.0]
    found = model.score_words("a b a zzz a", bos=True)
    assert [each.log_prob for each in found] == pytest.approx(
        [*expected[:3], expected[3], expected[4], backoff - 0.8], abs=1e-6
    )


def with_trigrams(*grams: str) -> str:
    text = GOOD.replace("ngram 2=4", f"ngram 2=4\nngram 3={len(grams)}")
    lines = "\n".join(f"-0.{number + 11}\t{gram}" for number, gram in enumerate(grams))
    return text.replace("\\end\\", f"\\3-grams:\n{lines}\n\n\\end\\")


SENTENCES = ["b b", "b b b a", "a a a a", "a a a b", "b a b", "a b b b", "a b a b zzz b b", "a", ""]


def assert_as_it_reads(model: NGramLM, path: Path) -> None:
    """What stands in the file counts, what does not has no back-off."""
    log_probs, log_backoffs = reference.read_arpa(path)
    plain = reference.BackoffModel(3, ["<unk>", "</s>", "a", "b"], log_probs, log_backoffs)
    for sentence in SENTENCES:
        for bos in (True, False):
            expected = plain.score_words(sentence.split(), bos=bos)
            found = model.score_words(sentence, bos=bos)
            assert [each.log_prob for each in found] == pytest.approx(expected, abs=1e-6), sentence


def test_without_the_ends_of_n_grams(arpa):
    """SRILM cuts bigrams on which trigrams end. So does kenlm answer."""
    arpa.write_text(with_trigrams("<s> a a", "b a b"))
    model = NGramLM.from_arpa(arpa)
    assert_as_it_reads(model, arpa)
    peer = pytest.importorskip("kenlm").Model(str(arpa))
    for sentence in SENTENCES:
        expected = [log_prob for log_prob, _, _ in peer.full_scores(sentence)]
        assert [each.log_prob for each in model.score_words(sentence)] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("gram", ["<s> b b", "a a a", "b b </s>"])
def test_without_the_beginnings_of_n_grams(arpa, gram):
    """kenlm does not take such files."""
    arpa.write_text(with_trigrams("a b a", gram))
    try:
        model = NGramLM.from_arpa(arpa)
    except ValueError as error:
        message = str(error)
    else:
        assert_as_it_reads(model, arpa)
        return
    assert "line 21" in message, message


@pytest.mark.parametrize("word", ["<unk>", "<s>", "</s>"])
def test_a_special_word_is_missing(arpa, word):
    """As kenlm has it, or a clear error."""
    kept = [line for line in LINES if f"\t{word}" not in line and f" {word}" not in line]
    bigrams = sum(line.count(" ") == 1 and line.startswith("-") for line in kept)
    text = "\n".join(kept).replace("ngram 1=5", "ngram 1=4").replace("ngram 2=4", f"ngram 2={bigrams}")
    if word == "<s>":
        text = text.replace("-0.3\t<s> a\n", "").replace(f"ngram 2={bigrams}", "ngram 2=3")
    arpa.write_text(text)
    try:
        model = NGramLM.from_arpa(arpa)
    except ValueError as error:
        assert word in str(error)  # noqa: PT017
        assert "model.arpa" in str(error)  # noqa: PT017
        return
    found = [each.log_prob for each in model.score_words("a b zzz a", bos=word != "<s>", eos=word != "</s>")]
    assert found[1] == pytest.approx(-0.2, abs=1e-6)
    if word == "<unk>":
        assert found[2] < -50  # kenlm: -100


def test_a_full_disk(arpa):
    """What was there before stays."""
    model = NGramLM(order=3).fit([[f"w{i}", f"w{i * i % 97}", "x"] for i in range(3000)])
    arpa.write_text("before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            model.to_arpa(arpa)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert arpa.read_text() == "before"
    assert [path.name for path in arpa.parent.iterdir()] == [arpa.name]


def test_a_bad_file_costs_no_memory(run_python, tmp_path):
    """Counts that the file does not keep are not believed."""
    path = tmp_path / "huge.arpa"
    path.write_text(with_line(2, "ngram 1=4000000000").replace("ngram 2=4", "ngram 2=400000000000"))
    script = f"""
        import resource
        from semproj import NGramLM
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            NGramLM.from_arpa({str(path)!r})
        except ValueError as error:
            assert "line" in str(error)
        else:
            raise AssertionError("read")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    """
    run_python(script)
