"""Two results side by side: the machine and noise are taken out."""

from __future__ import annotations

import json

import pytest

from benchmarks.ratios.__main__ import main
from benchmarks.ratios.compare import compare, read_result
from benchmarks.report import timings


def result(ours=1.0, peer=2.0, noise=0.01, *, size="full", name="lsa", workload="lsa_k500"):
    seconds = {"ours": ours} | ({} if peer is None else {"scipy": peer})
    row = {
        "workload": workload,
        "threads": 2,
        "ours_seconds": ours,
        "words_per_second": 1e6 / ours,
        "seconds": seconds,
        "peers": {} if peer is None else {"scipy": peer / ours},
        "noise": dict.fromkeys(seconds, noise),
    }
    return {"name": name, "machine": {"size": size}, "rows": [row]}


@pytest.fixture
def files(tmp_path):
    def write(*results):
        paths = [tmp_path / f"{i}.json" for i in range(len(results))]
        for path, each in zip(paths, results, strict=True):
            path.write_text(json.dumps(each))
        return [str(path) for path in paths]

    return write


class TestChange:
    def test_of_our_speed(self):
        (change,) = compare(result(ours=1.0), result(ours=0.8))
        assert change.speed == pytest.approx(1.25)
        assert change.verdict == "faster"
        assert change.noise == pytest.approx(0.02)

    def test_a_slower_machine_is_no_change(self):
        (change,) = compare(result(ours=1.0, peer=2.0), result(ours=1.5, peer=3.0))
        assert change.speed == pytest.approx(1.0)
        assert change.verdict == "same"

    def test_noise_explains_it(self):
        (change,) = compare(result(noise=0.1), result(ours=1.2, noise=0.1))
        assert change.verdict == "same"
        (change,) = compare(result(noise=0.01), result(ours=1.2, noise=0.01))
        assert change.verdict == "slower"

    @pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
    @pytest.mark.parametrize("seconds", [1.05, 1.3, 1.33, 1.8, 2.5])
    def test_swapped_results_have_the_opposite_verdict(self, seconds, noise):
        opposite = {"slower": "faster", "faster": "slower", "same": "same"}
        old, new = result(ours=1.0, noise=noise), result(ours=seconds, noise=noise)
        assert opposite[compare(old, new)[0].verdict] == compare(new, old)[0].verdict

    def test_of_one_round_noise_is_not_known(self):
        (change,) = compare(result(peer=None, noise=None), result(ours=1.1, peer=None, noise=None))
        assert change.noise == pytest.approx(0.02**0.5)
        assert change.peers == 0

    def test_other_suites_and_sizes(self):
        with pytest.raises(ValueError, match="one suite, got lsa and cca"):
            compare(result(), result(name="cca"))
        with pytest.raises(ValueError, match="one size, got full and quick"):
            compare(result(), result(size="quick"))
        assert compare(result(), result(workload="lsa_k50")) == []


class TestReading:
    def read(self, tmp_path, **changes):
        path = tmp_path / "result.json"
        path.write_text(json.dumps({**result(), **changes}))
        return read_result(path)

    def test_what_a_suite_writes(self, tmp_path):
        assert self.read(tmp_path) == result()

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"machine": []}, r"machine: expected a dict, got \[\]"),
            ({"rows": {}}, r"rows: expected a list, got \{\}"),
            ({"rows": [5]}, r"rows\[0\]: expected ours_seconds, "),
            (
                {"rows": [{"workload": "a", "threads": 1}]},
                r"rows\[0\]: expected ours_seconds, peers, seconds, got",
            ),
            (
                {"rows": result(ours=0.5)["rows"] + result(peer=0.0)["rows"]},
                r"rows\[1\]: scipy: expected .* got 0.0",
            ),
            (
                {"rows": [{**result()["rows"][0], "ours_seconds": "1"}]},
                "ours_seconds: expected seconds .* got '1'",
            ),
            ({"rows": [{**result()["rows"][0], "seconds": {"ours": 1}}]}, r"a time for each of \['scipy'\]"),
        ],
    )
    def test_what_none_writes(self, tmp_path, changes, message):
        with pytest.raises(ValueError, match=r"result\.json: .*" + message):
            self.read(tmp_path, **changes)


class TestCommand:
    def test_fails_below(self, files, capsys):
        slower = files(result(), result(ours=1.5))
        with pytest.raises(SystemExit, match=r"below 0\.9, beyond noise: lsa_k500 \(0\.67\)"):
            main(["--compare", *slower, "--fail-below", "0.9"])
        assert "slower" in capsys.readouterr().out
        main(["--compare", *slower, "--fail-below", "0.5"])
        main(["--compare", *files(result(noise=0.3), result(ours=1.2, noise=0.3)), "--fail-below", "0.9"])

    def test_plot(self, files, tmp_path):
        pytest.importorskip("matplotlib")
        main(["--compare", *files(result(), result(ours=1.5)), "--plot", str(tmp_path / "changes.png")])
        assert (tmp_path / "changes.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.parametrize("arguments", [[], ["lsa", "--compare", "a", "b"], ["lsa", "--fail-below", "1"]])
    def test_wrong_arguments(self, arguments, capsys):
        with pytest.raises(SystemExit):
            main(arguments)
        assert "--compare" in capsys.readouterr().err

    def test_foreign_files(self, files):
        with pytest.raises(SystemExit, match=r"0\.json: expected JSON of benchmarks\.ratios"):
            main(["--compare", *files({"rows": []}, result())])


def test_quick_results_are_not_quoted(files):
    (path,) = files(result(size="quick"))
    with pytest.raises(ValueError, match="quick sizes, which are not to be quoted"):
        timings.timings_table([timings.Path(path)])
