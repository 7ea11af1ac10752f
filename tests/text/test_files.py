"""Documents from files that are not what they should be: errors name the view, the file and the line."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest

import semproj as sj
from semproj.alignment import align_sentences
from semproj.text import MultiTermCounter, TermCounter, iter_batches, read_jsonl, read_lines, read_tsv

WHERE = r"bad\.txt, line 4: 'utf-8' codec can't decode byte 0xff in position 4"


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.txt"
    path.write_text("a few words\n" * 9)
    return path


@pytest.fixture
def bad(tmp_path):
    """The fourth of its lines is not UTF-8."""
    path = tmp_path / "bad.txt"
    path.write_bytes(b"some words\n" * 3 + b"bad \xff words\n" + b"some words\n" * 3)
    return path


def as_stream(path):
    return read_lines(path)


def as_column(path):
    return read_tsv(path, 0)


def as_file(path):
    return open(path, encoding="utf-8")


@pytest.fixture(params=[as_stream, as_column, as_file])
def read(request):
    return request.param


def test_one_language(good, bad, read):
    with pytest.raises(ValueError, match=WHERE):
        TermCounter().fit(read(bad))
    with pytest.raises(ValueError, match=WHERE):
        TermCounter().fit(read(good)).transform(read(bad))


@pytest.mark.parametrize("vocabulary", ["shared", "separate"])
def test_several_languages(good, bad, read, vocabulary):
    with pytest.raises(ValueError, match=rf"^documents\[1\]: .*{WHERE}"):
        MultiTermCounter(vocabulary).fit([read(good), read(bad)])
    counter = MultiTermCounter(vocabulary).fit([read(good), read(good)])
    with pytest.raises(ValueError, match=rf"^documents\[0\]: .*{WHERE}"):
        counter.transform([read(bad), read(good)])
    with pytest.raises(ValueError, match=WHERE):
        counter.transform(read(bad), view=1)


def test_encoder(good, bad, read):
    counter = TermCounter()
    rows = counter.fit_transform(read(good)).astype(np.float64)
    encoder = sj.Encoder(counter, None, sj.LSA(1, random_state=0).fit(rows))
    with pytest.raises(ValueError, match=WHERE):
        encoder.encode(read(bad))


def test_compressed(bad, tmp_path):
    path = tmp_path / "bad.txt.gz"
    path.write_bytes(gzip.compress(bad.read_bytes()))
    with (
        gzip.open(path, "rt", encoding="utf-8") as file,
        pytest.raises(ValueError, match=r"bad\.txt\.gz, line 4: "),
    ):
        TermCounter().fit(file)


def test_other_encodings(bad):
    """The file is UTF-8 up to where another encoding fails, or all of it is."""
    bad.write_text("wörds\n")
    with open(bad, encoding="ascii") as file, pytest.raises(ValueError, match=r"bad\.txt: 'ascii' codec can't"):
        TermCounter().fit(file)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("reader", [align_sentences, sj.WordByWord().fit])
def test_documents_of_two_languages(good, bad, reader, side):
    """The error names the argument too."""
    name = ("source_documents", "target_documents")[side]
    with as_file(good) as fine, as_file(bad) as broken:
        files = (fine, broken) if side else (broken, fine)
        with pytest.raises(ValueError, match=rf"^{name}: .*{WHERE}"):
            reader(*files)
    stream = io.TextIOWrapper(io.BytesIO(b"some words\n\xff"), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^{name}: 'utf-8' codec can't decode byte 0xff"):
        reader(*((["some words"], stream) if side else (stream, ["some words"])))


def test_what_is_not_a_file():
    stream = io.TextIOWrapper(io.BytesIO(b"some words\n\xff"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"^documents: 'utf-8' codec can't decode byte 0xff"):
        list(iter_batches(stream))

    def fail():
        yield "a few words"
        b"\xff".decode()

    with pytest.raises(ValueError, match=r"^documents\[1\]: documents: 'utf-8' codec can't decode byte 0xff"):
        MultiTermCounter().fit([["a few words"], fail()])


@pytest.mark.parametrize("line", ["[" * 100_000, '{"text": ' + "9" * 5000 + "}", '{"text": "'])
def test_json_that_cannot_be_read(tmp_path, line):
    path = tmp_path / "documents.jsonl"
    path.write_text('{"text": "words"}\n' + line + "\n")
    with pytest.raises(ValueError, match=r"documents\.jsonl, line 2: not JSON"):
        list(read_jsonl(path, "text"))


def test_how_errors_are_treated(bad):
    assert "�" in list(read_lines(bad, errors="replace"))[3]
    with pytest.raises(ValueError, match=r"^errors: expected one of 'strict', 'replace', got 'skip'"):
        list(read_lines(bad, errors="skip"))
