"""Thesauri: relations over one vocabulary, merged and saved; and their readers, on files written here."""

import gzip
import lzma

import numpy as np
import pytest
import scipy.sparse as sp

import semproj as sj
from semproj.thesaurus import Problem, Thesaurus, UnknownWordError, normal_word
from semproj.thesaurus_readers import read_lists, read_table, read_wordnet
from semproj.wordnet import WordNet
from tests.support import same_bits


def words_of(thesaurus, relation):
    """The words of each entry, in one relation."""
    matrix = thesaurus[relation]
    rows = [matrix.indices[a:b] for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)]
    return [{thesaurus.words[i] for i in row} for row in rows]


def make(entries, **relations):
    """A thesaurus of these entries, from the words of each in each relation."""
    words = list(dict.fromkeys(word for rows in relations.values() for row in rows for word in row.split()))
    matrices = {}
    for name, rows in relations.items():
        matrices[name] = np.array([[float(word in row.split()) for word in words] for row in rows])
    return Thesaurus(words, entries, matrices)


@pytest.fixture
def small():
    return make(["hot", "big"], synonym=["hot warm", "big large"], antonym=["cold", "small tiny"])


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ("Hot", "hot"),
        ("take_a_breath", "take a breath"),
        ("  take\ta  breath ", "take a breath"),
        ("misﬁt", "misfit"),  # a ligature
        ("cafe\u0301", "caf\u00e9"),
        ("word;", "word"),
        ("self-controlled", "self-controlled"),
        ("'tween", "'tween"),
    ],
)
def test_normal_word(raw, word):
    assert normal_word(raw) == word
    assert normal_word(word) == word


class TestThesaurus:
    def test_looks_words_up(self, small):
        assert small.vocabulary["cold"] == small.words.index("cold")
        assert "Cold" in small
        assert "red" not in small
        assert 3 not in small
        assert list(small) == ["synonym", "antonym"]
        assert small.related("large", "antonym") == ["small", "tiny"]
        assert small.related("Warm", "synonym") == ["hot"]
        assert small.related("cold", "synonym") == []  # of no entry itself

    def test_related_words_of_most_entries_come_first(self):
        thesaurus = make(["a", "b"], synonym=["x", "x"], antonym=["p q", "q"])
        assert thesaurus.related("x", "antonym") == ["q", "p"]

    def test_errors_of_lookup(self, small):
        with pytest.raises(UnknownWordError, match=r"^'red' is not in the thesaurus$"):
            small.related("red", "antonym")
        with pytest.raises(KeyError):
            small.related("red", "antonym")
        with pytest.raises(KeyError, match="this thesaurus has 'synonym', 'antonym', got 'hypernym'"):
            small["hypernym"]

    def test_describe(self, small):
        assert small.describe() == "2 entries, 7 words\nsynonym: 4 in 2 entries\nantonym: 3 in 2 entries"
        assert repr(small) == "<Thesaurus: 2 entries, 7 words, synonym, antonym>"

    def test_select(self, small):
        assert list(small.select("antonym")) == ["antonym"]
        assert small.select("antonym").words == small.words
        with pytest.raises(KeyError):
            small.select("hypernym")

    def test_duplicates_are_added_and_the_input_stays(self):
        matrix = sp.csr_matrix((np.ones(2, np.float32), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
        thesaurus = Thesaurus(["a", "b"], ["e"], {"synonym": matrix})
        assert thesaurus["synonym"].toarray().tolist() == [[0, 2]]
        assert matrix.nnz == 2

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="words: expected different"):
            Thesaurus(["a", "a"])
        with pytest.raises(ValueError, match=r"relations: 'synonym': expected shape \(1, 2\).*got \(2, 2\)"):
            Thesaurus(["a", "b"], ["e"], {"synonym": np.eye(2)})
        broken = sp.csr_matrix(np.eye(2))
        broken.indices[0] = 7
        with pytest.raises(ValueError, match="relations: 'synonym': index 7 is out of range"):
            Thesaurus(["a", "b"], ["e", "f"], {"synonym": broken})

    @pytest.mark.parametrize("form", [np.array, sp.csr_matrix])
    @pytest.mark.parametrize(
        ("value", "error", "message"),
        [
            (np.nan, ValueError, "contains NaN or infinity"),
            (np.inf, ValueError, "contains NaN or infinity"),
            (1e39, ValueError, "contains NaN or infinity"),  # beyond float32
            (1j, TypeError, "expected numbers, got dtype complex128"),
        ],
        ids=str,
    )
    def test_values_that_are_no_numbers(self, form, value, error, message):
        with pytest.raises(error, match=f"relations: 'antonym': {message}"):
            Thesaurus(["a", "b"], ["e"], {"synonym": [[1, 1]], "antonym": form([[value, 0]])})

    def test_rows_that_are_no_matrix(self):
        with pytest.raises(ValueError, match="relations: 'synonym': expected a matrix"):
            Thesaurus(["a", "b"], ["e"], {"synonym": [1, 1]})

    def test_empty(self, tmp_path):
        Thesaurus().save(tmp_path / "empty")
        assert sj.load(tmp_path / "empty").words == []


class TestMerge:
    def test_one_below_the_other(self, small):
        other = make(["hot"], synonym=["hot scorching"], hypernym=["warm"])
        merged = small.merge(other)
        assert merged.entries == ["hot", "big", "hot"]
        assert words_of(merged, "synonym") == [{"hot", "warm"}, {"big", "large"}, {"hot", "scorching"}]
        assert words_of(merged, "antonym") == [{"cold"}, {"small", "tiny"}, set()]
        assert words_of(merged, "hypernym") == [set(), set(), {"warm"}]
        assert small.merge().entries == small.entries

    def test_by_names(self, small):
        other = make(["big", "red"], synonym=["big huge", "red"], antonym=["small", "green"])
        merged = small.merge(other, align="names")
        assert merged.entries == ["hot", "big", "red"]
        assert words_of(merged, "synonym")[1] == {"big", "large", "huge"}
        row = merged["antonym"][1].toarray()[0]
        assert row[merged.vocabulary["small"]] == 2  # both say so
        assert row[merged.vocabulary["tiny"]] == 1

    def test_by_names_takes_the_first_of_several(self):
        first = make(["x", "x"], synonym=["a", "b"])
        assert words_of(first.merge(make(["x"], synonym=["c"]), align="names"), "synonym") == [{"a", "c"}, {"b"}]

    def test_by_synonyms(self):
        synsets = make(
            ["s1", "s2", "s3"], synonym=["hot spicy", "hot warm", "big"], hypernym=["taste", "state", "size"]
        )
        heads = make(["warm", "odd"], synonym=["warm hot tepid", "odd big strange"], antonym=["cold", "normal"])
        merged = synsets.merge(heads, align="synonyms")
        # warm: 1 / sqrt(6) with s1, 2 / sqrt(6) with s2; odd: 1 / sqrt(3) with s3
        assert merged.entries == ["s1", "s2", "s3"]
        assert words_of(merged, "antonym") == [set(), {"cold"}, {"normal"}]
        assert words_of(merged, "hypernym") == [{"taste"}, {"state"}, {"size"}]
        strict = synsets.merge(heads, align="synonyms", min_overlap=0.6)
        assert strict.entries == ["s1", "s2", "s3", "odd"]
        assert words_of(strict, "antonym") == [set(), {"cold"}, set(), {"normal"}]

    def test_min_overlap_is_reached_by_equality(self):
        first, second = make(["s"], synonym=["a b"]), make(["h"], synonym=["a c"])
        assert first.merge(second, align="synonyms", min_overlap=0.5).entries == ["s"]
        assert first.merge(second, align="synonyms", min_overlap=0.51).entries == ["s", "h"]

    def test_the_first_of_equals_is_taken(self):
        first = make(["s", "t"], synonym=["a b", "b c"])
        merged = first.merge(make(["h"], synonym=["b"]), align="synonyms")
        assert words_of(merged, "synonym") == [{"a", "b"}, {"b", "c"}]
        assert merged["synonym"][0].max() == 2

    def test_nothing_in_common(self, small):
        other = make(["x"], synonym=["x y"])
        assert small.merge(other, align="synonyms").entries == ["hot", "big", "x"]

    def test_bad_arguments(self, small):
        with pytest.raises(TypeError, match="others: expected thesauri, got list"):
            small.merge([small])
        with pytest.raises(ValueError, match="align: expected one of 'synonyms', 'names', got 'heads'"):
            small.merge(small, align="heads")
        with pytest.raises(ValueError, match="min_overlap"):
            small.merge(small, align="synonyms", min_overlap=0)


def test_saved_and_loaded(tmp_path, small):
    small = Thesaurus([*small.words[:-1], "Ümläut 語"], small.entries, small.relations, [Problem("f", 3, "what")])
    small.save(tmp_path / "t")
    loaded = sj.load(tmp_path / "t")
    assert loaded.words == small.words
    assert loaded.entries == small.entries
    assert loaded.problems == small.problems
    assert list(loaded) == list(small)
    for name in small:
        assert same_bits(loaded[name].toarray(), small[name].toarray())
    assert loaded.related("hot", "antonym") == ["cold"]


class TestTable:
    LINES = (
        "abuse \\v\tRevile|ill_treat|revile\tpraise|{a remark}|",
        "abuse \\n.\\\tmisuse\t",
        "",
        "hollow \\adj\tvain\tfull",
    )

    @pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
    def test_reads(self, tmp_path, suffix):
        path = tmp_path / f"table.tsv{suffix}"
        path.write_bytes(
            {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[suffix]("\n".join(self.LINES).encode())
        )
        with pytest.warns(
            UserWarning, match=r"table.tsv\S*: 1 words or lines could not be read, the first at line 1"
        ):
            thesaurus = read_table(path)
        assert thesaurus.entries == ["abuse", "abuse", "hollow"]
        assert words_of(thesaurus, "synonym") == [
            {"abuse", "revile", "ill treat"},
            {"abuse", "misuse"},
            {"hollow", "vain"},
        ]
        assert words_of(thesaurus, "antonym") == [{"praise"}, set(), {"full"}]
        assert thesaurus.problems == [Problem(path.name, 1, "not a word: '{a remark}'")]
        assert thesaurus["synonym"].max() == 1  # said twice in one line is said once
        assert thesaurus.describe().endswith("\n1 problem while reading")

    def test_what_cannot_be_read_is_reported(self, tmp_path):
        path = tmp_path / "t.tsv"
        path.write_text(
            "good\twell\tbad\nno columns\n\tx\ty\nlonely\t\t\n<b>\tx\ty\nlong\t" + 81 * "x" + "\tshort\n"
        )
        with pytest.warns(UserWarning, match=r"5 words or lines .* first at line 2 \(expected 3 columns, got 1\)"):
            thesaurus = read_table(path)
        assert thesaurus.entries == ["good", "long"]
        assert [problem.line for problem in thesaurus.problems] == [2, 3, 4, 5, 6]
        assert [problem.what.split(":")[0] for problem in thesaurus.problems[1:]] == [
            *("not a head", "'lonely' has no words", "not a head", "not a word")
        ]

    def test_other_relations(self, tmp_path):
        path = tmp_path / "t.tsv"
        path.write_text("dog\tanimal|pet\n")
        thesaurus = read_table(path, relations=["hypernym"])
        assert words_of(thesaurus, "hypernym") == [{"animal", "pet"}]
        assert words_of(thesaurus, "synonym") == [{"dog"}]

    @pytest.mark.parametrize("relations", ["synonym", [], [3], ["a", "a"], 3])
    def test_bad_relations(self, tmp_path, relations):
        with pytest.raises(ValueError, match="relations: expected"):
            read_table(tmp_path / "t", relations=relations)


class TestLists:
    def test_reads(self, tmp_path):
        path = tmp_path / "antonyms.txt"
        path.write_text("a_priori\ta_posteriori\nscold\tflatter\tPraise\t\n")
        thesaurus = read_lists(path, "antonym")
        assert thesaurus.entries == ["a priori", "scold"]
        assert words_of(thesaurus, "synonym") == [{"a priori"}, {"scold"}]
        assert words_of(thesaurus, "antonym") == [{"a posteriori"}, {"flatter", "praise"}]

    def test_moby(self, tmp_path):
        path = tmp_path / "moby.txt"
        path.write_bytes(b"A-bomb,H-bomb,hell bomb\r\nzoom,,fly\r\n")
        thesaurus = read_lists(path, "synonym", separator=",")
        assert list(thesaurus) == ["synonym"]
        assert words_of(thesaurus, "synonym") == [{"a-bomb", "h-bomb", "hell bomb"}, {"zoom", "fly"}]

    def test_a_head_without_words_is_reported(self, tmp_path):
        path = tmp_path / "l.txt"
        path.write_text("alone\nscold\tpraise\n")
        with pytest.warns(UserWarning, match="l.txt: 1 words"):
            assert read_lists(path, "antonym").problems == [Problem("l.txt", 1, "'alone' has no words")]

    def test_bad_arguments(self, tmp_path):
        for separator in ("", 3, None):
            with pytest.raises(ValueError, match=f"separator: expected at least one character, got {separator!r}"):
                read_lists(tmp_path / "l", "antonym", separator=separator)
        with pytest.raises(ValueError, match="relations: expected names"):
            read_lists(tmp_path / "l", "")
        with pytest.raises(FileNotFoundError):
            read_lists(tmp_path / "l", "antonym")

    def test_lines_that_are_not_utf8_are_reported(self, tmp_path):
        path = tmp_path / "l"
        path.write_bytes(b"a\tb\ncaf\xe9\tb\nc\td\n")
        with pytest.warns(UserWarning, match=r"l: 1 words or lines .* first at line 2 \(not valid UTF-8\)"):
            thesaurus = read_lists(path, "antonym")
        assert thesaurus.entries == ["a", "c"]
        assert thesaurus.problems == [Problem("l", 2, "not valid UTF-8")]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (gzip.compress(b"a\tb\n"), "not valid UTF-8"),  # named as if it were not packed
            (b"<html>\n<body>\n", "line 1: not a head: '<html>'"),
        ],
        ids=["packed", "html"],
    )
    def test_a_file_of_another_format_is_an_error(self, tmp_path, content, message):
        (tmp_path / "l").write_bytes(content)
        with pytest.raises(ValueError, match=r"l, line 1: .*; no line of the file could be read") as error:
            read_lists(tmp_path / "l", "antonym")
        assert message in str(error.value)

    @pytest.mark.parametrize("content", ["", "\n \n"])
    def test_an_empty_file_is_an_error(self, tmp_path, content):
        (tmp_path / "l").write_text(content)
        with pytest.raises(ValueError, match="l: is empty; expected a head and its words on each line"):
            read_lists(tmp_path / "l", "antonym")
        with pytest.raises(ValueError, match="l: is empty"):
            read_table(tmp_path / "l")


ADJECTIVES = """\
00000010 00 a 02 hot 0 heated 0 004 ! 00000020 a 0101 & 00000030 a 0000 ^ 00000060 a 0000 + 00000010 n 0101 | warm
00000020 00 a 01 cold 0 003 ! 00000010 a 0101 & 00000040 a 0000 & 00000050 a 0000 | not warm
00000030 00 s 02 torrid 0 tropical(a) 0 001 & 00000010 a 0000 | very hot
00000040 00 s 01 icy 0 001 & 00000020 a 0000 | very cold
00000050 00 s 02 chilly 0 hot 0 001 & 00000020 a 0000 | a trap: hot is a synonym here
00000060 00 a 01 fiery 0 001 < 00000010 v 0101 | like fire
"""
NOUNS = """\
00000010 06 n 01 heat 0 002 @ 00000020 n 0000 + 00000010 a 0101 | hotness
00000020 06 n 01 state 0 002 @ 00000030 n 0000 ~ 00000010 n 0000 | a condition
00000030 06 n 01 Entity 0 002 ~ 00000020 n 0000 ~i 00000040 n 0000 | all there is
00000040 15 n 01 Sahara 0 001 @i 00000030 n 0000 | an instance
"""
VERBS = "00000010 30 v 01 fire_up 0 000 01 + 08 00 | set on fire\n"
ADVERBS = "00000010 02 r 01 hotly 0 001 \\ 00000010 a 0102 | in a hot manner\n"


@pytest.fixture
def database(tmp_path):
    for name, pos, data in [
        ("adj", "a", ADJECTIVES),
        ("noun", "n", NOUNS),
        ("verb", "v", VERBS),
        ("adv", "r", ADVERBS),
    ]:
        (tmp_path / f"data.{name}").write_text(data)
        (tmp_path / f"index.{name}").write_text(f"x {pos} 1 0 1 0 00000010\n")
    return tmp_path


class TestWordNet:
    def row(self, thesaurus, name, relation):
        return words_of(thesaurus, relation)[thesaurus.entries.index(name)]

    def test_relations(self, database):
        thesaurus = read_wordnet(database)
        assert list(thesaurus) == ["synonym", "antonym", "contrast", "similar", "derived", "hypernym", "hyponym"]
        assert len(thesaurus.entries) == 12
        assert self.row(thesaurus, "00000030-a", "synonym") == {"torrid", "tropical"}
        assert self.row(thesaurus, "00000010-a", "similar") == {"torrid", "tropical", "fiery"}
        assert self.row(thesaurus, "00000010-a", "derived") == {"heat"}
        assert self.row(thesaurus, "00000060-a", "derived") == {"fire up"}  # a participle
        assert self.row(thesaurus, "00000010-r", "derived") == {"heated"}  # a pertainym, one word of its synset
        assert self.row(thesaurus, "00000010-n", "hypernym") == {"state"}
        assert self.row(thesaurus, "00000040-n", "hypernym") == {"entity"}
        assert self.row(thesaurus, "00000030-n", "hyponym") == {"state", "sahara"}
        assert self.row(thesaurus, "00000010-v", "hypernym") == set()

    def test_indirect_antonyms(self, database):
        thesaurus = read_wordnet(database)
        # the antonym, and the satellites of the antonym; not the word that is a synonym as well
        assert self.row(thesaurus, "00000010-a", "antonym") == {"cold", "icy", "chilly"}
        assert self.row(thesaurus, "00000020-a", "antonym") == {"hot", "heated", "torrid", "tropical", "fiery"}
        assert self.row(thesaurus, "00000030-a", "antonym") == {"cold"}
        assert self.row(thesaurus, "00000050-a", "antonym") == {"heated"}
        assert self.row(thesaurus, "00000060-a", "antonym") == set()

    def test_direct_antonyms(self, database):
        thesaurus = read_wordnet(database, indirect=False)
        assert self.row(thesaurus, "00000010-a", "antonym") == {"cold"}
        assert self.row(thesaurus, "00000020-a", "antonym") == {"hot", "heated"}
        assert self.row(thesaurus, "00000030-a", "antonym") == set()

    def test_contrasts(self, database):
        thesaurus = read_wordnet(database)
        assert self.row(thesaurus, "00000030-a", "contrast") == {"icy", "chilly", "hot"}  # one sense of hot
        assert self.row(thesaurus, "00000040-a", "contrast") == {"torrid", "tropical", "fiery"}
        # Heads have them as antonyms; fiery is no satellite.
        for name in ("00000010-a", "00000020-a", "00000060-a", "00000010-n"):
            assert self.row(thesaurus, name, "contrast") == set()
        direct = read_wordnet(database, indirect=False)
        assert self.row(direct, "00000040-a", "contrast") == {"torrid", "tropical", "fiery"}

    def test_depth(self, database):
        thesaurus = read_wordnet(database, depth=2)
        assert self.row(thesaurus, "00000010-n", "hypernym") == {"state", "entity"}
        assert self.row(thesaurus, "00000030-n", "hyponym") == {"state", "sahara", "heat"}
        assert self.row(thesaurus, "00000010-a", "similar") == {"torrid", "tropical", "fiery"}  # not deeper

    def test_choices(self, database):
        wordnet = WordNet(database)
        thesaurus = read_wordnet(wordnet, relations=["hypernym"], pos="n")
        assert list(thesaurus) == ["synonym", "hypernym"]
        assert [name[-1] for name in thesaurus.entries] == ["n"] * 4
        derived = read_wordnet(wordnet, relations=["derived"], pos="r")
        assert derived.words == ["hotly", "heated"]  # also of other parts of speech

    def test_problems_have_file_and_line(self, database):
        with open(database / "data.verb", "ab") as file:
            file.write(b"00000020 30 v 01 <b> 0 000 01 + 08 00 | not a word\n")
            file.write(b"00000030 30 v 01 go 0 001 @ 00000099 v 0000 01 + 08 00 | leads nowhere\n")
            file.write(b"00000040 30 v 01 caf\xe9 0 000 01 + 08 00 | latin-1\n")
            file.write(b"00000050 30 v\n00000010 30 v 01 again 0 000 01 + 08 00 | the first line's offset\n")
        (database / "index.noun").write_text("x n 1 0 1 0 00000010\ny n\n")
        (database / "noun.exc").write_text("wolves wolf\nalone\n")
        with pytest.warns(
            UserWarning, match=rf"^{database.name}: 7 words or lines .* line 2 of index.noun \(malf"
        ):
            thesaurus = read_wordnet(database)
        places = {(problem.file, problem.line): problem.what for problem in thesaurus.problems}
        assert list(places) == [
            *(("index.noun", 2), ("data.verb", 4), ("data.verb", 5)),
            *(("data.verb", 6), ("data.verb", 3), ("noun.exc", 2), ("data.verb", 2)),
        ]
        assert places["data.verb", 2] == "not a word: '<b>'"
        assert places["data.verb", 3].startswith("synset 00000030: points to what is not there")
        assert places["data.verb", 4] == "not valid UTF-8"
        assert places["data.verb", 6].startswith("synset 00000010 is there already, in line 1")
        assert len(thesaurus.entries) == 14
        assert self.row(thesaurus, "00000030-v", "hypernym") == set()

    def test_another_format_is_an_error(self, database):
        (database / "data.verb").write_text("<html>\n")
        with pytest.raises(ValueError, match=r"data.verb: line 1: malformed"):
            read_wordnet(database)

    def test_a_strict_wordnet_raises(self, database):
        (database / "data.verb").write_text(f"{VERBS}rubbish\n")
        with pytest.raises(ValueError, match=r"data.verb: line 2: malformed"):
            read_wordnet(WordNet(database))

    def test_bad_arguments(self, database):
        with pytest.raises(ValueError, match=r"relations: expected one of 'synonym'.*got 'meronym'"):
            read_wordnet(database, relations=["meronym"])
        with pytest.raises(ValueError, match="pos: expected letters of 'nvar', got 'x'"):
            read_wordnet(database, pos="x")
        with pytest.raises(ValueError, match="depth: expected at least 1, got 0"):
            read_wordnet(database, depth=0)
