"""Ctrl-C while n-gram models are trained, asked, written and read, at several moments of each."""

from __future__ import annotations

import os
import signal
import textwrap
import time
from functools import partial

import pytest

from tests.support.forking import forked

SETUP = """
    import os, signal, warnings
    warnings.simplefilter("ignore")  # texts of so few words give no discounts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import numpy as np
    from pathlib import Path
    from semproj import NGramLM
    rng = np.random.default_rng(0)
    folder = Path(FOLDER)
    words = np.array([f"w{i}" for i in range(60_000)], object)
    def lines(n):
        drawn = (60_000 * rng.random((n, 20)) ** 4).astype(int)
        return [" ".join(row) for row in words[drawn]]
    model = NGramLM(order=3).fit(lines(200))
"""

# What is made ready, and what takes seconds.
LONG = {
    "fit": ("text = lines(150_000)", "model.set_params(order=5, n_threads=N, temp_dir=folder / 'tmp').fit(text)"),
    "fit in little memory": (
        "text = lines(150_000)",
        "model.set_params(order=4, n_threads=N, max_memory=32 << 20, temp_dir=folder / 'tmp').fit(text)",
    ),
    "fit of a file": (
        "(folder / 'text').write_text('\\n'.join(lines(150_000)))",
        "model.set_params(order=5, n_threads=N, temp_dir=folder / 'tmp').fit(files=[folder / 'text'])",
    ),
    "fit of one long sentence": (
        "text = [' '.join(lines(150_000))]",
        "model.set_params(order=5, n_threads=N, temp_dir=folder / 'tmp').fit(text)",
    ),
    "scores": ("text = lines(10_000) * 200", "model.scores(text, n_threads=N)"),
    "scores of one long sentence": ("text = ' '.join(lines(10_000) * 50)", "model.scores([text], n_threads=N)"),
    "score of one long sentence": ("text = ' '.join(lines(10_000) * 50)", "model.score(text)"),
    "to_arpa": ("large = NGramLM(order=4).fit(lines(100_000))", "large.to_arpa(folder / 'large.arpa')"),
    "from_arpa": (
        "NGramLM(order=4).fit(lines(100_000)).to_arpa(folder / 'large.arpa')",
        "NGramLM.from_arpa(folder / 'large.arpa')",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c(name, tmp_path):
    """Within a second, at any moment; the last model answers, and no file stays."""
    (tmp_path / "tmp").mkdir()
    setup, call = LONG[name]
    waits = (0.3, 1.2)
    script = textwrap.dedent(SETUP.replace("FOLDER", repr(str(tmp_path)))) + textwrap.dedent(f"""
{setup}
for wait in {waits}:
    for N in (1, 2):
        kept = sorted(os.listdir(folder))
        print("ready", wait)
        seen = set()
        try:
            while True:
                seen.add(model.score("w0 w1 w2"))
                {call}
        except KeyboardInterrupt:
            print("stopped")
        assert sorted(set(os.listdir(folder)) - {{"large.arpa"}}) == sorted(set(kept) - {{"large.arpa"}})
        assert os.listdir(folder / "tmp") == []
        assert model.score("w0 w1 w2") in seen
        print("alive")
""")
    waited = {}
    with forked(lambda out: exec(script, {"print": partial(print, file=out)})) as child:
        for wait in waits:
            for n_threads in (1, 2):
                child.expect(f"ready {wait}\n")
                time.sleep(wait)
                sent = time.perf_counter()
                os.kill(child.pid, signal.SIGINT)
                child.expect("stopped\n")
                waited[wait, n_threads] = time.perf_counter() - sent
                child.expect("alive\n")
        child.expect("")
    assert max(waited.values()) < 1.0, waited
