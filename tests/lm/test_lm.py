"""Queries of n-gram models: single, in batches, by states, quantised, saved."""

from __future__ import annotations

import pickle
import random
import sys

import numpy as np
import pytest

import semproj as sj
from semproj import NGramLM
from tests.lm.test_ngram_reference import zipf_text
from tests.reference import ngram as reference

pytestmark = pytest.mark.filterwarnings("ignore::semproj.lm.DiscountWarning")  # of small texts

FLOAT32 = 1e-5  # sums of numbers below 100 whose last place is 4e-6


@pytest.fixture(scope="module")
def text():
    return [" ".join(sentence) for sentence in zipf_text(3000)]


@pytest.fixture(scope="module")
def model(text):
    return NGramLM(order=4).fit(text)


@pytest.fixture(scope="module")
def held_out():
    return [" ".join(sentence) for sentence in zipf_text(400, seed=5)] + ["w0 never seen w1", "", "w3"]


class TestAgainstThePlainReference:
    @pytest.mark.parametrize("order", [1, 2, 3, 5, 6])
    def test_every_order(self, order, text, held_out, tmp_path):
        model = NGramLM(order=order).fit(text)
        model.to_arpa(tmp_path / "model.arpa")
        log_probs, log_backoffs = reference.read_arpa(tmp_path / "model.arpa")
        words = sorted({gram[0] for gram in log_probs if len(gram) == 1} - {"<s>"})
        plain = reference.BackoffModel(order, words, log_probs, log_backoffs)
        for sentence in held_out:
            for bos in (True, False):
                expected = plain.score_words(sentence.split(), bos=bos)
                found = model.score_words(sentence, bos=bos)
                assert [each.log_prob for each in found] == pytest.approx(expected, abs=FLOAT32)


class TestBatches:
    def test_blocks_do_not_show(self, model):
        """Sentences that end anywhere in a block of 1024 words, or are longer than several."""
        words = [word for sentence in zipf_text(2000, seed=7) for word in sentence]
        for n in (1021, 1022, 1023, 1024, 1025, 2047, 2048, 3000):
            sentence = words[:n]
            parts = sum(each.log_prob for each in model.score_words(sentence))
            state, total = model.begin_state(), 0.0
            for word in [*sentence, "</s>"]:
                log_prob, state = model.continue_state(state, word)
                total += log_prob
            assert model.score(sentence) == pytest.approx(total, rel=1e-7)
            assert parts == pytest.approx(total, rel=1e-7)

    def test_a_sentence_is_alone(self, model, held_out):
        """Whatever comes before it in the batch, and without its end."""
        for bos in (True, False):
            for eos in (True, False):
                alone = [model.score(sentence, bos=bos, eos=eos) for sentence in held_out]
                found = model.scores(held_out[::-1], bos=bos, eos=eos, n_threads=2)[::-1]
                np.testing.assert_array_equal(found, alone)

    def test_a_million_words(self, model):
        sentence = "w0 w1 never " * 333_334
        found = model.score(sentence)
        assert np.isfinite(found)
        assert model.scores([sentence, "w0"])[0] == found

    def test_perplexity(self, model, held_out):
        each = [model.score_words(sentence) for sentence in held_out]
        every = [word for sentence in each for word in sentence]
        known = [word for word in every if not word.unknown]
        assert len(known) < len(every)
        for words, unknown in ((every, True), (known, False)):
            expected = 10 ** -np.mean([word.log_prob for word in words])
            assert model.perplexity(held_out, unknown=unknown) == pytest.approx(expected, rel=1e-6)

    def test_surrogates_and_zeros(self, model):
        with pytest.raises(ValueError, match=r"sentences\[1\].*UTF-8"):
            model.scores(["w0", "w\ud800"])
        with pytest.raises(ValueError, match=r"sentence.*UTF-8"):
            model.score("w\ud800")
        assert model.score("w0\0 w1") == model.score("never w1")
        assert model.score("w0\u00a0w1") == model.score("never")  # not ASCII white space
        assert model.score("\tw0 \r\n w1\v\f") == model.score("w0 w1")

    def test_strings_are_not_kept_as_utf8(self, model):
        """Python would keep a copy of each with the string."""
        sentence = "é" * 1000
        size = sys.getsizeof(sentence)
        model.scores([sentence])
        assert sys.getsizeof(sentence) == size


class TestStates:
    def test_words_one_by_one(self, model, held_out):
        for sentence in held_out:
            for bos in (True, False):
                state = model.begin_state() if bos else model.empty_state()
                for expected in model.score_words(sentence, bos=bos):
                    word = "</s>" if expected.word == "</s>" else expected.word
                    log_prob, state = model.continue_state(state, word)
                    assert log_prob == pytest.approx(expected.log_prob, abs=1e-6)

    def test_equal_states_have_equal_futures(self, model, held_out):
        rng = random.Random(0)
        words = " ".join(held_out).split()
        seen: dict[object, list[float]] = {}
        for _ in range(4000):
            state = model.empty_state()
            for word in rng.sample(words, 3):
                _, state = model.continue_state(state, word)
            future = [model.continue_state(state, word)[0] for word in words[:5]]
            assert seen.setdefault(state, future) == pytest.approx(future, abs=1e-6)
        assert len(seen) < 4000

    def test_pickles(self, model):
        _, state = model.continue_state(model.begin_state(), "w0")
        again = pickle.loads(pickle.dumps(state))
        assert again == state
        assert hash(again) == hash(state)
        assert again != model.empty_state()
        assert model.continue_state(again, "w1")[0] == model.continue_state(state, "w1")[0]


class TestStorage:
    def test_any_number_of_threads(self, text):
        one, three = (NGramLM(order=4, n_threads=n).fit(text) for n in (1, 3))
        for name, array in one._get_state().items():
            np.testing.assert_array_equal(array, getattr(three, name), err_msg=name)

    def test_any_memory(self, text, tmp_path):
        """N-grams that do not fit go to files and make the same tables."""
        large = NGramLM(order=4).fit(text)
        small = NGramLM(order=4, max_memory=1 << 20, temp_dir=tmp_path).fit(text)
        assert not list(tmp_path.iterdir())
        for name, array in large._get_state().items():
            np.testing.assert_array_equal(array, getattr(small, name), err_msg=name)

    def test_any_memory_where_tables_do_not_fill_evenly(self, tmp_path):
        """So many n-grams that the table of one order needs more lines than at first, another's does not."""
        ids = np.random.default_rng(2).integers(0, 2000, 400_000)
        text = [" ".join(map(str, words)) for words in np.split(ids, range(100, len(ids), 100))]
        large, small = (NGramLM(order=3, max_memory=n, temp_dir=tmp_path).fit(text) for n in (1 << 30, 12 << 20))
        filled = [large.ngram_counts_[k - 1] / len(getattr(large, f"grams{k}_")) for k in (2, 3)]
        assert filled[0] < 3.5  # of five places in a line; tables are made for four
        assert filled[1] > 5.5  # of seven
        for name, array in large._get_state().items():
            np.testing.assert_array_equal(array, getattr(small, name), err_msg=name)

    def test_saved_and_mapped(self, model, held_out, tmp_path):
        model.save(tmp_path / "model")
        for verify in (True, False):
            again = sj.load(tmp_path / "model", verify=verify)
            np.testing.assert_array_equal(again.scores(held_out), model.scores(held_out))
            assert not again.grams3_.flags.writeable
            assert again.grams2_.ctypes.data % 64 == 0
            assert again.vocabulary_ == model.vocabulary_

    def test_pickled(self, model, held_out):
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.scores(held_out), model.scores(held_out))

    @pytest.mark.parametrize("name", ["grams2_", "grams4_", "unigrams_", "word_slots_"])
    def test_any_bytes_are_safe_to_read(self, name, model, held_out):
        rng = np.random.default_rng(3)
        broken = pickle.loads(pickle.dumps(model))
        array = getattr(broken, name).copy()
        array.view(np.uint8)[:] = rng.integers(0, 256, array.view(np.uint8).shape, np.uint8)
        setattr(broken, name, array)
        broken._open()
        broken.scores(held_out)
        broken.score_words(held_out[0])

    def test_arrays_that_do_not_fit(self, model):
        broken = pickle.loads(pickle.dumps(model))
        for name, array in (
            ("grams2_", model.grams2_[:-1]),
            ("grams3_", None),
            ("unigrams_", model.unigrams_[:-1]),
            ("word_slots_", model.word_slots_[:-1]),
        ):
            kept = getattr(broken, name)
            setattr(broken, name, array)
            with pytest.raises(ValueError, match=r"expected|lines that no table has"):
                broken._open()
            setattr(broken, name, kept)


class TestQuantized:
    def test_is_smaller_and_near(self, model, held_out):
        small = model.quantize(bits=8)
        assert small.n_bytes < model.n_bytes
        errors = {each.order: each for each in small.quantization_error}
        worst = max(each.log_prob_max + 3 * each.backoff_max for each in errors.values()) + 1e-6
        for sentence in held_out[:100]:
            pairs = zip(model.score_words(sentence), small.score_words(sentence), strict=True)
            for exact, near in pairs:
                assert near.order == exact.order
                assert abs(near.log_prob - exact.log_prob) <= worst
        assert small.perplexity(held_out) == pytest.approx(model.perplexity(held_out), rel=0.02)

    def test_is_saved(self, model, held_out, tmp_path):
        small = model.quantize()
        small.save(tmp_path / "model")
        np.testing.assert_array_equal(sj.load(tmp_path / "model").scores(held_out), small.scores(held_out))
        with pytest.raises(ValueError, match="quantized already"):
            small.quantize()
        with pytest.raises(ValueError, match="bits"):
            model.quantize(bits=4)
