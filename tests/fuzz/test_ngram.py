"""N-gram models: hostile texts beside the plain reference, and damaged ARPA files and saved models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from semproj import NGramLM, SavedModelError, load
from semproj._common.persistence import read_file
from tests.fuzz.test_damaged_files import damaged, pick, spoilt
from tests.lm.test_ngram_reference import ESTIMATE, SMOOTHINGS, assert_same_model, assert_same_scores
from tests.reference import ngram as reference
from tests.support import same_bits
from tests.support.saving import rewrite

pytestmark = pytest.mark.filterwarnings("ignore::semproj.lm.DiscountWarning")

ALPHABETS = (
    ["a"],
    ["a", "b"],
    [f"w{i}" for i in range(40)],
    ["<unk>", "a", "<S>", "<s", "</s", "é", "e\u0301", "\u4e2d\u6587", "\U0001f600", "a\u00a0b", "\x85", "\x1c"],
    ["\\data\\", "\\end\\", "\\1-grams:", "ngram", "1=2", "-0.5", "nan", "0", "x" * 300],
)
MIN_COUNTS = ((1,), (1, 2), (1, 1, 2), (1, 2, 3), (1, 1, 1, 4))


def drawn_text(rng: np.random.Generator) -> list[list[str]]:
    """Sentences of few words, many times the same, of all lengths from none."""
    words = pick(rng, ALPHABETS) if rng.random() < 0.7 else [word for each in ALPHABETS for word in each]
    flat = rng.random() < 0.3
    text = []
    for _ in range(int(rng.choice([1, 2, 10, 100]))):
        length = int(rng.choice([0, 1, 2, 7, 30]))
        at = len(words) * rng.random(length) ** (1 if flat else 3)
        text.append([words[int(i)] for i in at])
    if rng.random() < 0.3:
        text += [text[0]] * int(rng.choice([1, 5, 300]))
    return text


def drawn_options(rng: np.random.Generator, text: list[list[str]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of the reference, and how to fit, which changes nothing."""
    cut: dict[str, Any] = {}
    match int(rng.integers(6)):
        case 0:
            cut["min_count"] = int(rng.integers(1, 5))
        case 1:
            cut["max_words"] = int(rng.integers(1, 8))
        case 2:
            known = sorted({word for words in text for word in words if word != reference.UNKNOWN})
            cut["vocabulary"] = [*known[: int(rng.integers(0, 5))], "never"]
    fitting = {"n_threads": int(rng.integers(1, 4))}
    order = int(rng.integers(1, 7))
    return {"order": order, "min_counts": pick(rng, MIN_COUNTS)[:order], **cut}, fitting


def test_models_are_those_of_the_reference(fuzz, tmp_path):
    def check(rng: np.random.Generator) -> None:
        text, smoothing = drawn_text(rng), pick(rng, SMOOTHINGS)
        options, fitting = drawn_options(rng, text)
        model = NGramLM(smoothing=smoothing, temp_dir=tmp_path, **options, **fitting)
        cut = {k: v for k, v in options.items() if k not in ("order", "min_counts")}
        if not any(text) or not reference.kept_words(text, **cut):
            try:
                model.fit(text)
            except ValueError:
                return
        order, rest = options["order"], {k: v for k, v in options.items() if k != "order"}
        expected = ESTIMATE[smoothing](text, order, **rest)
        given = text if rng.random() < 0.5 else iter(text)
        assert_same_model(model.fit(given), expected, tmp_path / "model.arpa")
        history = pick(rng, text)[: order + 1]
        assert_same_scores(model, expected, [*history, "never", *history])
        total = math.fsum(
            10 ** model.score_words([*history, word], eos=False)[-1].log_prob
            for word in expected.words
            if word not in (reference.UNKNOWN, reference.END)
        )
        total += 10 ** model.score_words(history)[-1].log_prob
        total += 10 ** model.score_words([*history, reference.UNKNOWN], eos=False)[-1].log_prob
        assert abs(total - 1) < 1e-5
        again = NGramLM.from_arpa(tmp_path / "model.arpa")
        assert same_bits(again.scores(text), model.scores(text))

    fuzz(check, cases=60)


def spoilt_lines(rng: np.random.Generator, lines: list[str]) -> list[str]:
    """Lines that are gone, there twice, elsewhere, or have something else in a column."""
    lines = list(lines)
    for _ in range(int(rng.integers(1, 4))):
        i, j = (int(x) for x in rng.integers(0, len(lines), 2))
        match int(rng.integers(7)):
            case 0:
                del lines[i]
            case 1:
                lines.insert(j, lines[i])
            case 2:
                lines[i], lines[j] = lines[j], lines[i]
            case 3:
                columns = lines[i].split("\t")
                columns[int(rng.integers(len(columns)))] = pick(
                    rng, ("", "0", "-1e400", "nan", "1", "-1", "x", "<s>", "</s>", "a b", "\0", "9" * 400, "-")
                )
                lines[i] = "\t".join(columns)
            case 4:
                lines[i] = lines[i].replace("=", pick(rng, ("=1", "=-", "= ", "==", "=9999999")))
            case 5:
                words = lines[i].split(" ")
                lines[i] = " ".join(words[::-1])
            case 6:
                del lines[j:]
        if not lines:
            break
    return lines


def test_damaged_arpa_files(fuzz, tmp_path):
    """An error with a line, or a model that answers and writes itself again."""
    path = tmp_path / "model.arpa"

    def check(rng: np.random.Generator) -> None:
        text = drawn_text(rng)
        expected = ESTIMATE[pick(rng, SMOOTHINGS)](text, int(rng.integers(1, 5)))
        reference.write_arpa(expected, path)
        raw = path.read_bytes()
        if rng.random() < 0.5:
            raw = damaged(rng, raw)
        else:
            raw = "\n".join(spoilt_lines(rng, raw.decode().split("\n"))).encode()
        path.write_bytes(raw)
        message = ""
        try:
            model = NGramLM.from_arpa(path)
        except ValueError as error:
            message = str(error)
        if message:
            assert "line" in message, message
            assert str(path) in message, message
            return
        scores = model.scores(text)
        assert not np.isnan(scores).any()
        model.to_arpa(tmp_path / "again.arpa")
        assert same_bits(NGramLM.from_arpa(tmp_path / "again.arpa").scores(text), scores)

    fuzz(check, cases=200)


def test_damaged_and_rewritten_models(fuzz, tmp_path):
    """One kind of error, or a model that answers."""
    path = tmp_path / "model"

    def check(rng: np.random.Generator) -> None:
        text = [words for words in drawn_text(rng) if words] or [["a"]]
        model = NGramLM(order=int(rng.integers(1, 7)), smoothing=pick(rng, SMOOTHINGS)).fit(text)
        model.save(path)
        scores = model.scores(text)
        assert same_bits(load(path).scores(text), scores)
        by_header = rng.random() < 0.6
        if by_header:
            rewrite(tmp_path / "spoilt", *spoilt(rng, *read_file(path)))
        else:
            (tmp_path / "spoilt").write_bytes(damaged(rng, path.read_bytes()))
        for verify in (True, False):
            try:
                found = load(tmp_path / "spoilt", verify=verify)
            except SavedModelError:
                continue
            try:
                again = found.scores(text)
                for words in text[:20]:
                    found.score(words)
                    found.score_words(words)
            except ValueError:
                continue
            assert by_header or not verify or same_bits(again, scores)
            try:
                found.to_arpa(tmp_path / "spoilt.arpa")
            except ValueError:
                continue

    fuzz(check, cases=150)
