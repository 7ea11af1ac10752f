"""Ctrl-C while word classes are found, and while Model M is trained and asked, at several moments of each."""

from __future__ import annotations

import os
import signal
import textwrap
import time
from functools import partial

import pytest

from tests.support.forking import forked

SETUP = """
    import signal
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np
    from semproj.lm import ModelM, WordClasses
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(30_000)], object)
    def lines(n):
        drawn = (30_000 * rng.random((n, 20)) ** 4).astype(int)
        return [" ".join(row) for row in words[drawn]]
    few, many = lines(500), lines(200_000)
    classes = WordClasses(5).fit(few)
    model = ModelM(classes=5, max_iter=2).fit(few)
"""

# What takes seconds, and what the object says before and after it.
LONG = {
    "WordClasses": ("classes.set_params(n_classes=1000, n_threads=N).fit(many)", "classes.words_of(1)"),
    "ModelM": ("model.set_params(order=4, classes=300, n_threads=N).fit(many)", "model.score('w0 w1')"),
    "ModelM scores": ("model.scores(many * 10, n_threads=N)", "model.score('w0 w1')"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c(name):
    """Within a second, at any moment, and the last fit answers."""
    call, answer = LONG[name]
    waits = (0.5, 2.0, 4.5, 8.0)
    script = textwrap.dedent(SETUP) + textwrap.dedent(f"""
before = {answer}
for wait in {waits}:
    N = 2
    print("ready", wait)
    try:
        while True:
            {call}
    except KeyboardInterrupt:
        print("stopped")
    assert {answer} == before
    print("alive")
""")
    waited = {}
    with forked(lambda out: exec(script, {"print": partial(print, file=out)})) as child:
        for wait in waits:
            child.expect(f"ready {wait}\n")
            time.sleep(wait)
            sent = time.perf_counter()
            os.kill(child.pid, signal.SIGINT)
            child.expect("stopped\n")
            waited[wait] = time.perf_counter() - sent
            child.expect("alive\n")
        child.expect("")
    assert max(waited.values()) < 1.0, waited
