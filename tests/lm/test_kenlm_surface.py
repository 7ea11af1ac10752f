"""`semproj.lm.kenlm` beside the module whose names it has."""

from __future__ import annotations

import copy
import pickle

import pytest

from semproj import NGramLM
from semproj.lm import kenlm as ours
from tests.lm.test_ngram_reference import zipf_text

pytestmark = pytest.mark.filterwarnings("ignore::semproj.lm.DiscountWarning")  # of small texts

SENTENCES = [" ".join(words) for words in zipf_text(100, seed=6)] + ["", "w0 never w1", "<s> w0 </s>"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("kenlm") / "model.arpa"
    NGramLM(order=3).fit(zipf_text(1500)).to_arpa(path)
    return path


@pytest.fixture(scope="module")
def model(path):
    return ours.Model(path)


@pytest.fixture(scope="module")
def theirs(path):
    return pytest.importorskip("kenlm").Model(str(path))


def test_scores(model, theirs):
    assert model.order == theirs.order
    for sentence in SENTENCES:
        for bos in (True, False):
            for eos in (True, False):
                expected = theirs.score(sentence, bos=bos, eos=eos)
                assert model.score(sentence, bos=bos, eos=eos) == pytest.approx(expected, abs=1e-5, rel=1e-6)
                full = list(theirs.full_scores(sentence, bos=bos, eos=eos))
                found = list(model.full_scores(sentence, bos, eos))
                assert [each[1:] for each in found] == [each[1:] for each in full]
                assert [each[0] for each in found] == pytest.approx([each[0] for each in full], abs=1e-5)
        assert model.perplexity(sentence) == pytest.approx(theirs.perplexity(sentence), rel=1e-5)
    assert [word in model for word in ("w0", "never", "<unk>")] == [
        word in theirs for word in ("w0", "never", "<unk>")
    ]


def test_states(model, theirs):
    kenlm = pytest.importorskip("kenlm")
    for begin in ("BeginSentenceWrite", "NullContextWrite"):
        here, after, there, there_after = ours.State(), ours.State(), kenlm.State(), kenlm.State()
        getattr(model, begin)(here)
        getattr(theirs, begin)(there)
        for word in " ".join(SENTENCES[:20]).split():
            expected = theirs.BaseScore(there, word, there_after)
            full = model.BaseFullScore(here, word, after)
            assert model.BaseScore(here, word, after) == pytest.approx(expected, abs=1e-5)
            theirs_full = theirs.BaseFullScore(there, word, there_after)
            assert full.log_prob == pytest.approx(theirs_full.log_prob, abs=1e-5)
            assert (full.ngram_length, full.oov) == (theirs_full.ngram_length, theirs_full.oov)
            here, after, there, there_after = after, here, there_after, there


def test_states_are_values(model):
    a, b, c = ours.State(), ours.State(), ours.State()
    model.BeginSentenceWrite(a)
    model.BaseScore(a, "w0", b)
    model.BaseScore(a, "w0", c)
    assert b == c
    assert hash(b) == hash(c)
    assert copy.deepcopy(b) == copy.copy(b) == b
    assert pickle.loads(pickle.dumps(b)) == b
    assert a != b


def test_our_own_file(model, path, tmp_path):
    model.model.save(tmp_path / "saved")
    again = ours.LanguageModel(str(tmp_path / "saved"), ours.Config())
    assert again.score(SENTENCES[0]) == model.score(SENTENCES[0])
    assert again.score(SENTENCES[0].encode()) == model.score(SENTENCES[0])
    assert pickle.loads(pickle.dumps(again)).score("w0") == model.score("w0")
    assert repr(again) == "<Model from saved>"


def test_what_is_no_model(tmp_path, model):
    with pytest.raises(FileNotFoundError):
        ours.Model(tmp_path / "nothing")
    (tmp_path / "binary").write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0")
    with pytest.raises(ValueError, match="KenLM's own binary"):
        ours.Model(tmp_path / "binary")
    with pytest.raises(TypeError, match="sentence"):
        model.score(3)


def test_a_model_of_one_word(tmp_path):
    """What is said of it, of unknown words and of nothing adds up, and is what the model itself says."""
    own = NGramLM(order=2).fit([["a"]])
    own.to_arpa(tmp_path / "one.arpa")
    one = ours.Model(tmp_path / "one.arpa")
    assert "a" in one
    assert "b" not in one
    for sentence in ("", "a", "a a", "b", "a b </s> a", "<s> a"):
        assert one.score(sentence) == pytest.approx(own.score(sentence), abs=1e-5)
        assert sum(log_prob for log_prob, _, _ in one.full_scores(sentence)) == pytest.approx(one.score(sentence))
    assert [unknown for _, _, unknown in one.full_scores("a b")] == [False, True, False]
