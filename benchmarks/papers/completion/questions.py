"""Questions of both datasets, and the sentences to learn from."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.papers.completion.novels import ARCHIVE, read_books, tokenize
from benchmarks.papers.framework.definitions import BROWN, WIKTIONARY, WORDNET, read_wiktionary, read_wordnet
from benchmarks.papers.framework.files import MissingFile, read_lines, read_table, require
from semproj.completion import CompletionQuestion

HOLMES = "holmes/{split}.tsv.xz"
SAT = "sat/SAT-sentence-completion.json"
_MARK = "theblank"  # a word for the tokenizer
HELD_OUT = 100  # one paragraph of so many


class Questions(NamedTuple):
    """Questions and the numbers of their right options."""

    asked: list[CompletionQuestion]
    answers: list[int]

    def take(self, n: int | None) -> Questions:
        return Questions(self.asked[:n], self.answers[:n])


class Text(NamedTuple):
    """Sentences of lower case words, without punctuation, and others to measure perplexity on."""

    sentences: list[str]
    held_out: list[str]


def read_holmes(data: Path, split: str) -> Questions:
    """Number, sentence, five options and the letter of the right one."""
    path = data / HOLMES.format(split=split)
    asked, answers = [], []
    for _, text, *options, letter in read_table(path, ["number", "question", *"abcde", "answer"]):
        if letter not in "abcde" or len(letter) != 1:
            raise ValueError(f"{path}: expected a letter from a to e, got {letter!r}")
        asked.append(_question(text.replace("_____", f" {_MARK} "), [[option] for option in options]))
        answers.append("abcde".index(letter))
    return Questions(asked, answers)


def read_sat(data: Path, split: str) -> Questions:
    """The first half of the questions is dev, the second test."""
    path = data / SAT
    require(path)
    try:
        items = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    asked, answers = [], []
    for number, item in enumerate(items):
        try:
            asked.append(_sat_question(item))
            (answer,) = item["solution_index"]
            answers.append(range(len(asked[-1].options))[answer])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ValueError(f"{path}, question {number}: {error!r}") from None
    half = (len(asked) + 1) // 2
    part = slice(half) if split == "dev" else slice(half, None)
    return Questions(asked[part], answers[part])


def _sat_question(item: dict[str, Any]) -> CompletionQuestion:
    text, n_blanks = item["question"], item["num_blanks"]
    for blank in ("BLANK0", "BLANK1", "BLANK"):
        text = text.replace(blank, f" {_MARK} ")
    if n_blanks == 1:
        return _question(text, [[option] for option in item["candidates"]])
    return _question(text, [option.split(",") for option in item["candidates"]])


def _question(text: str, options: list[list[str]]) -> CompletionQuestion:
    words = " ".join(_words(text))
    filled = [[" ".join(_words(filler)) or filler for filler in option] for option in options]
    return CompletionQuestion.read(words, filled, blank=_MARK)


def _words(text: str) -> list[str]:
    return without_punctuation(tokenize(text))


def without_punctuation(tokens: list[str]) -> list[str]:
    return [token for token in tokens if any(map(str.isalnum, token))]


def read_novels(data: Path, limit: int | None) -> Text:
    """The novels, or so many sentences of them; one paragraph of a hundred is held out."""
    books = read_books(data, limit=None if limit is None else 1 + limit // 2000)
    text = Text([], [])
    number = 0
    for book in books:
        for paragraph in book.paragraphs:
            number += 1
            into = text.held_out if number % HELD_OUT == HELD_OUT // 2 else text.sentences
            into += [" ".join(words) for tokens in paragraph if (words := without_punctuation(tokens))]
    return Text(text.sentences[:limit], text.held_out[:limit])


def read_more(data: Path, limit: int | None) -> list[str]:
    """Definitions and Brown sentences, where the folder has them: SAT words are rare in novels."""
    found: list[str] = []
    sources = {
        WORDNET: lambda: (definition for _, definition in read_wordnet(data)),
        WIKTIONARY: lambda: read_wiktionary(data),
        BROWN: lambda: (line for _, line in read_lines(data / BROWN)),
    }
    for name, texts in sources.items():
        if (data / name).is_file():
            found += [" ".join(words) for text in texts() if (words := _words(text))][:limit]
    return found


def read_text(data: Path, models: Path | None, limit: int | None) -> Text:
    """The novels; with a folder of models they are cut into sentences once, and kept there."""
    require(data / ARCHIVE)
    if models is None or limit is not None:
        return read_novels(data, limit)
    paths = [models / f"{part}.txt.xz" for part in Text._fields]
    if not all(path.is_file() for path in paths):
        models.mkdir(parents=True, exist_ok=True)
        text = read_novels(data, None)
        for path, sentences in zip(paths, text, strict=True):
            fresh = path.with_suffix(".part")
            with lzma.open(fresh, "wt", encoding="utf-8", preset=0) as file:
                file.writelines(f"{sentence}\n" for sentence in sentences)
            fresh.replace(path)
        return text
    return Text(*([line for _, line in read_lines(path)] for path in paths))


__all__ = ["MissingFile", "Questions", "Text", "read_holmes", "read_more", "read_sat", "read_text"]
