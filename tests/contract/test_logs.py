"""What the library tells of its work, to those who ask."""

from __future__ import annotations

import logging

import numpy as np

import semproj as sj


def test_numba_is_quiet_where_all_loggers_are_not(run_python):
    done = run_python(
        """
        import logging
        logging.basicConfig(level=logging.DEBUG)
        import semproj as sj
        W = sj.CustomWeighting(lambda count, df, n, length: 2 * count).fit_transform([[1, 2], [0, 1]])
        assert W.toarray().tolist() == [[2, 4], [0, 2]]
        """
    )
    assert "numba" not in done.stderr
    assert len(done.stderr) < 2000


def test_numba_is_as_loud_as_it_was_asked_to_be(run_python):
    run_python(
        """
        import logging
        logging.getLogger("numba").setLevel(logging.INFO)
        import semproj.jit.weighting
        assert logging.getLogger("numba").level == logging.INFO
        """
    )


def test_sweeps_are_told_at_debug(caplog):
    with caplog.at_level(logging.DEBUG, logger="semproj"):
        model = sj.WTMF(2, max_iter=3, random_state=0).fit(np.eye(5))
    told = [record.getMessage() for record in caplog.records if record.name == "semproj"]
    assert told == [f"WTMF: sweep {i + 1}, objective {value:.8g}" for i, value in enumerate(model.objective_)]
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="semproj"):
        sj.WTMF(2, max_iter=3, random_state=0).fit(np.eye(5))
    assert not caplog.records
