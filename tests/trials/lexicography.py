"""Lexicography: a thesaurus from a file, synonyms and opposites by three models, words that it lacks."""

from pathlib import Path

import numpy as np
import pytest

import semproj as sj
from semproj.thesaurus import UnknownWordError
from semproj.thesaurus_readers import read_table

Path("thesaurus.tsv").write_text(
    "hot\twarm|boiling|heated\tcold|icy\n"
    "cold\ticy|chilly|cool\thot|warm\n"
    "happy\tglad|joyful\tsad|gloomy\n"
    "sad\tgloomy|unhappy\thappy|glad\n"
    "table\tdesk|board\t\n"
)
thesaurus = read_table("thesaurus.tsv")
assert thesaurus.related("hot", "antonym")[0] in ("cold", "icy")

pilsa = sj.PILSA(n_components=4, random_state=0).fit(thesaurus)
mrlsa = sj.MRLSA(n_components=4, random_state=0).fit(thesaurus)
bptf = sj.BPTF(4, burn_in=30, n_samples=60, zeros=1.0, random_state=0).fit(thesaurus)
for model in (pilsa, bptf):
    assert {word for word, _ in model.most_similar("hot", 3)} == {"warm", "boiling", "heated"}
    assert model.most_opposite("happy", 1)[0][0] in ("sad", "gloomy", "unhappy")
assert mrlsa.degree("hot", "cold", "antonym") > mrlsa.degree("hot", "desk", "antonym")
assert bptf.predict("hot", "cold", "antonym") > 0.3 > bptf.predict("hot", "desk", "antonym")

# Saved with their words.
bptf.save("bptf.safetensors")
assert sj.load("bptf.safetensors").most_opposite("hot", 3) == bptf.most_opposite("hot", 3)

# Words that the thesaurus lacks, by their spelling.
space = sj.ExtendedWordSpace(pilsa.words_, pilsa.word_vectors_, entry_counts=pilsa.entry_counts_)
space.save("space.safetensors")
space = sj.load("space.safetensors")
assert space.embed(["boiled", "xyzzy"]).rules == ["stem", "none"]
assert space.similarity("boiled", "cold") < 0
np.testing.assert_array_equal(space.vectors, pilsa.word_vectors_)

# Slips.
for model in (pilsa, bptf, space):
    with pytest.raises(TypeError, match="words: expected a word"):
        model.most_opposite(5)
with pytest.raises(UnknownWordError, match="words: 'xyzzy' is not in the thesaurus"):
    bptf.most_similar("xyzzy")
with pytest.raises(UnknownWordError, match="j: 'xyzzy' is not in the thesaurus"):
    bptf.predict("hot", "xyzzy", "antonym")
with pytest.raises(TypeError, match=r"got a Thesaurus; write thesaurus.* PILSA, MRLSA and BPTF take a thesaurus"):
    sj.LSA(2).fit(thesaurus)
with pytest.raises(TypeError, match=r"thesaurus: expected a Thesaurus, got csr_matrix; write Thesaurus\(words"):
    sj.PILSA(2).fit(thesaurus["synonym"])
with pytest.raises(TypeError, match="got a Thesaurus; write a list of texts"):
    sj.TermCounter().fit(thesaurus)
with pytest.raises(ValueError, match=r"coords\[0\]: expected 0 or more, got -1"):
    sj.SparseTensor([[0, -1], [0, 1], [0, 0]], [1.0, 2.0])
Path("empty.tsv").touch()
with pytest.raises(ValueError, match=r"empty.tsv: is empty; expected"):
    read_table("empty.tsv")
