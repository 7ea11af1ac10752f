"""The recurrent language model beside the same network in PyTorch: a pass over a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import data, peers, torch_rnn
from benchmarks.ratios import OURS, Contestant, Cost, Options, Workload, register

RATE = 0.002  # so low that differences of rounding do not grow
SAME = 1e-4  # relative difference of losses in float32
SENTENCE = 20


@register("rnn")
def rnn(options: Options) -> Iterator[Workload]:
    for units in options.pick((256, 512), (128,), (8,)):
        yield _pass(options, units)


def _text(n: int, n_words: int) -> np.ndarray:
    """Words of a Zipf vocabulary; about every twentieth is the end of a sentence."""
    ids = data.zipf_words(n, n_words - 3) + 3
    ids[np.random.default_rng(1).random(n) < 1 / SENTENCE] = torch_rnn.END
    return ids.astype(np.int32)


def _pass(options: Options, units: int) -> Workload:
    from semproj._common.resources import single_threaded_blas
    from semproj._core import lm as _core
    from semproj.lm._network import frequency_classes, of_kernel, starting_arrays, starting_sums

    n_words, streams, steps, blocks = options.pick((60_000, 128, 20, 30), (20_000, 64, 20, 10), (200, 4, 5, 3))
    ids = _text(streams * steps * blocks, n_words)
    counts = np.bincount(ids, minlength=n_words)
    classing = frequency_classes(counts, int(np.ceil(1.1 * np.sqrt(n_words))))
    arrays = starting_arrays(counts, classing, units, "tanh", 0)
    sums = starting_sums(arrays)

    def ours(n: int) -> float:
        weights, kept = ({name: a.copy() for name, a in kind.items()} for kind in (arrays, sums))
        with single_threaded_blas():
            total = _core.rnn_train(
                ids,
                of_kernel(weights.__getitem__),
                of_kernel(kept.__getitem__),
                classing.of_kernel(),
                "tanh",
                0.0,  # of slow units, which are none
                torch_rnn.BEGIN,
                torch_rnn.END,
                n_streams=streams,
                n_steps=steps,
                across_sentences=True,
                first_rate=RATE,
                last_rate=RATE,
                clip=1e9,
                n_threads=n,
            )
        return -total

    def torch(n: int) -> float:
        sizes = {"n_streams": streams, "n_steps": steps, "rate": RATE, "n_threads": n}
        return torch_rnn.train(arrays, sums, *classing, ids, **sizes)[0]

    contestants = [Contestant(OURS, n, lambda n=n: ours(n)) for n in options.threads]
    if peers.available("torch") is not None:
        contestants += [Contestant("torch", n, lambda n=n: torch(n)) for n in options.threads]
    expected: list[float] = []

    def check(contestant: Contestant, loss: Any) -> dict[str, Any]:
        expected.append(loss)
        if not abs(loss - expected[0]) <= SAME * abs(expected[0]):
            raise AssertionError(f"{contestant.name}: a loss of {loss}, expected {expected[0]}")
        return {"perplexity": float(np.exp(loss / len(ids)))}

    in_class = float((np.diff(classing.class_begin)[classing.class_of[ids]]).mean())
    products = 3.0 * len(ids) * units * (units + len(classing.class_begin) - 1 + in_class)
    return Workload(
        name=f"rnn_h{units}",
        words=len(ids),
        contestants=contestants,
        check=check,
        cost=Cost(fma_peak=products, meaning="6 h (h + classes + words of a class) flops a word"),
        rounds=options.pick(3, 3, 2),
        notes=[
            f"{len(ids)} words of {n_words}, {units} units, {len(classing.class_begin) - 1} classes; {streams} "
            f"streams and {steps} steps a block, Adagrad; copies of the weights are timed for both",
            "torch: nn.RNN, words' softmax class by class with operations in place, only rows that are met change",
        ],
    )
