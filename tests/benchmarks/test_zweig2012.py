"""The tables of Zweig and others 2012 on invented novels: etexts, questions, rows, what is left out."""

from __future__ import annotations

import io
import json
import lzma
import sys
import tarfile
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks.papers.completion import novels, questions, zweig2012  # noqa: E402
from benchmarks.papers.published.zweig2012 import published  # noqa: E402
from semproj.lm import DiscountWarning  # noqa: E402
from tests.completion import texts  # noqa: E402
from tests.support.papering import by_place, not_measured, run_json, write_lines  # noqa: E402

HEADER = """The Project Gutenberg Etext of {title}
*****This file should be named book.txt*****
***START**THE SMALL PRINT!**FOR PUBLIC DOMAIN ETEXTS**START***
Why is this "Small Print!" statement here?  You know: lawyers.
*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*

This etext was scanned by a volunteer, someone@example.com

"""
FOOTER = "\n\nEnd of The Project Gutenberg Etext of {title}\n\nNot of the book.\n"


def book(title: str, body: str) -> str:
    return HEADER.format(title=title) + body + FOOTER.format(title=title)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    with tarfile.open(folder / novels.ARCHIVE, "w:xz") as archive:
        for number in range(3):
            paragraphs = texts.sentences(300, seed=number)
            body = "\n\n".join(sentence.capitalize().replace(" .", ".") for sentence in paragraphs)
            raw = book(f"Book {number}", body).replace("\n", "\r\n").encode("latin-1")
            member = tarfile.TarInfo(f"novels/BOOK{number}.TXT")
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
    (folder / "holmes").mkdir()
    (folder / "sat").mkdir()
    asked, answers = texts.questions(30)
    for split in ("dev", "test"):
        lines = []
        for number, ((text, options), answer) in enumerate(zip(asked, answers, strict=True)):
            letters = [*options, "supper", "owl"][:5]
            lines.append("\t".join([str(number), text.replace(" .", "."), *letters, "abcde"[answer]]))
        with lzma.open(folder / "holmes" / f"{split}.tsv.xz", "wt", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    items = []
    for number, ((text, options), answer) in enumerate(zip(asked, answers, strict=True)):
        two = number % 2
        items.append(
            {
                "num_blanks": 1 + two,
                "question": text.replace("_____", "BLANK0 and BLANK1" if two else "BLANK"),
                "candidates": [f"{option}, {option}" if two else option for option in options],
                "solution_index": [answer],
            }
        )
    (folder / questions.SAT).write_text(json.dumps(items), "utf-8")
    return folder


def run(data: Path, tmp_path: Path, *arguments: str) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscountWarning)
        return by_place(run_json("zweig2012", data, tmp_path, *arguments))


@pytest.mark.parametrize("split", ["dev", "test"])
def test_all_tables(split, data, tmp_path, capsys):
    found = run(data, tmp_path, "--split", split, "--dimension", "6", "--models", str(tmp_path / "models"))
    assert {place[0] for place in found} == {"2", "3", "4", "5", "6"}
    assert {place[1] for place in found} == {"holmes", "sat"}
    assert not not_measured("zweig2012", found)
    for (table, dataset, row, metric), each in found.items():
        assert each["paper"] == published(table, dataset, row, metric, split)
        assert each["ours"] >= 1 if metric == "perplexity" else 0 <= each["ours"] <= 1
    # Chance is 0.2. With so few words, PMI's stop words are all of them, and most singular vectors are noise.
    for row, least in {"LSA total similarity": 0.5, "nearest sentences": 0.5, "combination": 0.8}.items():
        assert found["6", "holmes", row, "accuracy"]["ours"] > least
    assert found["6", "holmes", "LSA reconstruction", "accuracy"]["ours"] > 0.8
    assert found["6", "holmes", "chance", "accuracy"]["ours"] == pytest.approx(0.2)
    assert found["4", "sat", "LSA total similarity", "accuracy"]["ours"] > 0.5
    assert found["3", "sat", "GT n-gram", "perplexity"]["ours"] > 1
    assert "significant (McNemar, 2% false discoveries)" in capsys.readouterr().out


def test_a_folder_keeps_models(data, tmp_path, capsys):
    arguments = ["--rows", "GT n-gram", "LSA total similarity", "--datasets", "holmes", "--dimension", "6"]
    arguments += ["--models", str(tmp_path / "models")]
    first = run(data, tmp_path, *arguments)
    assert "fitting GT n-gram" in capsys.readouterr().err
    second = run(data, tmp_path, *arguments)
    assert "fitting" not in capsys.readouterr().err
    assert {place: row["ours"] for place, row in first.items()} == {p: row["ours"] for p, row in second.items()}


def test_without_sat(data, tmp_path, capsys):
    folder = tmp_path / "part"
    folder.mkdir()
    for name in ("holmes", novels.ARCHIVE):
        (folder / name).symlink_to(data / name)
    found = run(folder, tmp_path, "--rows", "PMI", "--quick")
    assert {place[1] for place in found} == {"holmes"}
    assert "sat: skipped" in capsys.readouterr().out


def test_bad_sat_questions(data, tmp_path):
    (tmp_path / "sat").mkdir()
    item = {"num_blanks": 1, "question": "a BLANK", "candidates": ["b", "c"], "solution_index": [2]}
    (tmp_path / questions.SAT).write_text(json.dumps([item]))
    with pytest.raises(ValueError, match=r"question 0: IndexError"):
        questions.read_sat(tmp_path, "dev")
    (tmp_path / questions.SAT).write_text("{")
    with pytest.raises(ValueError, match="SAT-sentence-completion"):
        questions.read_sat(tmp_path, "dev")


def test_bad_holmes_questions(tmp_path):
    write_lines(tmp_path / "holmes" / "dev.tsv.xz", ["1\ta _____ .\tb\tc\td\te\tf\tg"])
    with pytest.raises(ValueError, match="expected a letter from a to e, got 'g'"):
        questions.read_holmes(tmp_path, "dev")


class TestNovels:
    def test_only_the_book(self):
        body = 'CHAPTER I\n\n"I saw Mr. Berg," said J. P. Old-\nham. He\nwent.\n\nShe came -- late!'
        assert novels.read_paragraphs(book("X", body)) == [
            [["i", "saw", "mr.", "berg", ",", "said", "j.", "p.", "old-ham", "."], ["he", "went", "."]],
            [["she", "came", "--", "late", "!"]],
        ]

    def test_a_licence_at_the_end(self):
        body = "\n\n".join(f"He went {n} times." for n in range(60))
        text = f"{body}\n\n***START**THE SMALL PRINT!***\n\nLawyers.\n\n*END*THE SMALL PRINT!*\n"
        found = novels.read_paragraphs(text)
        assert len(found) == 60
        assert found[-1] == [["he", "went", "59", "times", "."]]

    def test_words_cut_at_the_end_of_a_line(self):
        found = novels.read_paragraphs("The captain was\nhere, the cap-\ntain of a well-\nknown ship.")
        assert found[0][0] == [
            "the",
            "captain",
            "was",
            "here",
            ",",
            "the",
            "captain",
            "of",
            "a",
            "well-known",
            "ship",
            ".",
        ]

    @pytest.mark.parametrize(
        ("text", "tokens"),
        [
            ("'Tis the dogs' 1,200 bones; don't!", "tis the dogs' 1,200 bones ; don't !"),
            ("the J. P shrugged his _____ , twice .", "the j. p shrugged his , twice ."),
            ("\x93St. Ives\x94 (a town) ...", "st. ives ( a town ) ..."),
        ],
    )
    def test_tokens(self, text, tokens):
        assert [token for token in novels.tokenize(text) if token.isprintable()] == tokens.split()

    def test_editions(self):
        sentences = [f"a sentence of more than ten words that says {n} in the end of it".split() for n in range(9)]
        other = [[f"{word}x" for word in sentence] for sentence in sentences]
        books = [
            novels.Book("A10", [sentences[:8]]),
            novels.Book("A11", [sentences]),
            novels.Book("B10", [[*other, *sentences[:2]]]),
        ]
        assert [each.name for each in novels.without_editions(books)] == ["A11", "B10"]


def test_rows_are_those_of_the_tables():
    assert set(zweig2012.OF_SAT["2"]) | set(zweig2012.OF_SAT["4"]) <= set(zweig2012.ROWS)
