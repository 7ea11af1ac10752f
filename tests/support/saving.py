"""Saved files taken apart and put together again, and models that show whether they are whole."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

import semproj as sj


def split(path: Path) -> tuple[dict, bytes]:
    """The header and the data of a safetensors file."""
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def join(path: Path, header: object, data: bytes) -> None:
    """Write a safetensors file, also one that is none; its data may begin anywhere."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def uniform_model(number: int) -> sj.LSA:
    """A model all of whose arrays hold one number, which its shapes tell too."""
    n = 2 + number % 5
    model = sj.LSA(n, center=True, random_state=0).fit(sp.identity(40 + n, format="csr", dtype=np.float64))
    for name in sj.LSA._arrays:
        setattr(model, name, np.full_like(getattr(model, name), number))
    return model


def number_of(model: sj.LSA) -> int:
    """The number of a uniform model; an error if it is not one as a whole."""
    n = model.n_components
    assert model.components_.shape == (n, model.n_features_in_) == (n, 40 + n)
    numbers = {float(x) for name in sj.LSA._arrays for x in np.unique(getattr(model, name))}
    assert len(numbers) == 1, f"arrays of several models: {numbers}"
    number = int(numbers.pop())
    assert n == 2 + number % 5, f"the description of another model than the arrays of {number}"
    return number


def temporary_files(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name.endswith(".tmp"))


def rewrite(path: Path, arrays: dict[str, np.ndarray], description: Any) -> None:
    """Write a file with right checksums, as somebody would who does it on purpose."""
    from semproj._common.persistence import write_file

    with mock.patch("os.fsync"):  # the disk need not know
        write_file(path, arrays, description)
