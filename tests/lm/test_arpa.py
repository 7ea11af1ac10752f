"""ARPA files that come back, and those of kenlm's estimator; bad ones are in test_arpa_hostile."""

from __future__ import annotations

import gzip
import lzma
import random

import numpy as np
import pytest

from semproj import NGramLM
from tests.lm.test_ngram_reference import zipf_text

pytestmark = pytest.mark.filterwarnings("ignore::semproj.lm.DiscountWarning")  # of small texts

TOY = """\\data\\
ngram 1=5
ngram 2=4
ngram 3=2

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.3
-0.7\t</s>
-0.5\ta\t-0.2
-0.6\tb\t-0.25

\\2-grams:
-0.1\t<s> a\t-0.05
-0.2\ta b\t-0.15
-0.3\tb a
-0.4\ta </s>

\\3-grams:
-0.01\t<s> a b
-0.02\ta b a

\\end\\
"""
# By hand: a after <s>; b after <s> a; a after a b; </s> after b a, whose back-off is 0, as a </s>.
BY_HAND = {
    "a b a": [-0.1, -0.01, -0.02, -0.4],
    "": [-0.3 - 0.7],
    "b zz": [-0.3 - 0.6, -0.25 - 1.0, -0.7],
    "a a": [-0.1, -0.05 - 0.2 - 0.5, -0.4],
}


@pytest.fixture
def toy(tmp_path):
    path = tmp_path / "toy.arpa"
    path.write_text(TOY)
    return path


@pytest.mark.parametrize("sentence", BY_HAND)
def test_by_hand(toy, sentence):
    found = NGramLM.from_arpa(toy).score_words(sentence)
    assert [each.log_prob for each in found] == pytest.approx(BY_HAND[sentence], abs=1e-6)


def test_orders_and_unknown_words(toy):
    found = NGramLM.from_arpa(toy).score_words("a b zz")
    assert [each.order for each in found] == [2, 3, 1, 1]
    assert [each.unknown for each in found] == [False, False, True, False]
    assert [each.word for each in found] == ["a", "b", "zz", "</s>"]


def test_lines_in_any_order(toy, tmp_path):
    lines = TOY.split("\n")
    rng = random.Random(1)
    for begin, end in ((6, 11), (13, 17), (19, 21)):
        part = lines[begin:end]
        rng.shuffle(part)
        lines[begin:end] = part
    (tmp_path / "other.arpa").write_text("\n".join(lines).replace("\t", "  "))
    a, b = NGramLM.from_arpa(toy), NGramLM.from_arpa(tmp_path / "other.arpa")
    assert a.scores(list(BY_HAND)).tolist() == b.scores(list(BY_HAND)).tolist()


@pytest.mark.parametrize("ending", ["arpa", "arpa.gz", "arpa.xz"])
def test_comes_back(ending, tmp_path):
    model = NGramLM(order=4).fit(zipf_text(1500))
    path = tmp_path / f"model.{ending}"
    model.to_arpa(path)
    unpack = {"arpa": open, "arpa.gz": gzip.open, "arpa.xz": lzma.open}[ending]
    with unpack(path, "rb") as file:
        assert file.read(7) == b"\\data\\\n"
    again = NGramLM.from_arpa(path)
    text = zipf_text(300, seed=4)
    np.testing.assert_array_equal(again.scores(text), model.scores(text))
    assert again.ngram_counts_ == model.ngram_counts_
    assert again.vocabulary_ == model.vocabulary_
    again.to_arpa(tmp_path / "twice.arpa")
    model.to_arpa(tmp_path / "once.arpa")
    once, twice = ((tmp_path / name).read_text().split("\n") for name in ("once.arpa", "twice.arpa"))
    assert sorted(once) == sorted(twice)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_kenlm_reads_it(order, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    model = NGramLM(order=order).fit(zipf_text(1500))
    model.to_arpa(tmp_path / "model.arpa")
    if order == 1:
        pytest.skip("kenlm has no models of order 1")
    peer = kenlm.Model(str(tmp_path / "model.arpa"))
    for sentence in [" ".join(words) for words in zipf_text(300, seed=8)] + ["w0 never <unk> <s> w1 </s> w2"]:
        expected = list(peer.full_scores(sentence))
        found = model.score_words(sentence)
        assert [each.log_prob for each in found] == pytest.approx([each[0] for each in expected], abs=1e-5)
        assert [each.order for each in found] == [each[1] for each in expected]
        assert [each.unknown for each in found] == [each[2] for each in expected]


def test_words_of_any_script(tmp_path):
    text = ["中文 и русский", "é è", "a-very-long-word-of-more-than-eleven bytes", "𝄞 \u00a0x"] * 3
    model = NGramLM(order=2).fit(text)
    model.to_arpa(tmp_path / "model.arpa")
    again = NGramLM.from_arpa(tmp_path / "model.arpa")
    assert again.scores(text).tolist() == model.scores(text).tolist()
    assert not any(each.unknown for sentence in text for each in again.score_words(sentence))


def test_no_utf8(tmp_path):
    (tmp_path / "model.arpa").write_bytes(TOY.encode().replace(b"\tb", b"\t\xff"))
    with pytest.raises(ValueError, match=r"model\.arpa"):
        NGramLM.from_arpa(tmp_path / "model.arpa")
