from __future__ import annotations

import copy
import gzip
import json
import lzma
import pickle
import sys
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from semproj import _core
from semproj.text import MultiTermCounter, TermCounter, iter_batches, read_jsonl, read_lines, read_tsv
from tests.reference import text as reference

# The awkward characters: other lengths in the other case, marks, astral letters, the edges of the encodings.
AWKWARD = (
    "aZ09_ .-\0\x7f\u0080\u00aa\u00b5\u00bd\u00df\u00e9\u0130\u0131\u0301\u0345\u023a\u01c5\u07ff\u0800"
    "\u1e9e\u212a\u2019\u3042\u4e2d\u0e33\u05b0\uac00\ufb01\ufffd\uffff"
    "\U00010000\U00010400\U0001d400\U00020000\U0010ffff"
)
# Characters that Unicode 3.2 knew, so that the running Python agrees with our tables whatever its version.
KNOWN = unicodedata.ucd_3_2_0


def known(code: int) -> bool:
    character = chr(code)
    return KNOWN.category(character)[0] == unicodedata.category(character)[0] != "C"


characters = st.one_of(
    st.sampled_from(AWKWARD),
    st.sampled_from("abcdeABCDE  "),
    st.integers(0, sys.maxunicode).filter(known).map(chr),
)
texts = st.text(characters, max_size=200)
encoded = texts.map(lambda text: text.encode())
token_lists = st.lists(st.text(characters, max_size=20), max_size=10)
corpora = st.lists(st.one_of(texts, encoded, token_lists), max_size=12)


def zipf_corpus(n_documents: int = 400, n_words: int = 60, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    ids = np.minimum(rng.zipf(1.3, size=(n_documents, n_words)), 50_000)
    kinds = ("{:x}", "w{:d}", "Über{:d}", "слово{:d}", "語{:d}", "𐐀{:d}", "a-rather-long-term{:d}")
    return [" ".join(kinds[i % len(kinds)].format(i) for i in row) for row in ids]


def assert_same(counter: TermCounter, documents: list, **options: object) -> None:
    X = counter.fit_transform(iter(documents))
    terms, totals, dense = reference.count(documents, **options)  # type: ignore[arg-type]
    assert list(counter.get_feature_names_out()) == terms
    np.testing.assert_array_equal(counter.term_counts_, totals)
    np.testing.assert_array_equal(X.toarray(), dense)
    assert X.dtype == np.int32
    assert X.indices.dtype == np.int32
    assert all(np.all(np.diff(X[i].indices) > 0) for i in range(X.shape[0]))
    assert np.all(X.data > 0)
    for Y in (counter.transform(documents), counter.fit(documents).transform(documents)):
        np.testing.assert_array_equal(Y.indptr, X.indptr)
        np.testing.assert_array_equal(Y.indices, X.indices)
        np.testing.assert_array_equal(Y.data, X.data)


@settings(max_examples=300, deadline=None)
@given(corpora, st.booleans(), st.booleans(), st.integers(1, 4), st.sampled_from([1, 2, 5]))
def test_equals_reference(documents: list, lowercase: bool, nfc: bool, ngram_max: int, n_threads: int) -> None:
    counter = TermCounter(lowercase=lowercase, nfc=nfc, ngram_range=(1, ngram_max), n_threads=n_threads)
    options = {"lowercase": lowercase, "nfc": nfc, "ngram_max": ngram_max}
    if not any(reference.words(document) for document in documents):
        with pytest.raises(ValueError, match="documents: empty vocabulary"):
            counter.fit(documents)
        return
    assert_same(counter, documents, **options)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=80), min_size=1, max_size=5), st.integers(0, 70))
def test_any_bytes_with_replacement(documents: list[bytes], n_ascii: int) -> None:
    documents = [b"x" * n_ascii + document for document in documents]
    assert_same(TermCounter(errors="replace"), ["a", *documents], errors="replace")


@pytest.mark.skipif(unicodedata.unidata_version != _core.UNICODE_VERSION, reason="another version of Unicode")
@pytest.mark.parametrize(
    ("lowercase", "nfc", "encode"),
    [(False, False, False), (True, False, True), (False, True, True), (True, True, False)],
)
def test_every_character(lowercase: bool, nfc: bool, encode: bool) -> None:
    documents = ["".join(map(chr, range(start, start + 1024))) for start in range(0, 0x110000, 1024)]
    documents = [d + "".join(f" x{c}y" for c in d) for d in documents if not 0xD800 <= ord(d[0]) < 0xE000]
    expected = [reference.words(d, lowercase=lowercase, nfc=nfc) for d in documents]
    counter = TermCounter(lowercase=lowercase, nfc=nfc)
    vocabulary = counter.fit([d.encode() for d in documents] if encode else documents)
    assert vocabulary.vocabulary_.keys() == {word for words in expected for word in words}
    assert vocabulary.n_tokens_ == sum(map(len, expected))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("options", [{}, {"drop_top": 7, "max_features": 100}, {"min_count": 3}, {"ngram_max": 3}])
def test_options_and_threads(options: dict, n_threads: int) -> None:
    parameters = dict(options)
    parameters["ngram_range"] = (1, parameters.pop("ngram_max", 1))
    documents = zipf_corpus(150)
    assert_same(TermCounter(**parameters, n_threads=n_threads), documents, **options)


def test_same_bits_for_any_number_of_threads() -> None:
    documents = zipf_corpus(20_000)  # many tasks for the threads to share
    expected = TermCounter(n_threads=1, ngram_range=(1, 2))
    X = expected.fit_transform(documents)
    for n_threads in (2, 5):
        counter = TermCounter(n_threads=n_threads, ngram_range=(1, 2))
        Y = counter.fit_transform(documents)
        Z = counter.transform(documents)
        for name, array in counter._get_state().items():
            np.testing.assert_array_equal(array, expected._get_state()[name])
        for result in (Y, Z):
            np.testing.assert_array_equal(result.indptr, X.indptr)
            np.testing.assert_array_equal(result.indices, X.indices)
            np.testing.assert_array_equal(result.data, X.data)


def test_ties_are_broken_by_bytes() -> None:
    terms = ["b", "a", "aa", "Z", "é", "𐐀", "\uff5a", "aaaaaaaab", "aaaaaaaaa", "aaaaaaaa", "a\0", "a\0\0"]
    counter = TermCounter().fit([terms])
    assert list(counter.get_feature_names_out()) == sorted(terms, key=str.encode)
    assert list(TermCounter(drop_top=1, max_features=2).fit([terms]).get_feature_names_out()) == ["a", "a\0"]


@pytest.mark.parametrize("width", ["x", "é", "中", "𐐀"])
@pytest.mark.parametrize("length", [*range(20), 63, 64, 65, 4095, 4096, 4097, 1 << 20])
def test_long_terms(width: str, length: int) -> None:
    term = width * length
    documents = [f"a{term} {term}b {term}", f"{term}.{term}", [term, term + "c"]]
    counter = TermCounter()
    X = counter.fit_transform(documents)
    terms, _, dense = reference.count(documents)
    assert list(counter.get_feature_names_out()) == terms
    np.testing.assert_array_equal(X.toarray(), dense)
    documents = [d.encode() for d in documents[:2]]
    np.testing.assert_array_equal(counter.transform(documents).toarray(), dense[:2])


def test_very_long_document() -> None:
    document = " ".join(f"word{i % 70_000}" for i in range(1_000_000))
    counter = TermCounter(n_threads=2)
    X = counter.fit_transform([document, "word1", document + " \u2019"])
    assert X.shape == (3, 70_000)
    assert X.sum() == 2_000_001
    assert counter.n_tokens_ == 2_000_001
    columns = np.argsort([counter.vocabulary_[f"word{i}"] for i in range(70_000)])
    expected = np.bincount(np.arange(1_000_000) % 70_000)[columns]
    np.testing.assert_array_equal(X[0].toarray()[0], expected)
    np.testing.assert_array_equal(X[2].toarray()[0], expected)


def test_ngrams_cross_the_pieces_of_a_long_document() -> None:
    document = " ".join(f"w{i}" for i in range(20_000))
    counter = TermCounter(ngram_range=(1, 3)).fit([document, [f"w{i}" for i in range(20_000)]])
    assert len(counter.vocabulary_) == 3 * 20_000 - 3
    assert set(counter.term_counts_) == {2}


def test_growth_of_the_table() -> None:
    rng = np.random.default_rng(1)
    ids = rng.permutation(300_000)
    documents = [" ".join(f"t{i:x}" for i in part) for part in np.split(ids, 300)]
    counter = TermCounter(n_threads=2)
    X = counter.fit_transform(documents)
    assert X.shape == (300, 300_000)
    assert np.all(X.data == 1)
    assert np.all(X.sum(axis=0) == 1)
    names = counter.get_feature_names_out()
    assert list(names) == sorted(f"t{i:x}" for i in ids)
    assert set(names[X[17].indices]) == set(documents[17].split())


def test_unknown_terms_are_ignored() -> None:
    counter = TermCounter().fit(["one two"])
    np.testing.assert_array_equal(
        counter.transform(["two three two", "four", ""]).toarray(), [[0, 2], [0, 0], [0, 0]]
    )
    assert counter.transform([]).shape == (0, 2)


BAD = [b"\x80", b"\xff", b"\xc0\xaf", b"\xc1\xbf", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80"]
BAD += [
    b"\xf4\x90\x80\x80",
    b"\xf5\x80\x80\x80",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xe2a",
    b"\xf0\x9f a",
]


@pytest.mark.parametrize("bad", BAD)
def test_invalid_utf8_at_every_position(bad: bytes) -> None:
    fill = ("word é 中文 " * 20).encode()
    for position in (*range(70), 127, 128, 150):
        head = fill[:position].decode(errors="ignore").encode()
        for tail in (b"", b" and more words than a block can hold, so that it is not the tail that is read"):
            document = head + bad + tail
            with pytest.raises(
                ValueError, match=rf"document 2: invalid UTF-8 at byte {len(head)} \(0x{bad[0]:02x}\)"
            ):
                TermCounter().fit(["fine", "fine", document])
            assert_same(TermCounter(errors="replace"), [document, "w"], errors="replace")


def test_the_first_bad_document_is_named() -> None:
    documents: list = zipf_corpus(20_000)
    documents[19_999] = documents[12_000] = b"\xff"
    for n_threads in (1, 2, 5):
        with pytest.raises(ValueError, match="document 12000: invalid UTF-8 at byte 0"):
            TermCounter(n_threads=n_threads).fit(documents)


@pytest.mark.parametrize("rest", ["", "é", "中", "𐐀"])
def test_lone_surrogates(rest: str) -> None:
    for position in (0, 5, 64, 5000):
        document = "x" * position + "\ud800y" + rest
        with pytest.raises(ValueError, match=f"document 1: lone surrogate U.d800 at character {position}"):
            TermCounter().fit(["a", document])
        with pytest.raises(
            ValueError, match=f"document 0, token 1: lone surrogate U.d800 at character {position}"
        ):
            TermCounter().fit([["a", document]])
        counter = TermCounter(errors="replace").fit([document])
        assert counter.vocabulary_.keys() == {"x" * position, "y" + rest} - {""}
        counter = TermCounter(errors="replace").fit([[document]])
        assert list(counter.vocabulary_) == [document.replace("\ud800", "\ufffd")]


@pytest.mark.parametrize("wrong", [None, 3, 1.5, np.zeros(3), {"a"}, bytearray(b"a")])
def test_wrong_document(wrong: object) -> None:
    with pytest.raises(TypeError, match=f"document 2: expected str.*got .*{type(wrong).__name__}"):
        TermCounter().fit(["a", "b", wrong])
    with pytest.raises(TypeError, match=f"document 1, token 1: expected str, got .*{type(wrong).__name__}"):
        TermCounter().fit(["a", ["b", wrong]])


@pytest.mark.parametrize("wrong", ["a text", b"bytes", 3, None])
def test_wrong_documents(wrong: object) -> None:
    with pytest.raises(TypeError, match="documents: iterable over raw text documents expected"):
        TermCounter().fit(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "parameters",
    [{"drop_top": -1}, {"max_features": 0}, {"min_count": 0}, {"min_count": 1.5}, {"drop_top": True}]
    + [{"ngram_range": value} for value in ((2, 2), (1, 0), (1,), 1, (1, 1.5))]
    + [{"errors": "ignore"}],
)
def test_wrong_parameters(parameters: dict) -> None:
    (name,) = parameters
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        TermCounter(**parameters).fit(["a"])


def test_empty_vocabulary_names_the_cause() -> None:
    with pytest.raises(ValueError, match="no words"):
        TermCounter().fit(["", " .", []])
    with pytest.raises(ValueError, match="no words"):
        TermCounter().fit([])
    with pytest.raises(ValueError, match="drop_top=5 and min_count=2 leave none"):
        TermCounter(drop_top=5, min_count=2).fit(["a b c a b c"])


def test_not_fitted() -> None:
    for call in (lambda c: c.transform([]), lambda c: c.get_feature_names_out(), lambda c: c.vocabulary_):
        with pytest.raises(NotFittedError):
            call(TermCounter())
    with pytest.raises(NotFittedError):
        MultiTermCounter().transform([[]])


def test_failed_fit_leaves_the_previous_one() -> None:
    counter = TermCounter().fit(["a b", "b"])
    for wrong in (["c", None], [b"\xff"], [""]):
        with pytest.raises((TypeError, ValueError)):
            counter.fit(wrong)
        assert counter.vocabulary_ == {"b": 0, "a": 1}
        assert counter.n_documents_ == 2
        np.testing.assert_array_equal(counter.transform(["b b"]).toarray(), [[2, 0]])


def test_refit_forgets() -> None:
    counter = TermCounter().fit(["a b"])
    assert counter.vocabulary_ == {"a": 0, "b": 1}
    assert counter.fit(["c"]).vocabulary_ == {"c": 0}


def test_generator_is_read_once_and_in_batches() -> None:
    seen = []

    def documents():
        for i in range(100):
            seen.append(i)
            yield f"word{i} " * 50_000

    batches = iter_batches(documents(), max_characters=1 << 20)
    assert len(next(batches)) == 4
    assert seen == [0, 1, 2, 3]
    seen.clear()
    assert TermCounter().fit_transform(documents()).sum() == 5_000_000
    assert seen == list(range(100))


def test_batches() -> None:
    assert list(iter_batches(iter("abcde"), max_documents=2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(iter_batches([["a"], ["b", "c"], []], max_characters=20)) == [[["a"], ["b", "c"]], [[]]]

    def broken():
        yield "a"
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        TermCounter().fit(broken())


@pytest.mark.parametrize("copy_of", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies(copy_of) -> None:
    counter = TermCounter(lowercase=True, min_count=2)
    documents = zipf_corpus(50)
    X = counter.fit_transform(documents)
    assert len(counter.vocabulary_) == X.shape[1]
    other = copy_of(counter)
    assert other.get_params() == counter.get_params()
    assert other.vocabulary_ == counter.vocabulary_
    assert (other.n_documents_, other.n_tokens_) == (50, counter.n_tokens_)
    np.testing.assert_array_equal(other.term_counts_, counter.term_counts_)
    assert (other.transform(documents) != X).nnz == 0
    assert not hasattr(clone(counter), "term_counts_")
    assert copy_of(TermCounter(drop_top=3)).get_params() == TermCounter(drop_top=3).get_params()


def test_state_and_its_errors() -> None:
    counter = TermCounter().fit(["one two two"])
    arrays, scalars = counter._get_state(), counter._get_scalars()
    assert bytes(arrays["terms"]) == b"twoone"
    assert arrays["term_offsets"].tolist() == [0, 3, 6]
    other = TermCounter()
    other._set_state(arrays, scalars)
    assert other.vocabulary_ == {"two": 0, "one": 1}
    for key, wrong, message in [
        ("term_offsets", [0, 3, 7], "term_offsets"),
        ("term_offsets", [0, 7, 6], "term_offsets"),
        ("term_offsets", [1, 3, 6], "term_offsets"),
        ("term_offsets", [], "term_offsets"),
        ("term_counts", [1], "term_counts"),
    ]:
        with pytest.raises(ValueError, match=message):
            TermCounter()._set_state({**arrays, key: np.array(wrong, dtype=np.int64)}, scalars)
    with pytest.raises(ValueError, match="term 1 is there twice"):
        TermCounter()._set_state({**arrays, "terms": np.frombuffer(b"twotwo", dtype=np.uint8)}, scalars)
    with pytest.raises(ValueError, match="terms"):
        TermCounter()._set_state({**arrays, "terms": np.zeros(6)}, scalars)


def test_low_level_count() -> None:
    counter = TermCounter().fit(["a b c", "a"])
    rows = counter._fitted().count(["c a c", [], ["b"]], **counter._options(), first_document_number=0)
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    assert rows.n_cols == 3
    assert (indptr.tolist(), indices.tolist(), data.tolist()) == ([0, 2, 2, 3], [0, 2, 1], [1, 2, 1])
    assert (indptr.dtype, indices.dtype, data.dtype) == (np.int64, np.int32, np.int32)
    assert [counter._vocabulary.find(term) for term in ("c", "d", "", b"a")] == [2, -1, -1, 0]
    with pytest.raises(ValueError, match="document 41: "):
        counter._count(["a", b"\xff"], 40)


def test_documents_may_be_arrays() -> None:
    for documents in (np.array(["a é", "中 b"]), np.array(["a é", "中 b"], dtype=object), ("a é", "中 b")):
        assert TermCounter().fit(documents).vocabulary_ == {"a": 0, "b": 1, "é": 2, "中": 3}


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    TermCounter(progress=True).fit_transform(["a", "b"])
    assert "TermCounter" in capsys.readouterr().err


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that most of the checks need numbers, which is no news

    @parametrize_with_checks([TermCounter(), MultiTermCounter()])
    def test_scikit_learn_checks(estimator, check) -> None:
        check(estimator)


def test_shared_vocabulary() -> None:
    english, spanish = ["no animal", "no one"], ["no hay animal", "nada", "uno"]
    counter = MultiTermCounter()
    A, B = counter.fit_transform([iter(english), iter(spanish)])
    terms, _, dense = reference.count(english + spanish)
    assert list(counter.counters_[1].get_feature_names_out()) == terms
    np.testing.assert_array_equal(np.vstack([A.toarray(), B.toarray()]), dense)
    C, D = counter.transform([english, spanish])
    assert (A != C).nnz == (B != D).nnz == 0
    np.testing.assert_array_equal(counter.transform(["no nada"], view=0).toarray().sum(), 2)
    assert counter.counters_[0] is counter.counters_[1]


def test_separate_vocabularies() -> None:
    documents = [["no animal", "no one"], ["no hay animal", "nada", "uno"]]
    counter = MultiTermCounter("separate", drop_top=1)
    for i, X in enumerate(counter.fit_transform(documents)):
        terms, _, dense = reference.count(documents[i], drop_top=1)
        assert list(counter.counters_[i].get_feature_names_out()) == terms
        np.testing.assert_array_equal(X.toarray(), dense)
        np.testing.assert_array_equal(counter.fit(documents).transform(documents[i], view=i).toarray(), dense)


def test_multi_errors() -> None:
    for vocabulary in ("shared", "separate"):
        with pytest.raises(TypeError, match=r"documents\[1\]: document 0: expected str"):
            MultiTermCounter(vocabulary).fit([["a"], [3]])
    with pytest.raises(ValueError, match="vocabulary: expected"):
        MultiTermCounter("both").fit([["a"]])
    with pytest.raises(ValueError, match="at least one language"):
        MultiTermCounter().fit([])
    counter = MultiTermCounter().fit([["a"], ["b"]])
    with pytest.raises(ValueError, match="fitted on 2 languages, got 1"):
        counter.transform([["a"]])
    with pytest.raises(ValueError, match="view: expected 0 to 1, got 2"):
        counter.transform(["a"], view=2)


@pytest.mark.parametrize(("suffix", "opener"), [("", open), (".gz", gzip.open), (".xz", lzma.open)])
def test_files(tmp_path: Path, suffix: str, opener) -> None:
    def write(name: str, data: bytes) -> Path:
        path = tmp_path / (name + suffix)
        with opener(path, "wb") as file:
            file.write(data)
        return path

    path = write("lines.txt", "\ufeffeins é\r\nzwei\n\nvier\u2028x".encode())
    assert list(read_lines(path)) == ["eins é", "zwei", "", "vier\u2028x"]
    assert TermCounter().fit(read_lines(str(path))).n_documents_ == 4

    path = write("table.tsv", b"1\tone\tuno\n2\ttwo\tdos\n3\tthree\n")
    assert list(read_tsv(path, 1)) == ["one", "two", "three"]
    with pytest.raises(ValueError, match=r"table.tsv.*, line 3: no column 2, the line has 2 columns"):
        list(read_tsv(path, 2))
    with pytest.raises(ValueError, match="column: expected 0 or more"):
        list(read_tsv(path, -1))

    path = write(
        "records.jsonl", b'{"text": "a b"}\n\n' + json.dumps({"text": ["c", "é"]}).encode() + b'\n{"x": 1}\n'
    )
    stream = read_jsonl(path, "text")
    assert [next(stream), next(stream)] == ["a b", ["c", "é"]]
    with pytest.raises(ValueError, match=r"records.jsonl.*, line 4: no field 'text'"):
        next(stream)
    for data, message in ((b"{", "not JSON"), (b"[]", "no field"), (b'{"text": 3}', "is not a text")):
        with pytest.raises(ValueError, match=f"line 2: .*{message}"):
            list(read_jsonl(write("bad.jsonl", b"\n" + data), "text"))

    path = write("latin.txt", b"fine\nnot \xe9 fine\n")
    with pytest.raises(ValueError, match=r"latin.txt.*, line 2: .*invalid continuation byte"):
        list(read_lines(path))
    assert list(read_lines(path, errors="replace")) == ["fine", "not \ufffd fine"]


@pytest.mark.parametrize(("suffix", "opener"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_truncated_files(tmp_path: Path, suffix: str, opener) -> None:
    path = tmp_path / ("a.txt" + suffix)
    with opener(path, "wb") as file:
        file.write(b"".join(b"line %d\n" % (i * i) for i in range(100_000)))
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(ValueError, match=rf"a.txt{suffix}, after line \d+: the file is damaged"):
        list(read_lines(path))
    path.write_bytes(b"not compressed at all")
    with pytest.raises(ValueError, match="after line 0: the file is damaged"):
        list(read_lines(path))
