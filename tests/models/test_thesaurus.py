"""Thesauri: readers, what they could not read, merging, and files."""

from __future__ import annotations

import lzma

import numpy as np
import pytest

import semproj as sj
from semproj.thesaurus import Thesaurus, UnknownWordError, normal_word
from semproj.thesaurus_readers import read_lists, read_table, read_wordnet
from tests.models.test_wordnet import write


def small() -> Thesaurus:
    relations = {"synonym": [[1, 1, 0, 0], [0, 0, 1, 0]], "antonym": [[0, 0, 1, 1], [1, 0, 0, 0]]}
    return Thesaurus(["hot", "warm", "cold", "icy"], ["hot", "cold"], relations)


def test_table(tmp_path):
    path = tmp_path / "table.tsv.xz"
    lines = ["Hot \\a\twarm|Very_Warm\tcold|icy", "", "only two\tcolumns", "cold\ticy|icy\thot", "\tx\ty"]
    path.write_bytes(lzma.compress("\n".join(lines).encode()))
    with pytest.warns(UserWarning, match="table.tsv.xz"):
        found = read_table(path)
    assert found.entries == ["hot", "cold"]
    assert found.related("hot", "antonym") == ["cold", "icy"]
    assert sorted(found.related("very warm", "synonym")) == ["hot", "warm"]
    assert {(problem.file, problem.line) for problem in found.problems} == {
        ("table.tsv.xz", 3),
        ("table.tsv.xz", 5),
    }
    assert "columns" in found.problems[0].what
    assert found["synonym"].toarray().max() == 1  # a word twice in an entry is one word


def test_lists(tmp_path):
    path = tmp_path / "moby.txt"
    path.write_text("hot,warm,burning\ncold,icy\nlonely\n", "utf-8")
    with pytest.warns(UserWarning, match="1"):
        found = read_lists(path, "synonym", separator=",")
    assert found.entries == ["hot", "cold"]
    assert found.related("hot", "synonym") == ["warm", "burning"]
    antonyms = tmp_path / "antonyms.txt"
    antonyms.write_text("hot\tcold\ticy\n", "utf-8")
    opposite = read_lists(antonyms, "antonym")
    assert opposite.related("hot", "antonym") == ["cold", "icy"]
    assert opposite["synonym"].nnz == 1


def test_merge_stacks_entries_over_one_vocabulary():
    other = Thesaurus(["cold", "chilly"], ["chilly"], {"synonym": [[1, 1]], "hypernym": [[0, 1]]})
    merged = small().merge(other)
    assert merged.words == ["hot", "warm", "cold", "icy", "chilly"]
    assert merged.entries == ["hot", "cold", "chilly"]
    np.testing.assert_array_equal(merged["synonym"].toarray(), [[1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 1]])
    np.testing.assert_array_equal(merged["antonym"].toarray()[2], 0)
    np.testing.assert_array_equal(merged["hypernym"].toarray()[:2], 0)


def test_merge_aligns_by_synonyms():
    """An entry goes to the row whose synonyms are most like its own: cosine 2 / sqrt(2 * 3) here."""
    other = Thesaurus(["warm", "hot", "tepid"], ["x"], {"synonym": [[1, 1, 1]], "antonym": [[0, 0, 0]]})
    merged = small().merge(other, align="synonyms", min_overlap=0.8)
    assert merged.entries == ["hot", "cold"]
    np.testing.assert_array_equal(merged["synonym"].toarray(), [[2, 2, 0, 0, 1], [0, 0, 1, 0, 0]])
    assert small().merge(other, align="synonyms", min_overlap=0.82).entries == ["hot", "cold", "x"]
    named = Thesaurus(["icy"], ["cold"], {"synonym": [[1]]})
    np.testing.assert_array_equal(small().merge(named, align="names")["synonym"].toarray()[1], [0, 0, 1, 1])


def test_save_and_load(tmp_path):
    small().save(tmp_path / "thesaurus.safetensors")
    loaded = sj.load(tmp_path / "thesaurus.safetensors")
    assert (loaded.words, loaded.entries) == (small().words, small().entries)
    for name, matrix in small().relations.items():
        np.testing.assert_array_equal(loaded[name].toarray(), matrix.toarray())


def test_words_are_normal():
    assert normal_word("  Ｔake_A\tBreath;") == "take a breath"
    assert "Hot" in small()
    assert "tepid" not in small()


def test_bad_input(tmp_path):
    with pytest.raises(ValueError, match="words: expected different words"):
        Thesaurus(["a", "a"], ["x"], {"synonym": [[1, 1]]})
    with pytest.raises(ValueError, match=r"'synonym': expected shape \(1, 2\)"):
        Thesaurus(["a", "b"], ["x"], {"synonym": [[1, 1, 1]]})
    with pytest.raises(KeyError, match="meronym"):
        small()["meronym"]
    with pytest.raises(UnknownWordError, match="nobody"):
        small().related("nobody", "synonym")
    with pytest.raises(ValueError, match="align"):
        small().merge(small(), align="luck")
    with pytest.raises(TypeError, match="others"):
        small().merge("x")
    with pytest.raises(ValueError, match="separator"):
        read_lists(tmp_path / "x", "synonym", separator="")
    with pytest.raises(OSError, match="nowhere"):
        read_table(tmp_path / "nowhere.tsv")


class TestWordNet:
    @pytest.fixture
    def folder(self, tmp_path):
        return write(tmp_path)

    def test_relations(self, folder):
        found = read_wordnet(folder)
        place = dict(zip(found.entries, range(len(found.entries)), strict=True))

        def words(entry: str, relation: str) -> set[str]:
            return {found.words[i] for i in found[relation][place[entry]].indices}

        assert words("00000020-n", "synonym") == {"wolf", "canis lupus"}
        assert words("00000020-n", "hypernym") == {"entity"}
        assert words("00000010-n", "hyponym") == {"wolf", "canis lupus", "glass", "drinking glass"}
        assert words("00000010-v", "derived") == {"cup"}  # one word of the synset that it points to
        assert words("00000010-a", "similar") == {"tiny", "bantam"}
        # A synset's antonyms are all words of the other; a satellite has those of its head, and is one of theirs.
        assert words("00000010-a", "antonym") == {"large", "big"}
        assert words("00000030-a", "antonym") == {"large", "big"}
        assert words("00000020-a", "antonym") == {"small", "tiny", "bantam"}

    def test_choices(self, folder):
        direct = read_wordnet(folder, indirect=False, relations=("antonym",), pos="a")
        assert list(direct) == ["synonym", "antonym"]
        assert all(name.endswith("-a") for name in direct.entries)
        assert direct.related("large", "antonym") == ["small"]
        with pytest.raises(KeyError):
            direct.related("wolf", "synonym")
        with pytest.raises(ValueError, match="pos"):
            read_wordnet(folder, pos="x")
        with pytest.raises(ValueError, match="relations"):
            read_wordnet(folder, relations=("meronym",))
