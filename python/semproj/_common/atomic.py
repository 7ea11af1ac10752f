"""Replaces a file in one step: whoever reads it finds the old content or the new one, never a part of either."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, TypeAlias

PathLike: TypeAlias = "str | os.PathLike[str]"

_TEMPORARY = re.compile(r"\.semproj-[0-9a-f]{16}\.tmp")


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` that takes its place at the end of the block, if that ends well.

    A new file has the mode that the process's mask gives it, a replaced one keeps its own. A link stays; the file
    that it points to is replaced. A block that fails leaves everything as it was. A process that is killed leaves
    its temporary file, which the next writer in that folder removes: its owner held a lock as long as it lived.
    The file that was replaced is never written to, so that those who have mapped it keep what they read.
    """
    with _naming(path):
        mode = _mode_of(path)
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        if not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, "its folder does not exist", os.fspath(path))
        _remove_stale(folder)
        file, temporary = _create(folder, 0o666 if mode is None else 0o600)
        try:
            with file:  # which locks it
                yield file
                file.flush()
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
                os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):  # it has its new name already
                os.unlink(temporary)
            raise
        _sync(folder)


@contextmanager
def _naming(path: PathLike) -> Iterator[None]:
    """Errors speak of the file that the user named, not of a temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _mode_of(path: PathLike) -> int | None:
    """The permissions of a file; None if there is none yet."""
    try:
        found = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, "expected a file, this is a folder", os.fspath(path))
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "expected a regular file", os.fspath(path))
    return stat.S_IMODE(found) & 0o777


def _create(folder: str, mode: int) -> tuple[BinaryIO, str]:
    """A new file, locked, and its name."""
    while True:
        name = os.path.join(folder, f".semproj-{secrets.token_hex(8)}.tmp")
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with suppress(OSError):  # a file system without locks: there nobody can find it stale
            fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_named(handle, name):
            return os.fdopen(handle, "wb"), name
        os.close(handle)  # another writer took it for stale before it was locked


def _remove_stale(folder: str) -> None:
    """Remove temporary files whose writers were killed."""
    with suppress(OSError):  # a folder that can be written to but not listed
        for name in os.listdir(folder):
            if _TEMPORARY.fullmatch(name):
                with suppress(OSError):  # it is being written, belongs to another user, or is gone
                    _remove_if_stale(os.path.join(folder, name))


def _remove_if_stale(name: str) -> None:
    handle = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_named(handle, name):  # and was not renamed in between
            os.unlink(name)
    finally:
        os.close(handle)


def _is_named(handle: int, name: str) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(name))
    except FileNotFoundError:
        return False


def _sync(folder: str) -> None:
    """Make the new name last; some file systems do that by themselves and refuse to be asked."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
