"""Bits do not depend on the threads of BLAS, whatever the environment has set them to."""

from __future__ import annotations

import inspect
import json

import pytest
from sklearn.base import BaseEstimator

import semproj as sj
from tests.support import all_at_once
from tests.threads.blas_bits import CASES

SCRIPT = "from tests.threads.blas_bits import print_digests; print_digests()"


@pytest.fixture(scope="module")
def digests(run_python) -> list[dict[str, str]]:
    """Of one thread of BLAS, and of two."""

    def run(n: object) -> dict[str, str]:
        return json.loads(run_python(SCRIPT, OPENBLAS_NUM_THREADS=n, MKL_NUM_THREADS=n).stdout)

    return all_at_once(run, ["1", "2"])


@pytest.mark.parametrize("case", CASES)
def test_same_bits(digests, case):
    one, two = digests
    assert one[case] == two[case]


def test_every_estimator_is_among_them():
    public = [getattr(sj, name) for name in sj.__all__]
    fitted = {each.__name__ for each in public if inspect.isclass(each) and issubclass(each, BaseEstimator)}
    assert fitted <= {case.partition(" ")[0] for case in CASES}
