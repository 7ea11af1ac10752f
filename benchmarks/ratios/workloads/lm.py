"""Language models beside KenLM: training by its lmplz, queries by its Python module."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import lm_peers, lm_text, peers
from benchmarks.ratios import OURS, Contestant, Options, Workload, register

SAME_PERPLEXITY = 0.01  # relatively
SAME_SCORE = 1e-5  # relatively: the peer sums float32


@register("lm")
def lm(options: Options) -> Iterator[Workload]:
    text = lm_text.sentences(options.pick(40_000_000, 2_000_000, 3000), options.data)
    with tempfile.TemporaryDirectory() as folder:
        for order in (3, 5):
            yield _train(options, text, order, Path(folder))
        yield from _score(options, text, Path(folder))


def _train(options: Options, text: lm_text.Sentences, order: int, folder: Path) -> Workload:
    import semproj as sj

    held_out, arpa = text.lines(2000), folder / f"{order}.arpa"
    # The same for both; lmplz is slower with more than it needs, as it clears all of it.
    gigabytes = options.pick(8, 2, 1)

    def ours(n: int) -> Any:
        return sj.NGramLM(order=order, max_memory=gigabytes << 30, n_threads=n).fit(files=[text.train])

    contestants = [Contestant(OURS, n, lambda n=n: ours(n)) for n in options.threads]
    program = lm_peers.lmplz()
    if program is not None:
        contestants += [
            Contestant(
                "lmplz",
                n,
                lambda n=n: lm_peers.estimate(program, text.train, order, arpa, n, f"{gigabytes}G"),
                own_clock=True,
            )
            for n in options.threads
        ]
    expected: list[float] = []

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        model = result if contestant.name == OURS else sj.NGramLM.from_arpa(result.path)
        found = model.perplexity(held_out)
        expected.append(found)
        if not abs(found - expected[0]) <= SAME_PERPLEXITY * expected[0]:
            raise AssertionError(f"{contestant.name}: a perplexity of {found}, expected {expected[0]}")
        return {"perplexity": found}

    return Workload(
        name=f"train_order{order}",
        words=text.n_words,
        contestants=contestants,
        check=check,
        rounds=options.pick(3, 3, 2),
        most_seconds=240.0,
        notes=[
            f"{text.n_words} words, {text.source}; modified Kneser-Ney of order {order}, nothing cut off",
            f"ours ends with a model that answers, lmplz with an ARPA file; each may take {gigabytes} GB",
            f"perplexity: of {len(held_out)} sentences that were held out, both by our queries",
        ],
    )


def _score(options: Options, text: lm_text.Sentences, folder: Path) -> Iterator[Workload]:
    import semproj as sj

    model = sj.NGramLM(order=3, smoothing="kneser_ney").fit(files=[text.train])
    kenlm = None
    if peers.available("kenlm") is not None:
        import kenlm as module

        arpa = folder / "scored.arpa"
        model.to_arpa(arpa)
        kenlm = module.Model(str(arpa))  # its fastest structure, the probing one
    lines = text.lines(options.pick(100_000, 30_000, 50))
    several = list(chain.from_iterable(repeat(lines, 1 + options.pick(50_000, 20_000, 20) // len(lines))))
    for name, chosen in (("score_batch", several), ("score_single", lines[: options.pick(5000, 2000, 20)])):
        yield _queries(options, name, chosen, model, kenlm, text.source)


def _queries(options: Options, name: str, lines: list[str], model: Any, kenlm: Any, source: str) -> Workload:
    batch = name == "score_batch"

    def ours(n: int) -> Any:
        return model.scores(lines, n_threads=n) if batch else [model.score(line) for line in lines]

    contestants = [Contestant(OURS, n, lambda n=n: ours(n)) for n in options.threads]
    if kenlm is not None:
        contestants.append(Contestant("kenlm", None, lambda: [kenlm.score(line) for line in lines]))
    expected: list[Any] = []

    def check(contestant: Contestant, result: Any) -> dict[str, Any]:
        expected.append(np.asarray(result))
        if not np.allclose(expected[-1], expected[0], rtol=SAME_SCORE, atol=SAME_SCORE):
            raise AssertionError(f"{contestant.name}: sentences differ by {abs(expected[-1] - expected[0]).max()}")
        return {}

    return Workload(
        name=name,
        words=sum(line.count(" ") + 2 for line in lines),
        contestants=contestants,
        check=check,
        rounds=options.pick(7, 5, 2),
        notes=[
            f"{len(lines)} sentences that were held out, {'in one call' if batch else 'one a call'}; {source}",
            "words: with the ends of sentences; a model of order 3, and the same in kenlm by an ARPA file",
        ],
    )
