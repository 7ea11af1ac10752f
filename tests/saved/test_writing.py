"""How files are written: in one step, with the right mode, through links, and without a trace if it fails."""

from __future__ import annotations

import fcntl
import os
import resource
import stat

import numpy as np
import pytest

import semproj as sj
from semproj import load
from semproj._common.checkpoint import Checkpoint
from tests.support import random_counts, same_bits
from tests.support.saving import temporary_files

X = random_counts(60, 40, 0.2, dtype=np.float64)


def fitted(n_components=2):
    return sj.LSA(n_components, random_state=0).fit(X)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    fitted(3).save(path)
    return path


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


class TestInOneStep:
    def test_replaced(self, saved):
        before = os.stat(saved).st_ino
        fitted().save(saved)
        assert load(saved).n_components == 2
        assert os.stat(saved).st_ino != before
        assert [p.name for p in saved.parent.iterdir()] == [saved.name]

    @pytest.mark.parametrize("where", ["write_tensors", "fsync", "replace"])
    @pytest.mark.parametrize("error", [OSError("no space"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
    def test_failing_save_leaves_the_old_file(self, saved, monkeypatch, where, error):
        before = saved.read_bytes()

        def fail(*args, **kwargs):
            raise error

        if where == "write_tensors":
            monkeypatch.setattr("semproj._common.persistence.write_tensors", fail)
        else:
            monkeypatch.setattr(os, where, fail)
        with pytest.raises(type(error)):
            fitted().save(saved)
        monkeypatch.undo()
        assert saved.read_bytes() == before
        assert [p.name for p in saved.parent.iterdir()] == [saved.name]

    def test_full_disk(self, saved):
        """A write that fails half-way is an error about the file that was asked for, which stays as it was."""
        before, model = saved.read_bytes(), fitted(20)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            with pytest.raises(OSError, match="too large") as caught:
                model.save(saved)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert caught.value.filename == str(saved)
        assert saved.read_bytes() == before
        assert [p.name for p in saved.parent.iterdir()] == [saved.name]

    def test_unsavable_parameter_leaves_the_old_file(self, saved):
        before = saved.read_bytes()
        model = fitted()
        model.tol = object()
        with pytest.raises(TypeError, match="tol"):
            model.save(saved)
        assert saved.read_bytes() == before

    def test_longest_name(self, tmp_path):
        path = tmp_path / ("m" * 255)
        fitted().save(path)
        assert load(path).n_components == 2


class TestWhere:
    """Errors name the path that was given, never a temporary file."""

    @pytest.mark.parametrize("relative", [False, True])
    def test_folder_that_does_not_exist(self, tmp_path, monkeypatch, relative):
        monkeypatch.chdir(tmp_path)
        path = "no/model" if relative else str(tmp_path / "no" / "model")
        with pytest.raises(FileNotFoundError, match="its folder does not exist") as caught:
            fitted().save(path)
        assert caught.value.filename == path

    def test_onto_a_folder(self, tmp_path):
        (tmp_path / "folder").mkdir()
        with pytest.raises(IsADirectoryError, match="this is a folder") as caught:
            fitted().save(tmp_path / "folder")
        assert caught.value.filename == str(tmp_path / "folder")
        assert [p.name for p in tmp_path.iterdir()] == ["folder"]

    def test_under_a_file(self, saved):
        with pytest.raises(NotADirectoryError) as caught:
            fitted().save(saved / "model")
        assert caught.value.filename == str(saved / "model")

    def test_onto_what_is_not_a_file(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="expected a regular file"):
            fitted().save(tmp_path / "pipe")
        assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)

    def test_folder_that_cannot_be_written_to(self, tmp_path, monkeypatch):
        def refuse(path, *args, **kwargs):
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr(os, "open", refuse)  # modes do not hold for the superuser
        with pytest.raises(PermissionError) as caught:
            fitted().save(tmp_path / "model")
        assert caught.value.filename == str(tmp_path / "model")


class TestLinks:
    """A link stays a link: what it points to is written, in its own folder."""

    @pytest.fixture(params=["there", "dangling"])
    def link(self, request, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        target = tmp_path / "elsewhere" / "model"
        if request.param == "there":
            fitted(3).save(target)
        (tmp_path / "second").symlink_to("elsewhere/model")
        (tmp_path / "link").symlink_to("second")
        return tmp_path / "link"

    def test_target_is_written(self, link, tmp_path):
        fitted().save(link)
        assert link.is_symlink()
        assert (tmp_path / "second").is_symlink()
        assert not (tmp_path / "elsewhere" / "model").is_symlink()
        assert load(tmp_path / "elsewhere" / "model").n_components == 2
        assert sorted(p.name for p in tmp_path.rglob("*")) == ["elsewhere", "link", "model", "second"]

    def test_checkpoints_too(self, link):
        link.resolve().unlink(missing_ok=True)  # a model is no checkpoint
        model = sj.WTMF(3, max_iter=4, random_state=0)
        model.set_params(checkpoint=link).fit(X)
        assert link.is_symlink()
        seen = []
        model.set_params(max_iter=6, callback=lambda progress: seen.append(progress.sweep)).fit(X)
        assert seen == [5, 6]

    def test_in_a_circle(self, tmp_path):
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to("a")
        with pytest.raises(OSError, match="symbolic links") as caught:
            fitted().save(tmp_path / "a")
        assert caught.value.filename == str(tmp_path / "a")
        assert (tmp_path / "a").is_symlink()


class TestModes:
    @pytest.mark.parametrize(("mask", "mode"), [(0o027, 0o640), (0o077, 0o600), (0o002, 0o664)])
    def test_new_files_have_the_usual_one(self, tmp_path, mask, mode):
        old = os.umask(mask)
        try:
            fitted().save(tmp_path / "m")
        finally:
            os.umask(old)
        assert mode_of(tmp_path / "m") == mode

    @pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
    def test_replaced_files_keep_theirs(self, saved, mode):
        os.chmod(saved, mode)
        fitted().save(saved)
        assert load(saved).n_components == 2
        assert mode_of(saved) == mode

    def test_mask_of_the_process_is_not_touched(self, tmp_path, monkeypatch):
        """It belongs to all threads: files that others make meanwhile would be open to everybody."""
        monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("umask is called"))
        fitted().save(tmp_path / "m")

    def test_content_is_never_open_to_more_than_the_replaced_file(self, saved, monkeypatch):
        os.chmod(saved, 0o600)
        modes, fsync = [], os.fsync

        def look(handle):
            modes.append(stat.S_IMODE(os.fstat(handle).st_mode))
            fsync(handle)

        monkeypatch.setattr(os, "fsync", look)
        fitted().save(saved)
        assert modes[0] == 0o600

    def test_name_lasts(self, saved, monkeypatch):
        """The folder is written to the disk after the rename."""
        synced, fsync = [], os.fsync

        def note(handle):
            synced.append(os.fstat(handle).st_ino)
            fsync(handle)

        monkeypatch.setattr(os, "fsync", note)
        fitted().save(saved)
        assert synced == [os.stat(saved).st_ino, os.stat(saved.parent).st_ino]


class TestKilled:
    """Temporary files that nobody has locked are of writers that were killed."""

    @pytest.fixture
    def stale(self, saved):
        path = saved.parent / ".semproj-0123456789abcdef.tmp"
        path.write_bytes(b"half")
        return path

    def test_litter_is_removed_by_the_next_save_in_the_folder(self, saved, stale):
        stale.with_name(".semproj-00000000000000ff.tmp").touch()
        fitted().save(saved.parent / "another")
        assert sorted(p.name for p in saved.parent.iterdir()) == ["another", saved.name]

    def test_what_is_being_written_stays(self, saved, monkeypatch):
        """By another thread, or another process: a save in the middle of another one leaves it alone."""
        replace, seen = os.replace, []

        def save_another(*args):
            monkeypatch.setattr(os, "replace", replace)
            before = temporary_files(saved.parent)
            fitted(4).save(saved.parent / "another")
            seen.append((before, temporary_files(saved.parent)))
            replace(*args)

        monkeypatch.setattr(os, "replace", save_another)
        fitted(5).save(saved)
        assert len(seen[0][0]) == 1
        assert seen[0][0] == seen[0][1]
        assert (load(saved).n_components, load(saved.parent / "another").n_components) == (5, 4)
        assert temporary_files(saved.parent) == []

    def test_what_is_locked_stays(self, saved, stale):
        with open(stale, "rb+") as writer:
            fcntl.flock(writer, fcntl.LOCK_EX)
            fitted().save(saved)
            assert stale.read_bytes() == b"half"
        fitted().save(saved)
        assert not stale.exists()

    def test_files_of_others_stay(self, saved):
        names = [".model.safetensors.abcd1234.tmp", "notes.tmp", ".semproj-short.tmp", ".semproj-0123456789abcdef"]
        for name in names:
            (saved.parent / name).write_text("mine")
        (saved.parent / ".semproj-00000000000000ff.tmp").symlink_to(saved)
        fitted().save(saved)
        for name in names:
            assert (saved.parent / name).read_text() == "mine"
        assert load(saved).n_components == 2

    def test_taken_for_stale_before_it_is_locked(self, saved, monkeypatch):
        """Whoever makes a temporary file finds out, and makes another."""
        flock, taken = fcntl.flock, []

        def slow(handle, how):
            if not taken:
                taken.append(temporary_files(saved.parent)[0])
                os.unlink(saved.parent / taken[0])
            flock(handle, how)

        monkeypatch.setattr(fcntl, "flock", slow)
        fitted().save(saved)
        assert len(taken) == 1
        assert load(saved).n_components == 2
        assert temporary_files(saved.parent) == []

    def test_file_system_without_locks(self, saved, stale, monkeypatch):
        def refuse(handle, how):
            raise OSError(37, "No locks available")

        monkeypatch.setattr(fcntl, "flock", refuse)
        fitted().save(saved)
        assert load(saved).n_components == 2
        assert stale.exists(), "nobody knows whether it is being written"


class TestFormat:
    def test_arrays_are_aligned(self, tmp_path):
        """Whatever the length of the header."""
        for n in range(9):
            model = sj.LogTfIdf().fit(X)
            model.n_documents_ = 10**n
            model.save(tmp_path / "m")
            assert int.from_bytes((tmp_path / "m").read_bytes()[:8], "little") % 8 == 0
            loaded = load(tmp_path / "m")
            assert loaded.term_weight_.flags.aligned
            assert same_bits(loaded.term_weight_, model.term_weight_)

    def test_big_endian_arrays(self, tmp_path):
        model = sj.LogTfIdf().fit(X)
        expected = model.term_weight_
        model.term_weight_ = expected.astype(">f8")
        model.save(tmp_path / "m")
        assert same_bits(load(tmp_path / "m").term_weight_, expected)

    def test_arrays_that_no_file_can_hold(self, saved):
        before, model = saved.read_bytes(), fitted()
        model.components_ = model.components_.astype(np.complex128)
        with pytest.raises(TypeError, match="components_: arrays of complex128 cannot be saved"):
            model.save(saved)
        assert saved.read_bytes() == before
        assert temporary_files(saved.parent) == []


def test_checkpoint_that_goes_away(tmp_path, monkeypatch):
    """Between two looks at it: there is none, then."""
    path = tmp_path / "state"
    checkpoint = Checkpoint(path, lambda: {"class": "Some"})
    checkpoint.save({"words": np.ones(3)}, {})
    opened = open

    def open_later(name, *args, **kwargs):
        path.unlink(missing_ok=True)
        return opened(name, *args, **kwargs)

    monkeypatch.setattr("builtins.open", open_later)
    assert checkpoint.load() is None
