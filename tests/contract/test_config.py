"""What the installation says about itself, and the argument checks that everything shares."""

from __future__ import annotations

import builtins
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
from semproj._common.validation import (
    check_choice,
    check_coupling,
    check_integer,
    check_positive,
    check_real,
    seed_key,
)


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
    assert config["memory"] == resources.available_memory() > 0
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
        for name in ("SEMPROJ_NUM_THREADS", "OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
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

    @pytest.fixture
    def control_group(self, monkeypatch, tmp_path):
        """A folder that stands for /sys/fs/cgroup, on a machine of 8 CPUs."""
        system, exists, opened = "/sys/fs/cgroup/", os.path.exists, builtins.open

        def moved(path):
            text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
            known = isinstance(text, str) and text.startswith(system)
            return tmp_path / text.removeprefix(system) if known else path

        monkeypatch.setattr(os, "cpu_count", lambda: 8)
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
        monkeypatch.setattr(os.path, "exists", lambda path: exists(moved(path)))
        monkeypatch.setattr(builtins, "open", lambda file, *args, **options: opened(moved(file), *args, **options))
        return tmp_path

    @pytest.mark.parametrize(("quota", "expected"), [(50_000, 1), (100_000, 1), (150_000, 2), ("max", 8)])
    def test_quota_of_the_control_group(self, control_group, quota, expected):
        (control_group / "cpu.max").write_text(f"{quota} 100000\n")
        assert resources.available_threads() == expected

    @pytest.mark.parametrize(("quota", "expected"), [(50_000, 1), (100_000, 1), (150_000, 2), (-1, 8)])
    def test_quota_of_version_1(self, control_group, quota, expected):
        (control_group / "cpu").mkdir()
        (control_group / "cpu/cpu.cfs_quota_us").write_text(f"{quota}\n")
        (control_group / "cpu/cpu.cfs_period_us").write_text("100000\n")
        assert resources.available_threads() == expected

    def test_the_smaller_of_affinity_and_quota(self, control_group, monkeypatch):
        (control_group / "cpu.max").write_text("400000 100000\n")
        assert resources.available_threads() == 4
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5, 7}, raising=False)
        assert resources.available_threads() == 3

    def test_more_than_the_machine_can_use(self, monkeypatch):
        monkeypatch.setattr(os, "cpu_count", lambda: 20)
        assert resources.resolve_threads(160) == 160
        with pytest.warns(RuntimeWarning, match="^n_threads: 161 threads are more than .* 160 are used"):
            assert resources.resolve_threads(161) == 160
        monkeypatch.setattr(os, "cpu_count", lambda: 2)
        assert resources.resolve_threads(64) == 64
        monkeypatch.setenv("OMP_NUM_THREADS", "2147483647")
        with pytest.warns(RuntimeWarning, match="^OMP_NUM_THREADS: 2147483647 threads"):
            np.testing.assert_array_equal(sj.kernels.project(np.eye(2), np.eye(2)), np.eye(2))

    @pytest.mark.parametrize("zeros", [10, 20, 5000])
    def test_more_than_can_be_counted(self, monkeypatch, zeros):
        with pytest.raises(ValueError, match=r"^n_threads: expected a positive integer below 2\*\*31, -1 or None"):
            sj.kernels.project(np.eye(2), np.eye(2), n_threads=10**zeros)
        monkeypatch.setenv("SEMPROJ_NUM_THREADS", "1" + zeros * "0")
        with pytest.raises(ValueError, match=r"^SEMPROJ_NUM_THREADS: expected a positive integer below 2\*\*31"):
            sj.kernels.project(np.eye(2), np.eye(2))

    def test_argument_comes_first(self, monkeypatch):
        monkeypatch.setenv("SEMPROJ_NUM_THREADS", "7")
        assert resources.resolve_threads(2) == 2
        assert resources.resolve_threads(np.int64(2)) == 2
        assert resources.resolve_threads(None) == 7

    def test_minus_one_is_all_of_them(self, monkeypatch):
        monkeypatch.setenv("SEMPROJ_NUM_THREADS", "3")
        assert resources.resolve_threads(-1) == resources.resolve_threads(np.int64(-1)) == 3
        X = np.eye(20, 8)
        np.testing.assert_array_equal(sj.kernels.project(X, np.eye(8), n_threads=-1), X)
        model = sj.WTMF(2, random_state=0, n_threads=-1).fit(X)
        np.testing.assert_array_equal(model.transform(X), sj.WTMF(2, random_state=0).fit(X).transform(X))
        with pytest.raises(ValueError, match=r"^n_threads: expected a positive integer, -1 or None, got -2"):
            resources.resolve_threads(-2)


class TestMemory:
    MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    @pytest.fixture
    def available(self, monkeypatch, tmp_path):
        """Memory for what /proc/self/cgroup and files of limits say."""

        def available(own, limits):
            monkeypatch.setattr(resources, "_CGROUPS", tmp_path)
            monkeypatch.setattr(resources, "_OWN_CGROUPS", tmp_path / "own")
            (tmp_path / "own").write_text(own)
            for name, limit in limits.items():
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name).write_text(f"{limit}\n")
            assert resources.half_of_memory() == resources.available_memory() // 2
            return resources.available_memory()

        return available

    @pytest.mark.parametrize(
        ("limit", "expected"), [(1 << 20, 1 << 20), ("max", MACHINE), (1 << 62, MACHINE), ("", MACHINE)]
    )
    def test_version_2(self, available, limit, expected):
        assert available("0::/job\n", {"job/memory.max": limit}) == expected

    @pytest.mark.parametrize(("limit", "expected"), [(1 << 20, 1 << 20), ((1 << 63) - 4096, MACHINE)])
    @pytest.mark.parametrize("controllers", ["memory", "cpu,memory"])
    def test_version_1(self, available, controllers, limit, expected):
        own = f"5:cpuset:/other\n4:{controllers}:/job\n0::/\n"
        assert available(own, {"memory/job/memory.limit_in_bytes": limit}) == expected

    @pytest.mark.parametrize(
        "limits", [("max", 3000, 9000), (3000, 9000, "max"), (9000, "max", 3000), (9000, 3000, 3001)]
    )
    def test_the_smallest_limit_on_the_way_to_the_root(self, available, limits):
        files = dict(zip(("memory.max", "user/memory.max", "user/a job/memory.max"), limits, strict=True))
        beside = {"user/other/memory.max": 10, "user/a job/inner/memory.max": 10}
        assert available("0::/user/a job\n", {**files, **beside}) == 3000

    def test_a_path_of_the_host(self, available):
        """In a container without a namespace of groups, the root is its own group."""
        assert available("4:memory:/docker/1f\n", {"memory/memory.limit_in_bytes": 3000}) == 3000

    def test_no_control_groups(self, available, monkeypatch, tmp_path):
        assert available("", {}) == self.MACHINE
        monkeypatch.setattr(resources, "_OWN_CGROUPS", tmp_path / "nowhere")
        assert resources.available_memory() == self.MACHINE

    @pytest.mark.parametrize("model", [sj.OPCA(2), sj.CCA(2)])
    def test_bounds_solvers(self, available, model):
        views = [np.random.default_rng(i).random((20, 10)) for i in range(2)]
        available("0::/\n", {"memory.max": 2000})
        with pytest.raises(ValueError, match=r"^max_memory: 1000 bytes are too few"):
            model.fit(views)


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
            (10**400, ValueError),
            (10**5000, ValueError),  # Python does not print it
            ("1", TypeError),
            (None, TypeError),
        ):
            with pytest.raises(error, match=r"^t: expected"):
                check_real(value, "t", low=0)
            with pytest.raises(error, match=r"^t: expected"):
                check_positive(value, "t")

    def test_coupling(self):
        assert check_coupling(np.inf) == np.inf
        for value in (10**400, -1, np.nan):
            with pytest.raises(ValueError, match=r"^coupling: expected a finite number, at least 0"):
                check_coupling(value)

    def test_choice(self):
        assert check_choice("a", "s", ("a", "b")) == "a"
        for value in ("c", None, 1):
            with pytest.raises(ValueError, match=r"^s: expected one of 'a', 'b'"):
                check_choice(value, "s", ("a", "b"))

    def test_seed(self):
        assert seed_key(5) == 5
        assert seed_key(np.uint64(2**64 - 1)) == 2**64 - 1
        assert seed_key(None) != seed_key(None)
