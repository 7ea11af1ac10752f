"""Checkpoints of topic models: resumed to the same bits, never continued with other data or parameters."""

from __future__ import annotations

import numpy as np
import pytest

from semproj import CPLSA, JPLSA, PLSA
from tests.support.interrupting import interrupted
from tests.support.projecting import with_indices
from tests.support.topics import assert_same_fit, data_of, make, of_vocabulary, paired

CLASSES = [PLSA, JPLSA, CPLSA]


def sweeps_of(model, X):
    """The sweeps that a fit makes."""
    seen = []
    model.set_params(callback=lambda progress: seen.append(progress.sweep)).fit(X)
    model.set_params(callback=None)
    return seen


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state"


@pytest.mark.parametrize("cls", CLASSES)
class TestResumed:
    def test_threads_progress_and_fold_in_may_differ(self, cls, path):
        X = data_of(cls)
        interrupted(make(cls, checkpoint=path, n_threads=1), X, 4)
        resumed = make(cls, checkpoint=path, n_threads=2, progress=True, fold_in_iter=1)
        assert len(sweeps_of(resumed, X)) == 3
        assert_same_fit(resumed, make(cls).fit(X))

    def test_wide_indices_are_the_same_data(self, cls, path):
        X = data_of(cls)
        interrupted(make(cls, checkpoint=path), X, 4)
        wide = [with_indices(x, np.int64) for x in X] if isinstance(X, list) else with_indices(X, np.int64)
        assert_same_fit(make(cls, checkpoint=path).fit(wide), make(cls).fit(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warm_dual_variables_are_in_the_checkpoint(path):
    """A projection that is cut short depends on where it starts."""
    X = data_of(CPLSA)
    options = {"coupling": 50, "projection_tol": 1e-9, "max_projection_iter": 3}
    interrupted(make(CPLSA, checkpoint=path, **options), X, 4)
    resumed, whole = make(CPLSA, checkpoint=path, **options).fit(X), make(CPLSA, **options).fit(X)
    assert_same_fit(resumed, whole)
    assert resumed.gaps_.tobytes() == whole.gaps_.tobytes()
    assert len(resumed.projection_) == 7


class TestRefused:
    def check(self, model, X, path):
        """Neither continued nor overwritten."""
        before = path.read_bytes()
        with pytest.raises(ValueError, match="checkpoint"):
            model.fit(X)
        assert path.read_bytes() == before

    @pytest.mark.parametrize(
        "options",
        [
            {"n_components": 5},
            {"alpha": 1.2},
            {"beta": 1.02},
            {"init": "random", "random_state": 0},
            {"vocabulary": "separate"},
            {"coupling": 7.0},
            {"norm": "l2"},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("cls", CLASSES)
    def test_other_parameters(self, cls, options, path):
        if not options.keys() <= cls().get_params().keys():
            assert cls is not CPLSA
            return
        X = data_of(cls)
        interrupted(make(cls, checkpoint=path), X, 4)
        self.check(make(cls, checkpoint=path, **options), X, path)

    def test_a_seed_that_is_not_used(self, path):
        """Words dealt by frequency need no random numbers."""
        X = data_of(PLSA)
        interrupted(make(random_state=1, checkpoint=path), X, 4)
        assert_same_fit(make(random_state=2, checkpoint=path).fit(X), make().fit(X))

    def test_another_seed(self, path):
        X = data_of(PLSA)
        interrupted(make(init="random", random_state=1, checkpoint=path), X, 4)
        self.check(make(init="random", random_state=2, checkpoint=path), X, path)

    def test_another_generator(self, path):
        X = data_of(PLSA)
        interrupted(make(init="random", random_state=np.random.default_rng(1), checkpoint=path), X, 4)
        self.check(make(init="random", random_state=np.random.default_rng(2), checkpoint=path), X, path)
        resumed = make(init="random", random_state=np.random.default_rng(1), checkpoint=path).fit(X)
        assert_same_fit(resumed, make(init="random", random_state=np.random.default_rng(1)).fit(X))

    @pytest.mark.parametrize("change", ["value", "rows", "columns", "order of languages"])
    @pytest.mark.parametrize("cls", CLASSES)
    def test_other_data(self, cls, change, path):
        X = data_of(cls)
        interrupted(make(cls, checkpoint=path), X, 4)
        views = [x.copy() for x in (X if isinstance(X, list) else [X])]
        if change == "value":
            views[-1].data[7] += 1
        elif change == "rows":
            views = [x[:-1] for x in views]
        elif change == "columns":
            views = [x[:, :-1] for x in views]
        elif cls is not CPLSA:
            return  # of JPLSA, both orders are the same documents
        else:
            views = views[::-1]
        self.check(make(cls, checkpoint=path), views if isinstance(X, list) else views[0], path)

    def test_the_file_of_another_class(self, path):
        X = of_vocabulary(paired(), "shared")
        interrupted(make(JPLSA, checkpoint=path), X, 4)
        self.check(make(CPLSA, checkpoint=path), X, path)
