"""One sentence of millions of words: no loop over its words goes on for long without a look at signals."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest

from semproj.lm import RNNLM, ModelM, NGramLM, WordClasses

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::semproj.lm.DiscountWarning")]

LONGEST = 0.25  # seconds of this thread: a machine that does other things too takes several times as long
N_WORDS = 8_000_000


@contextmanager
def handled_often():
    """A signal every 10 ms, as Ctrl-C might come. Says how long the thread worked without handling one."""
    worked = [time.thread_time()]
    before = signal.signal(signal.SIGALRM, lambda *_: worked.append(time.thread_time()))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    worked.append(time.thread_time())
    assert len(worked) > 3
    assert max(np.diff(worked)) < LONGEST


@pytest.fixture(scope="module")
def text():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(60_000)], object)
    return " ".join(words[(60_000 * rng.random(N_WORDS) ** 4).astype(int)])


@pytest.fixture(scope="module")
def short(text):
    words = text[:200_000].split()
    return [words[i : i + 20] for i in range(0, len(words), 20)]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_fit_of_n_grams(text, n_threads, tmp_path):
    (tmp_path / "text").write_text(text)
    with handled_often():
        NGramLM(5, n_threads=n_threads).fit(files=tmp_path / "text")


def test_fit_of_n_grams_in_little_memory(text):
    with handled_often():
        NGramLM(3, max_memory=64 << 20, n_threads=1).fit([text])


def test_fit_of_classes(text):
    with handled_often():
        WordClasses(20, max_iter=2, n_threads=1).fit([text])


def test_fit_of_classes_of_one_word():
    with handled_often():
        WordClasses(2, max_iter=2, n_threads=1).fit(["a " * N_WORDS])


def test_fit_of_model_m(text, short):
    classes = WordClasses(20, max_iter=2).fit(short)
    with handled_often():
        ModelM(2, classes=classes, max_iter=1, n_threads=1).fit([text[: len(text) // 8]])


def test_scores_of_unknown_words(short):
    """For Model M no context of them has features: nothing but the classes takes time."""
    unknown = ["never"] * 500_000
    model = ModelM(classes=WordClasses(400, max_iter=1), max_iter=1, n_threads=1).fit(short)
    with handled_often():
        model.scores([unknown])
    network = RNNLM(64, epochs=0.1, held_out=None, n_threads=1, random_state=0).fit(short)
    with handled_often():
        network.scores([unknown])
    n_grams = NGramLM(3, n_threads=1).fit(short)
    with handled_often():
        n_grams.scores([unknown] * 20)
