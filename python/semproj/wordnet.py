"""Read WordNet's database files: synsets, lemmas and WordNet's own morphology.

The formats are those of wndb(5WN), senseidx(5WN), cntlist(5WN) and morphy(7WN). Nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections import Counter
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from ._common.files import NOT_UTF8, Problem

__all__ = ["Frame", "Pointer", "Synset", "WordNet"]

# Equals are preferred in this order.
_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_NAMES = {
    *(pattern.format(name) for name in _FILES.values() for pattern in ("data.{}", "index.{}", "{}.exc")),
    *("index.sense", "cntlist.rev", "cntlist"),
}
_SENSE_TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # of sense keys; 5 is a satellite
_ENDINGS = {
    "n": (
        ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
        ("ies", "y"),
    ),
    "v": (
        ("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}  # fmt: skip
_MARKER = re.compile(r"\((?:a|p|ip)\)$")
_EXAMPLE = re.compile(r'"([^"]*)"?')
_JOINT = re.compile(r"([ -])")

Parsed = TypeVar("Parsed")


class Pointer(NamedTuple):
    """A relation to another synset, or between two words.

    `symbol` is WordNet's: "!" antonym, "@" hypernym, "~" hyponym, "&" similar to, "+" derivationally related, ...
    `source` and `target` number words of the two synsets; both are None if the synsets themselves are related.
    """

    symbol: str
    pos: str
    offset: int
    source: int | None
    target: int | None


class Frame(NamedTuple):
    """A sentence frame of a verb, which one of its words has, or all of them if `word` is None."""

    number: int
    word: int | None


class Synset(NamedTuple):
    """A set of synonyms.

    `pos` is "n", "v", "a" or "r"; a satellite adjective has "a", and `satellite` is True. Words have spaces where
    the file has underscores. `markers` has the syntactic marker of each word ("a", "p", "ip"), or "".
    """

    pos: str
    offset: int
    words: tuple[str, ...]
    definition: str
    examples: tuple[str, ...]
    pointers: tuple[Pointer, ...]
    frames: tuple[Frame, ...]
    markers: tuple[str, ...]
    satellite: bool


class WordNet:
    """A WordNet database: ``data.*`` and ``index.*``, with ``*.exc`` and ``index.sense`` where present.

    A part of speech whose files are missing is empty. Files are parsed when first needed; the synsets of WordNet
    3.0 take about three seconds.

    Parameters
    ----------
    path : path-like
        The folder, or a tar archive of it (``.tar``, ``.tar.gz``, ``.tar.xz``, ...).
    strict : bool, default True
        Raise a ValueError that names file and line, when a file is first needed, for malformed lines and for
        pointers that lead nowhere. False leaves them out and notes them in `problems`; a file without a single
        good line is still an error.

    Attributes
    ----------
    problems : list of Problem
        What was left out of the files read so far, with file and line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from semproj.wordnet import WordNet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = '00000000 06 n 02 knife 0 pocket_knife 0 000 | a tool; "a sharp knife"'
    ...     index = "knife n 1 0 1 1 00000000", "pocket_knife n 1 0 1 0 00000000"
    ...     _ = pathlib.Path(folder, "data.noun").write_text(data)
    ...     _ = pathlib.Path(folder, "index.noun").write_text("\\n".join(index))
    ...     _ = pathlib.Path(folder, "noun.exc").write_text("knives knife")
    ...     wordnet = WordNet(folder)
    ...     (knife,) = wordnet.senses("knife", "n")
    >>> knife.words, knife.definition, knife.examples
    (('knife', 'pocket knife'), 'a tool', ('a sharp knife',))
    >>> wordnet.morphy("pocket knives")
    ['pocket knife']
    """

    def __init__(self, path: str | os.PathLike[str], *, strict: bool = True) -> None:
        self.path = Path(path)
        self.strict = strict
        self.problems: list[Problem] = []
        self._files = _read_folder(self.path) if self.path.is_dir() else _read_archive(self.path)
        self._index = {
            pos: dict(entry for _, entry in self._parse(f"index.{name}", _index_entry))
            for pos, name in _FILES.items()
        }
        if not any(self._index.values()):
            raise FileNotFoundError(f"path: expected index.noun, index.verb, ... in {self.path}, found none")

    def lemmas(self, pos: str) -> list[str]:
        """Return the lemmas of a part of speech in the order of its index, in lower case and with spaces."""
        return list(self._index_of(pos))

    def has_lemma(self, lemma: str, pos: str) -> bool:
        """Return whether `lemma`, in lower case and with spaces, is a lemma of this part of speech."""
        return lemma in self._index_of(pos)

    @cached_property
    def synsets(self) -> dict[tuple[str, int], Synset]:
        """All synsets by part of speech and offset, in the order of the files."""
        synsets: dict[tuple[str, int], Synset] = {}
        lines: dict[tuple[str, int], int] = {}
        problems = []
        for pos, name in _FILES.items():
            for number, synset in self._parse(f"data.{name}", partial(_synset, pos=pos)):
                key = pos, synset.offset
                if key in synsets:
                    what = f"synset {synset.offset:08d} is there already, in line {lines[key]}"
                    problems.append(Problem(f"data.{name}", number, what))
                else:
                    synsets[key], lines[key] = synset, number
        present = {pos for pos, _ in synsets}
        for key, synset in synsets.items():
            kept = tuple(p for p in synset.pointers if _leads_somewhere(p, synset, synsets, present))
            if len(kept) == len(synset.pointers):
                continue
            for pointer in synset.pointers:
                if pointer not in kept:
                    what = f"synset {synset.offset:08d}: points to what is not there: {pointer}"
                    problems.append(Problem(f"data.{_FILES[synset.pos]}", lines[key], what))
            synsets[key] = synset._replace(pointers=kept)
        self._report(problems)
        self._synset_lines = lines
        for name in _FILES.values():
            self._files.pop(f"data.{name}", None)  # these are large, and no longer needed
        return synsets

    def location(self, synset: Synset) -> tuple[str, int]:
        """Return the file and the line that a synset was read from."""
        self.synsets  # noqa: B018 - reads the files
        return f"data.{_FILES[synset.pos]}", self._synset_lines[synset.pos, synset.offset]

    def senses(self, word: str, pos: str) -> list[Synset]:
        """Return the synsets of a lemma (in any case, with spaces or underscores), most frequent sense first."""
        offsets, _ = self._index_of(pos).get(_normal(word), ((), 0))
        if not self.strict:
            offsets = tuple(offset for offset in offsets if (pos, offset) in self.synsets)
        try:
            return [self.synsets[pos, offset] for offset in offsets]
        except KeyError as error:
            raise ValueError(f"path: index.{_FILES[pos]}: {word!r}: no synset {error}") from None

    @cached_property
    def tag_counts(self) -> dict[tuple[str, str], int]:
        """How often each (lemma, part of speech) is tagged in WordNet's concordance.

        The counts come from ``index.sense``, else ``cntlist.rev``, else ``cntlist``. Without any of these files,
        they are the numbers of senses that are tagged at all.
        """
        counts: Counter[tuple[str, str]] = Counter()
        for file, key, count in (("index.sense", 0, 3), ("cntlist.rev", 0, 2), ("cntlist", 1, 0)):
            for _, (lemma, pos, times) in self._parse(file, partial(_tag_count, key=key, count=count)):
                counts[lemma, pos] += times
            if counts:
                return dict(counts)
        for pos, index in self._index.items():
            counts.update({(lemma, pos): tagged for lemma, (_, tagged) in index.items()})
        return dict(counts)

    def morphy(self, word: str, pos: str | None = None) -> list[str]:
        """Return the lemmas that a word or collocation may be a form of, as morphy(7WN) finds them.

        The word itself comes first if it is a lemma. Then come the forms of the exception list, or else the first
        form that the detachment rules lead to. A collocation that neither knows is split at its spaces and
        hyphens.

        Parameters
        ----------
        word : str
            In any case; underscores count as spaces.
        pos : {"n", "v", "a", "r"} or None, default None
            None looks in all four, in this order.

        Returns
        -------
        list of str
        """
        if pos is None:
            return list(dict.fromkeys(base for each in _FILES for base in self.morphy(word, each)))
        lemmas = self._index_of(pos)
        word = _normal(word)
        bases = [word, *self._bases(word, pos)]
        if len(bases) == 1 and _JOINT.search(word):
            parts = _JOINT.split(word)
            whole = [next(iter(self._bases(part, pos)), part) for part in parts]
            bases += ["".join(whole), "".join([whole[0], *parts[1:]])]  # particles may look like verbs
        return list(dict.fromkeys(base for base in bases if base in lemmas))

    def _bases(self, word: str, pos: str) -> list[str]:
        """Return what the exception list has, or the result of the first rule that leads to a lemma."""
        lemmas = self._index_of(pos)
        exceptions = self._exceptions[pos].get(word)
        if exceptions is not None:
            return [base for base in exceptions if base in lemmas]
        tail = ""
        if pos == "n":
            if word.endswith("ful"):
                word, tail = word[:-3], "ful"
            elif word.endswith("ss") or len(word) <= 2:
                return []
        for ending, replacement in _ENDINGS[pos]:
            if word.endswith(ending):
                base = word[: len(word) - len(ending)] + replacement
                if base in lemmas and base + tail in lemmas:
                    return [base + tail]
        return []

    @cached_property
    def _exceptions(self) -> dict[str, dict[str, list[str]]]:
        lists: dict[str, dict[str, list[str]]] = {pos: {} for pos in _FILES}
        for pos, name in _FILES.items():
            for _, (inflected, *bases) in self._parse(f"{name}.exc", _exception):
                lists[pos].setdefault(inflected, []).extend(bases)  # some forms have two lines
        return lists

    def _index_of(self, pos: str) -> dict[str, tuple[tuple[int, ...], int]]:
        try:
            return self._index[pos]
        except KeyError:
            raise ValueError(f"pos: expected one of {', '.join(map(repr, _FILES))}, got {pos!r}") from None

    def _parse(self, file: str, parse: Callable[[str], Parsed]) -> list[tuple[int, Parsed]]:
        """Parse a file into entries, each with the number of its line; a missing file has none."""
        entries, problems = [], []
        for number, raw in enumerate(self._files.get(file, b"").split(b"\n"), 1):
            if not raw.strip() or raw.startswith(b"  "):  # the license begins with two spaces
                continue
            try:
                line = raw.decode("utf-8")
                entries.append((number, parse(line)))
            except UnicodeDecodeError:
                problems.append(Problem(file, number, NOT_UTF8))
            except (ValueError, IndexError, KeyError) as error:
                problems.append(Problem(file, number, f"malformed ({error}): {line[:80]!r}"))
        self._report(problems, all_of_it=not entries)
        return entries

    def _report(self, problems: list[Problem], all_of_it: bool = False) -> None:
        """Note problems, or raise the first of them."""
        if problems and (self.strict or all_of_it):
            file, line, what = problems[0]
            raise ValueError(f"path: {file}: line {line}: {what}")
        self.problems += problems


def _normal(word: str) -> str:
    return word.lower().replace("_", " ")


def _read_folder(path: Path) -> dict[str, bytes]:
    return {name: (path / name).read_bytes() for name in _NAMES if (path / name).is_file()}


def _read_archive(path: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                content = archive.extractfile(member) if name in _NAMES and member.isfile() else None
                if content is not None:
                    if name in files:
                        raise ValueError(f"path: {path.name}: has two files {name}")
                    files[name] = content.read()
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"path: {path}: neither a folder nor a whole tar archive ({error})") from None
    return files


def _index_entry(line: str) -> tuple[str, tuple[tuple[int, ...], int]]:
    """``lemma pos synset_cnt p_cnt [symbol...] sense_cnt tagsense_cnt offset...``"""
    fields = line.split()
    n_synsets, n_symbols = int(fields[2]), int(fields[3])
    tagged = int(fields[5 + n_symbols])
    offsets = tuple(map(int, fields[6 + n_symbols :]))
    if len(offsets) != n_synsets:
        raise ValueError(f"{n_synsets} synsets announced, {len(offsets)} given")
    return _normal(fields[0]), (offsets, tagged)


def _exception(line: str) -> list[str]:
    forms = [_normal(form) for form in line.split()]
    if len(forms) < 2:
        raise ValueError("no base form")
    return forms


def _tag_count(line: str, *, key: int, count: int) -> tuple[str, str, int]:
    fields = line.split()
    lemma, _, rest = fields[key].rpartition("%")
    return _normal(lemma), _SENSE_TYPES[rest[0]], int(fields[count])


def _synset(line: str, *, pos: str) -> Synset:
    """``offset lex_file type w_cnt word lex_id... p_cnt [pointer...] [frames...] | gloss``"""
    head, _, gloss = line.partition("|")
    fields = head.split()
    offset, kind, n_words = int(fields[0]), fields[2], int(fields[3], 16)
    if kind not in "nvasr":
        raise ValueError(f"type {kind!r}")
    if pos != ("a" if kind == "s" else kind):
        raise ValueError(f"synset {offset:08d} is of type {kind!r}")
    at = 4 + 2 * n_words
    words, markers = [], []
    for word in fields[4:at:2]:
        marker = _MARKER.search(word) if kind in "as" else None
        words.append((word if marker is None else word[: marker.start()]).replace("_", " "))
        markers.append("" if marker is None else marker[0][1:-1])
    n_pointers = int(fields[at])
    at += 1
    pointers = []
    for symbol, target, target_pos, numbers in zip(
        *(fields[at + i : at + 4 * n_pointers : 4] for i in range(4)), strict=True
    ):
        between = int(numbers[:2], 16), int(numbers[2:], 16)
        words_of = (None, None) if between == (0, 0) else (between[0] - 1, between[1] - 1)
        pointers.append(Pointer(symbol, "a" if target_pos == "s" else target_pos, int(target), *words_of))
    at += 4 * n_pointers
    frames = []
    if kind == "v" and at < len(fields):
        n_frames = int(fields[at])
        for plus, number, word in zip(*(fields[at + i :: 3] for i in (1, 2, 3)), strict=True):
            if plus != "+":
                raise ValueError(f"frame {plus!r}")
            frames.append(Frame(int(number), int(word, 16) - 1 if int(word, 16) else None))
        at += 1 + 3 * n_frames
    if len(fields) != at or len(pointers) != n_pointers or not words or len(words) != n_words:
        raise ValueError("counts do not match what is there")
    meaning, examples = _split_gloss(gloss.strip())
    return Synset(
        pos, offset, tuple(words), meaning, examples, tuple(pointers), tuple(frames), tuple(markers), kind == "s"
    )


def _split_gloss(gloss: str) -> tuple[str, tuple[str, ...]]:
    """Split a gloss: the definition comes before the first quotation, and the quotations are examples."""
    start = re.search(r'(?:^|[;:,.])\s*"', gloss)
    end = len(gloss) if start is None else start.start()
    examples = (quotation.strip() for quotation in _EXAMPLE.findall(gloss[end:]))
    return gloss[:end].rstrip(" ;:,"), tuple(filter(None, examples))


def _leads_somewhere(
    pointer: Pointer, source: Synset, synsets: dict[tuple[str, int], Synset], present: set[str]
) -> bool:
    """Return whether the synset and the words of a pointer exist, or may exist in a file that is missing."""
    target = synsets.get((pointer.pos, pointer.offset))
    if target is None and pointer.pos in present:
        return False
    if pointer.source is None or pointer.target is None:
        return True
    fits = 0 <= pointer.source < len(source.words)
    return fits and (target is None or 0 <= pointer.target < len(target.words))
