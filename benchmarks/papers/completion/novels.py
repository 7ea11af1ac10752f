"""The novels of the sentence completion challenge: old Project Gutenberg texts, as sentences of tokens.

Tokens are those of the Holmes questions: words keep their hyphens and apostrophes, `Mr.` its dot, quotation marks
are gone, and all other marks stand alone.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.papers.framework.files import require

ARCHIVE = "holmes_novels.tar.xz"

_LICENCE_END = re.compile(r"END\W*THE SMALL PRINT|^\W*START OF TH(E|IS) PROJECT GUTENBERG", re.IGNORECASE)
_LICENCE_START = re.compile(r"START\W*THE SMALL PRINT", re.IGNORECASE)
_FOOTER = re.compile(r"^\W*(the\s+)?end\s+of\s+(the\s+|this\s+)*project\s+gutenberg", re.IGNORECASE)
# Names of volunteers, scanners and files stand at both ends of a text, in paragraphs of their own.
_CREDITS = re.compile(r"gutenberg|e-?texts?\b|small print|\bascii\b|[\w.]+@[\w.]+|\bscanned\b", re.IGNORECASE)

_MARKS = str.maketrans({'"': " ", "_": " ", "*": " ", "`": "'", "\xb4": "'", "\x91": "'", "\x92": "'"})
_ABBREVIATIONS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "messrs",
        "dr",
        "st",
        "rev",
        "hon",
        "esq",
        "jr",
        "sr",
        "prof",
        "capt",
        "col",
        "gen",
        "lieut",
        "lt",
        "sergt",
        "sgt",
        "maj",
        "mme",
        "mlle",
        "mdlle",
        "vol",
        "chap",
        "no",
        "viz",
        "etc",
        "cf",
        "vs",
    ]
)
_SENTENCE_END = re.compile(r"[.!?]+['\")\]]*(?=\s+['\"(\[]*[A-Z])")
_TOKEN = re.compile(
    r"[^\W\d_]\.(?:[^\W\d_]\.)*"  # initials
    r"|\d+(?:[.,]\d+)*"
    r"|[^\W_]+(?:['-][^\W_]+)*(?:(?<=[sn])')?"  # words; at their end the apostrophe of a genitive, or of a lost g
    r"|--+|\.\.+|[^\w\s]"
)


@dataclass(frozen=True)
class Book:
    """A text of the archive: its paragraphs, each a list of sentences, each a list of tokens."""

    name: str
    paragraphs: list[list[list[str]]]

    def sentences(self) -> Iterator[list[str]]:
        for paragraph in self.paragraphs:
            yield from paragraph


def read_books(folder: Path, *, lower: bool = True, limit: int | None = None) -> list[Book]:
    """The books of the archive by their names, `limit` of them at most; of editions of one book, the longest."""
    path = folder / ARCHIVE
    require(path)
    texts: list[tuple[str, str]] = []
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None and (limit is None or len(texts) < limit):
                texts.append((Path(member.name).name, file.read().decode("latin-1")))
    books = [Book(name, read_paragraphs(text, lower=lower)) for name, text in texts]
    return without_editions(sorted(books, key=lambda book: book.name))


def without_editions(books: list[Book]) -> list[Book]:
    """Those of which less than half the long sentences are in a book that has more of them."""
    # Short sentences are in many books. Hashes differ from run to run, but not which of them are equal.
    long = {book.name: {hash(tuple(s)) for s in book.sentences() if len(s) > 10} for book in books}
    seen: set[int] = set()
    kept = set()
    for book in sorted(books, key=lambda book: (-len(long[book.name]), book.name)):
        own = long[book.name]
        if len(own & seen) * 2 < len(own) or not own:
            kept.add(book.name)
            seen |= own
    return [book for book in books if book.name in kept]


def read_paragraphs(text: str, *, lower: bool = True) -> list[list[list[str]]]:
    """The paragraphs of one text without the licence, headings and credits."""
    body = _body(text.replace("\r\n", "\n").replace("\r", "\n"))
    words = set(re.findall(r"[^\W\d_]+", body.lower()))
    result = []
    for block in re.split(r"\n\s*\n", body):
        # What has no small letter is a heading.
        if any(map(str.islower, block)) and not _CREDITS.search(block):
            sentences = [tokenize(sentence, lower=lower) for sentence in split_sentences(_joined(block, words))]
            if kept := [tokens for tokens in sentences if tokens]:
                result.append(kept)
    return result


def split_sentences(paragraph: str) -> list[str]:
    """Cut after marks that a capital letter follows, but not after abbreviations and initials."""
    result, start = [], 0
    for match in _SENTENCE_END.finditer(paragraph):
        before = paragraph[start : match.start()].rsplit(None, 1)
        last = before[-1].lstrip("'\"([-").lower() if before else ""
        if match.group() == "." and (
            last in _ABBREVIATIONS or (re.fullmatch(r"[a-z](\.[a-z])*", last) and last != "i")
        ):
            continue
        result.append(paragraph[start : match.end()])
        start = match.end()
    result.append(paragraph[start:])
    return [part.strip() for part in result if part.strip()]


def tokenize(sentence: str, *, lower: bool = True) -> list[str]:
    """Tokens as the Holmes questions have them; a question that is already cut into tokens stays as it is."""
    tokens: list[str] = []
    text = sentence.translate(_MARKS)
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "'":
            continue
        if token == "." and tokens and tokens[-1].lower() in _ABBREVIATIONS and text[match.start() - 1] != " ":
            tokens[-1] += "."
        else:
            tokens.append(token)
    # An initial at the end is a word and a full stop.
    if tokens and len(tokens[-1]) == 2 and tokens[-1][1] == "." and tokens[-1][0].isalpha():
        tokens[-1:] = [tokens[-1][0], "."]
    return [token.lower() for token in tokens] if lower else tokens


def _body(text: str) -> str:
    """What stands between the licence and the footer, wherever an etext has its licence."""
    lines = text.split("\n")
    ends = [i for i, line in enumerate(lines) if _LICENCE_END.search(line)]
    starts = [i for i, line in enumerate(lines) if _LICENCE_START.search(line)]
    first, last = 0, len(lines)
    # The licence is the shorter part; in a few texts it comes after the book.
    if ends and ends[-1] < len(lines) / 2:
        first = ends[-1] + 1
    elif ends and starts and starts[0] > len(lines) / 2:
        last = starts[0]
    elif ends:
        first = ends[-1] + 1
    for i in range((first + last) // 2, last):
        if _FOOTER.search(lines[i]):
            last = i
            break
    return "\n".join(lines[first:last])


def _joined(block: str, words: set[str]) -> str:
    """Lines as one; of a word that is cut at the end of a line, the hyphen goes if the book has the whole word."""

    def glue(match: re.Match[str]) -> str:
        head, tail = match.groups()
        return head + tail if (head + tail).lower() in words else f"{head}-{tail}"

    return " ".join(re.sub(r"([^\W\d_]+)-\n\s*([^\W\d_]+)", glue, block).split())
