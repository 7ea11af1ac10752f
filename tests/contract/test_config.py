"""What the installation says about itself, and the argument checks that everything shares."""

from __future__ import annotations

import json
import os
import re
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import semproj as sj
from semproj import _core
from semproj._common import resources
from semproj._common.validation import check_choice, check_integer, check_real, seed_key


def test_show_config(capsys):
    config = sj.show_config()
    printed = capsys.readouterr().out
    for key, value in config.items():
        assert re.search(rf"^{re.escape(key)} ", printed, re.M), key
        assert isinstance(value, list) or str(value) in printed
    assert config["semproj"] == sj.__version__ == metadata.version("semproj")
    assert config["active_isa"] in config["supported_isas"]
    assert config["supported_isas"][0] == "baseline"
    assert config["threads"] >= 1
    assert config["numpy"] == np.__version__
    assert sj.show_config(quiet=True) == config
    assert capsys.readouterr().out == ""
    json.dumps(config)


def test_best_instruction_set_by_default(run_python):
    script = "import semproj; print(semproj.show_config(quiet=True)['active_isa'])"
    assert run_python(script, SEMPROJ_ISA="").stdout.strip() == _core.supported_isas()[-1]
    assert run_python(script, SEMPROJ_ISA="baseline").stdout.strip() == "baseline"


def test_public_names():
    for name in sj.__all__:
        assert hasattr(sj, name), name
    assert (Path(sj.__file__).parent / "py.typed").exists()


class TestThreads:
    @pytest.fixture(autouse=True)
    def clean(self, monkeypatch):
        for name in ("SEMPROJ_NUM_THREADS", "OMP_NUM_THREADS"):
            monkeypatch.delenv(name, raising=False)

    def test_environment(self, monkeypatch):
        monkeypatch.setenv("OMP_NUM_THREADS", "3")
        assert resources.available_threads() == 3
        monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
        assert resources.available_threads() == 4
        monkeypatch.setenv("SEMPROJ_NUM_THREADS", "7")
        assert resources.available_threads() == 7
        monkeypatch.setenv("SEMPROJ_NUM_THREADS", "")
        assert resources.available_threads() == 4
        assert sj.show_config(quiet=True)["threads"] == 4

    @pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", "²", "1e3"])
    @pytest.mark.parametrize("name", ["SEMPROJ_NUM_THREADS", "OMP_NUM_THREADS"])
    def test_bad_environment(self, monkeypatch, name, value):
        monkeypatch.setenv(name, value)
        with pytest.raises(ValueError, match=f"{name}: expected a positive integer"):
            sj.kernels.project(np.eye(2), np.eye(2))

    @pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs sched_setaffinity")
    def test_affinity(self, run_python):
        done = run_python("""
            import os, semproj
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            print(semproj.show_config(quiet=True)["threads"])
        """)
        assert done.stdout.strip() == "1"

    @pytest.mark.parametrize(("quota", "expected"), [(0.5, 1), (1.0, 1), (1.5, 2), (float("inf"), 8)])
    def test_quota_of_the_control_group(self, monkeypatch, quota, expected):
        monkeypatch.setattr(resources, "_cgroup_cpus", lambda: quota)
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
        assert resources.available_threads() == expected

    def test_argument_comes_first(self, monkeypatch):
        monkeypatch.setenv("SEMPROJ_NUM_THREADS", "7")
        assert resources.resolve_threads(2) == 2
        assert resources.resolve_threads(np.int64(2)) == 2
        assert resources.resolve_threads(None) == 7


class TestChecks:
    def test_integer(self):
        assert check_integer(np.int32(3), "k", low=1) == 3
        for value, error in (
            (0, ValueError),
            (9, ValueError),
            (2.0, TypeError),
            (True, TypeError),
            ("2", TypeError),
        ):
            with pytest.raises(error, match=r"^k: expected"):
                check_integer(value, "k", low=1, high=8)

    def test_real(self):
        assert check_real(1, "t", low=0) == 1.0
        for value, error in (
            (-1, ValueError),
            (np.nan, ValueError),
            (np.inf, ValueError),
            ("1", TypeError),
            (None, TypeError),
        ):
            with pytest.raises(error, match=r"^t: expected"):
                check_real(value, "t", low=0)

    def test_choice(self):
        assert check_choice("a", "s", ("a", "b")) == "a"
        for value in ("c", None, 1):
            with pytest.raises(ValueError, match=r"^s: expected one of 'a', 'b'"):
                check_choice(value, "s", ("a", "b"))

    def test_seed(self):
        assert seed_key(5) == 5
        assert seed_key(np.uint64(2**64 - 1)) == 2**64 - 1
        assert seed_key(None) != seed_key(None)
