"""Sentences cut and aligned."""

from __future__ import annotations

import numpy as np
import pytest

from semproj import _core
from semproj.alignment import align_sentences, split_sentences
from tests.reference import alignment as reference


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n ", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("First line\nsecond line\r\n\r\nthird", ["First line", "second line", "third"]),
        ("He said: «Sí.» Luego calló.", ["He said: «Sí.»", "Luego calló."]),
        ("Wait... what? Yes.", ["Wait... what?", "Yes."]),
        ("At 9 a.m. él llegó. Éste no.", ["At 9 a.m. él llegó.", "Éste no."]),
        ("Version 1.5 is out.", ["Version 1.5 is out."]),
        ("今日は。元気？はい", ["今日は。", "元気？", "はい"]),
        ("See also - one - two-fold • three", ["See also", "- one", "- two-fold", "• three"]),
    ],
)
def test_split(text, sentences):
    assert split_sentences(text) == sentences


def random_lengths(seed, n, *, cut=0.2, missing=0.1):
    """Two sides of about n sentences: some cut in two, some missing."""
    rng = np.random.default_rng(seed)
    source, target = [], []
    for length in rng.integers(10, 300, n):
        other = max(1, int(rng.normal(1.1 * length, np.sqrt(6.8 * length))))
        if rng.random() < missing:
            (source if rng.random() < 0.5 else target).append(int(length))
            continue
        source.append(int(length))
        target += [other // 3, other - other // 3] if rng.random() < cut else [other]
    return source, target


def align(sources, targets, *, ratio=1.1, variance=6.8, skip=0.01, band=64, n_threads=1):
    def flat(sides):
        starts = np.concatenate([[0], np.cumsum([len(side) for side in sides])]).astype(np.int64)
        return starts, np.array([x for side in sides for x in side], np.int32)

    found = _core.align_lengths(*flat(sources), *flat(targets), ratio, variance, skip, band, n_threads)
    return found.beads, found.scores


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("skip", [0.01, 0.2])
def test_the_path_is_the_cheapest(seed, skip):
    source, target = random_lengths(seed, 12)
    beads, scores = align([source], [target], skip=skip)
    cost = reference.path_cost(beads[:, 1:].tolist(), source, target, 1.1, 6.8, skip)
    assert cost == pytest.approx(reference.best_cost(source, target, 1.1, 6.8, skip), abs=1e-9)
    for (_, a, b, c, d), score in zip(beads.tolist(), scores, strict=True):
        if a < b and c < d:
            expected = -reference.mismatch(sum(source[a:b]), sum(target[c:d]), 1.1, 6.8)
        else:
            expected = np.log(skip)
        assert score == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_narrow_band_finds_the_same_path(seed):
    source, target = random_lengths(seed, 150)
    source = random_lengths(100 + seed, 60)[0] + source  # a part that the target does not have
    narrow, _ = align([source], [target], band=8)
    whole, _ = align([source], [target], band=1000)
    assert narrow.tolist() == whole.tolist()


def test_any_number_of_threads():
    sides = [random_lengths(seed, 5 + seed) for seed in range(70)]
    sources, targets = [s for s, _ in sides], [t for _, t in sides]
    beads, scores = align(sources, targets)
    assert sorted(set(beads[:, 0].tolist())) == list(range(70))
    for n_threads in (2, 5):
        again, same = align(sources, targets, n_threads=n_threads)
        assert np.array_equal(again, beads)
        assert np.array_equal(same, scores)


def test_documents():
    found = align_sentences(
        ["Alone.", ["a list", "of sentences"], "", "One. Two."],
        ["Solo. Y más.", ["una lista", "de frases"], "No hay nada.", ""],
    )
    assert found.beads.tolist() == [[0, 0, 1, 0, 2], [1, 0, 1, 0, 1], [1, 1, 2, 1, 2]]
    assert list(found.pairs()) == [
        ("Alone.", "Solo. Y más."),
        ("a list", "una lista"),
        ("of sentences", "de frases"),
    ]
    assert len(list(found.pairs(min_score=float(np.sort(found.scores)[1])))) == 2
    assert len(found) == 3
    assert len(align_sentences([], [])) == 0


def test_a_missing_sentence_has_no_pair():
    texts = ["x" * n for n in (80, 33, 190, 61, 120)]
    found = align_sentences([texts], [texts[:2] + texts[3:]], ratio=1.0)
    assert [1, 0] in np.diff(found.beads[:, 1:])[:, [0, 2]].tolist()
    assert list(found.pairs()) == [(t, t) for t in texts if t != texts[2]]


def test_the_usual_ratio_is_not_that_of_incomplete_documents():
    texts = [["x" * n for n in (80, 33, 190, 61, 120)]] * 5
    longer = [["x" * (n * 3 // 2) for n in map(len, document)] for document in texts]
    found = align_sentences([*texts, ["x" * 10, "x"]], [*longer, ["x" * 2000, "y" * 2000]])
    expected = align_sentences([*texts, ["x" * 10, "x"]], [*longer, ["x" * 2000, "y" * 2000]], ratio=1.5)
    assert np.array_equal(found.beads, expected.beads)
    np.testing.assert_allclose(found.scores, expected.scores, atol=0.05)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((["a"], ["a", "b"]), {}, ValueError, "target_documents: expected 1"),
        (("a", ["a"]), {}, TypeError, "source_documents"),
        ((["a"], [b"a"]), {}, TypeError, r"target_documents\[0\]"),
        ((["a", ["b", 3]], ["a", "b"]), {}, TypeError, r"source_documents\[1\]"),
        ((["a"], ["a"]), {"skip_probability": 0.0}, ValueError, "skip_probability"),
        ((["a"], ["a"]), {"variance": -1.0}, ValueError, "variance"),
        ((["a"], ["a"]), {"ratio": np.nan}, ValueError, "ratio"),
        ((["a"], ["a"]), {"band": 0}, ValueError, "band"),
    ],
)
def test_bad_input(arguments, options, error, message):
    with pytest.raises(error, match=message):
        align_sentences(*arguments, **options)


def test_the_binding_checks_offsets():
    starts, lengths = np.array([0, 2], np.int64), np.array([3, 4], np.int32)
    for bad in ([0, 3], [1, 2], [0, 5, 2]):
        with pytest.raises(ValueError, match="offsets"):
            _core.align_lengths(np.array(bad, np.int64), lengths, starts, lengths, 1.0, 6.8, 0.01, 4, 1)


@pytest.mark.parametrize(
    "band", [3, 2**31, 2**62, 2**63, 10**400], ids=["all", "2**31", "2**62", "2**63", "10**400"]
)
def test_a_band_wider_than_all_documents_is_the_whole(band):
    source = ["One short sentence. Then one that is much longer than it. The end."]
    target = ["Una frase corta. Luego una que es mucho más larga que ella. Fin."]
    found, usual = (align_sentences(source, target, **options) for options in ({"band": band}, {}))
    assert found.beads.tolist() == usual.beads.tolist()
    assert found.scores.tolist() == usual.scores.tolist()
    assert len(align_sentences([], [], band=band)) == 0
    assert len(align_sentences([[]], [[]], band=band)) == 0


@pytest.mark.parametrize("band", [-1, 0, 2**31, 2**62])
def test_kernel_refuses_bands_that_overflow(band):
    with pytest.raises(ValueError, match="band: expected at least 1"):
        align([[3, 4, 5]], [[3, 4, 5]], band=band)
