"""Saved models and checkpoints, damaged or rewritten on purpose: one kind of error, or a model that works."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import semproj as sj
from semproj import SavedModelError, load
from semproj._common.persistence import read_file
from tests.contract.cases import ITERATIVE
from tests.saved.fixtures import FOLDER, MODELS, vectors
from tests.support import same_bits
from tests.support.fitted import assert_same_fit
from tests.support.interrupting import interrupted
from tests.support.saving import rewrite

FILES = FOLDER / "v0.1.0"
NUMBERS = (0, 1, -1, 2, 3, 255, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**400)
VALUES = (
    *NUMBERS, 0.0, -0.0, 0.5, 1e308, -1e-308, float("nan"), float("inf"), float("-inf"),
    None, True, False, "", "x", "\ud800", "LSA", "float32", "separate", "0", [], {}, [0], [[]], {"": 0}, [1, 2, 3],
)  # fmt: skip
DTYPES = (np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8)


def pick(rng: np.random.Generator, things: Any) -> Any:
    return things[int(rng.integers(len(things)))]


def damaged(rng: np.random.Generator, raw: bytes) -> bytes:
    """A few bytes that are other ones, gone, new, or elsewhere."""
    found = bytearray(raw)
    for _ in range(int(rng.integers(1, 4))):
        place, n = int(rng.integers(len(found) + 1)), int(rng.integers(1, 1 << int(rng.integers(1, 10))))
        match int(rng.integers(6)):
            case 0 if place < len(found):
                found[place] ^= 1 << int(rng.integers(8))
            case 1:
                del found[place:]
            case 2:
                found[place:place] = rng.bytes(n)
            case 3:
                del found[place : place + n]
            case 4:
                found[place : place + n] = rng.bytes(len(found[place : place + n]))
            case 5:
                found[place:place] = found[place // 2 : place // 2 + n]
    return bytes(found)


def spoilt_value(rng: np.random.Generator, value: Any) -> Any:
    """Another value at some place inside of one that JSON can hold."""
    if rng.random() < 0.3:
        return pick(rng, VALUES)
    if isinstance(value, dict) and value:
        key = pick(rng, sorted(value))
        match int(rng.integers(8)):
            case 0:
                return {k: v for k, v in value.items() if k != key}
            case 1:
                return {**value, pick(rng, ("x", "__class__", "transform", "fit", "n_threads", "a/b")): value[key]}
            case 2:
                return {**value, key: value[pick(rng, sorted(value))]}
        return {**value, key: spoilt_value(rng, value[key])}
    if isinstance(value, list) and value:
        place = int(rng.integers(len(value)))
        match int(rng.integers(6)):
            case 0:
                return value[:place]
            case 1:
                return [*value, value[place]]
        return [*value[:place], spoilt_value(rng, value[place]), *value[place + 1 :]]
    return pick(rng, VALUES)


def spoilt_array(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """An array of another dtype, shape or content."""
    match int(rng.integers(7)):
        case 0:
            with np.errstate(all="ignore"):
                return array.astype(pick(rng, DTYPES))
        case 1:
            return np.resize(array, [max(0, n + int(rng.integers(-1, 2))) for n in array.shape])
        case 2:
            return array[None] if rng.random() < 0.5 else array.reshape(-1)
        case 3:
            return array[:0]
        case 4:
            return np.ascontiguousarray(array.T)
    other = array.copy()
    if other.size:
        places = rng.integers(other.size, size=int(rng.integers(1, 4)))
        numbers = [n for n in NUMBERS if np.iinfo(np.int64).min <= n <= np.iinfo(np.int64).max]
        with np.errstate(all="ignore"):
            other.reshape(-1)[places] = np.array([pick(rng, numbers) for _ in places]).astype(other.dtype)
        if other.dtype.kind == "f" and rng.random() < 0.5:
            other.reshape(-1)[places] = pick(rng, (np.nan, np.inf, -np.inf, 1e30))
    return other


def spoilt(rng: np.random.Generator, arrays: dict[str, Any], description: Any) -> tuple[dict[str, Any], Any]:
    for _ in range(int(rng.integers(1, 3))):
        name = pick(rng, sorted(arrays))
        match int(rng.integers(8)):
            case 0:
                arrays = {k: v for k, v in arrays.items() if k != name} or arrays
            case 1:
                arrays = {**arrays, pick(rng, ("x", "a/b", "transform", f"{name}_", "mean_")): arrays[name]}
            case 2:
                other = pick(rng, sorted(arrays))
                arrays = {**arrays, name: arrays[other], other: arrays[name]}
            case 3 | 4:
                arrays = {**arrays, name: spoilt_array(rng, arrays[name])}
            case _:
                description = spoilt_value(rng, description)
    return arrays, description


@functools.cache
def saved(name: str) -> tuple[bytes, np.ndarray]:
    path = FILES / f"{name}.safetensors"
    return path.read_bytes(), vectors(load(path))


def quietly(work: Callable[[], Any]) -> Any:
    """What a model says about numbers that somebody made up is no warning of ours."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        return work()


def test_damaged_models(fuzz, tmp_path):
    """Checksums find it out, or it is the same model."""
    path = tmp_path / "model"

    def check(rng: np.random.Generator) -> None:
        name = pick(rng, sorted(MODELS))
        raw, expected = saved(name)
        path.write_bytes(damaged(rng, raw))
        try:
            model = load(path)
        except SavedModelError:
            pass
        else:
            assert same_bits(vectors(model), expected), name
        try:  # and without the checksums of arrays: what is there, works
            model = load(path, verify=False)
        except SavedModelError:
            return
        works(model)

    fuzz(check, cases=250)


def works(model: Any) -> None:
    """It answers, or says what it cannot do with these words and columns."""
    if getattr(model, "fold_in_iter", 0) > 100:
        return  # it does as many iterations as somebody asked for
    expected = (ValueError, KeyError) if isinstance(model, sj.Thesaurus) else ValueError
    with suppress(expected):
        quietly(lambda: vectors(model))


def test_rewritten_models(fuzz, tmp_path):
    """Another header or other arrays, with right checksums."""
    path = tmp_path / "model"

    def check(rng: np.random.Generator) -> None:
        name = pick(rng, sorted(MODELS))
        arrays, description = spoilt(rng, *read_file(FILES / f"{name}.safetensors"))
        rewrite(path, arrays, description)
        try:
            model = load(path, verify=bool(rng.integers(2)))
        except SavedModelError:
            return
        works(model)

    fuzz(check, cases=400)


@functools.cache
def checkpoint(number: int, folder: Path) -> tuple[bytes, Any]:
    case = ITERATIVE[number]
    path = folder / f"state{number}"
    interrupted(case.make(checkpoint=path), case.data(0), 3)
    return path.read_bytes(), case.fit()


def went_on(number: int, path: Path) -> tuple[Any, ValueError | None]:
    """The fit that goes on from a file, or what it says about it."""
    try:
        return quietly(lambda: ITERATIVE[number].fit(checkpoint=path)), None
    except ValueError as error:
        return None, error


def test_damaged_checkpoints(fuzz, tmp_path):
    """A fit goes on from what was saved, or says what is wrong with the file, and leaves it."""
    path = tmp_path / "state"

    def check(rng: np.random.Generator) -> None:
        number = int(rng.integers(len(ITERATIVE)))
        raw, expected = checkpoint(number, tmp_path)
        path.write_bytes(damaged(rng, raw))
        before = path.read_bytes()
        model, error = went_on(number, path)
        if error is None:
            assert_same_fit(model, expected)
        else:
            assert str(error).startswith("checkpoint: ")
            assert path.read_bytes() == before

    fuzz(check, cases=60)


# Numbers that no fit has may be a state whose projections cannot be done.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rewritten_checkpoints(fuzz, tmp_path):
    path = tmp_path / "state"

    def check(rng: np.random.Generator) -> None:
        number = int(rng.integers(len(ITERATIVE)))
        path.write_bytes(checkpoint(number, tmp_path)[0])
        arrays, description = read_file(path)
        arrays = {name: array.copy() for name, array in arrays.items()}
        if rng.random() < 0.5:
            description["state"] = spoilt_value(rng, description["state"])
        else:
            arrays, description = spoilt(rng, arrays, description)
        rewrite(path, arrays, json.loads(json.dumps(description)))
        model, error = went_on(number, path)
        if error is None:
            assert len(model.objective_) == model.n_iter_
        elif not isinstance(error, np.linalg.LinAlgError):  # of numbers that no fit has
            assert str(error).startswith(("checkpoint: ", "X: ", "slices: ", "tensor: ")), error

    fuzz(check, cases=60)
