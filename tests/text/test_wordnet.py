"""WordNet files in a tiny database that is written here, in WordNet's own format."""

import io
import tarfile

import pytest

from semproj.lemmatizer import Lemmatizer
from semproj.wordnet import Frame, Pointer, WordNet

LICENSE = "  1 This is the license, in lines that begin with two spaces.  \n"
FILES = {
    "data.noun": """\
00000010 03 n 01 entity 0 002 ~ 00000020 n 0000 ~ 00000030 n 0000 | that which exists
00000020 05 n 02 wolf 0 canis_lupus 0 001 @ 00000010 n 0000 | any of various carnivores; "wolves howl"; "a pack"
00000030 06 n 02 glass 0 drinking_glass 0 001 @ 00000010 n 0000 | a "container" for drinking: "a glass of water"
00000040 06 n 02 glasses 0 spectacles 0 000 | optical instrument;
00000050 06 n 01 leaf 0 000 | part of a plant
00000060 06 n 01 cupful 0 000 | what a cup holds
00000070 06 n 01 cup 0 000 | a vessel
00000080 15 n 02 WA 0 Washington 0 000 | a state
00000090 18 n 01 attorney_general 0 000 | a chief officer
00000100 06 n 01 left 0 000 | a side
00000110 06 n 01 bee 0 000 | an insect
00000120 06 n 01 stranger 0 000 | one not known
00000130 06 n 01 hi 0 000 | a greeting
00000140 10 n 01 word 0 000 | a unit of language
00000150 10 n 01 words 0 000 | what is said
00000160 26 n 01 pus 0 000 | a fluid
00000170 27 n 01 Pu 0 000 | a metal
00000180 06 n 01 building 0 000 | a structure
00000190 04 n 01 funding 0 000 | the act of paying
""",
    "data.verb": """\
00000010 29 v 02 breathe 0 take_a_breath 0 001 + 00000070 n 0201 02 + 02 00 + 08 02 | draw air; "breathe in"
00000020 38 v 01 leave 0 000 01 + 02 00 | go away
00000030 42 v 01 be 0 000 01 + 06 00 | exist
00000040 38 v 01 run 0 000 01 + 02 00 | move fast
00000050 31 v 01 look_after 0 000 01 + 08 00 | keep safe
00000060 29 v 01 box 0 000 01 + 02 00 | fight
00000070 36 v 01 build 0 000 01 + 08 00 | make
00000080 40 v 01 fund 0 000 01 + 08 00 | pay for
""",
    "data.adj": """\
00000010 00 a 01 small 0 002 ! 00000020 a 0101 & 00000030 a 0000 | limited; "a small car"
00000020 00 a 02 large 0 big 0 001 ! 00000010 a 0101 | above average
00000030 00 s 02 tiny 0 bantam(a) 0 001 & 00000010 s 0000 | very small
00000040 00 a 01 galore(ip) 0 000 | in great numbers
00000050 00 a 01 afraid(p) 0 000 | filled with fear
00000060 00 a 01 good 0 000 | having merit
00000070 00 a 01 better 0 000 | superior
00000080 00 a 01 strange 0 000 | unusual
00000090 00 a 01 left 0 000 | on that side
00000100 00 a 01 funded 0 000 | paid for
""",
    "data.adv": "00000010 02 r 01 well 0 000 | in a good manner\n",
    "noun.exc": "wolves wolf\nleaves leaf\naxes ax\naxes axis\n",
    "verb.exc": "was be\nwere be\nleft leave\nleaves leave\nran run\nrunning run\ntook take\n",
    "adj.exc": "better good well\nbest good\n",
    "index.sense": """\
be%2:42:00:: 00000030 1 1000
leave%2:38:00:: 00000020 1 100
leaf%1:06:00:: 00000050 1 10
left%3:00:00:: 00000090 1 20
small%3:00:00:: 00000010 1 40
good%3:00:00:: 00000060 1 200
better%3:00:00:: 00000070 1 30
well%4:02:00:: 00000010 1 200
strange%3:00:00:: 00000080 1 30
stranger%1:06:00:: 00000120 1 10
wolf%1:05:00:: 00000020 1 5
glass%1:06:00:: 00000030 1 40
glasses%1:06:00:: 00000040 1 5
word%1:10:00:: 00000140 1 20
words%1:10:00:: 00000150 1 10
building%1:06:00:: 00000180 1 10
build%2:36:00:: 00000070 1 20
tiny%5:00:00:small:00 00000030 1 7
""",
}
ENTITY = "00000010 03 n 01 entity 0 000 | that which exists"
POS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


def index_of(data: str, pos: str) -> str:
    """index.* as WordNet would have it for this data: each lemma with its synsets."""
    senses: dict[str, list[str]] = {}
    for line in data.splitlines():
        fields = line.split("|")[0].split()
        for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]:
            senses.setdefault(word.lower().partition("(")[0], []).append(fields[0])
    return "".join(f"{w} {pos} {len(s)} 1 @ {len(s)} 0 {' '.join(s)}  \n" for w, s in sorted(senses.items()))


def database(**changed: str | None) -> dict[str, str]:
    """The files; those that are named are replaced, or left out when None (a double underscore is the dot)."""
    files = {**FILES, **{name.replace("__", "."): text for name, text in changed.items()}}
    files = {name: text for name, text in files.items() if text is not None}
    for name, pos in POS.items():
        if f"data.{name}" in files:
            files.setdefault(f"index.{name}", index_of(FILES[f"data.{name}"], pos))
    return {name: LICENSE + text if name.startswith(("data", "index.")) else text for name, text in files.items()}


def write(folder, **changed):
    for name, text in database(**changed).items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def wordnet(tmp_path):
    return WordNet(write(tmp_path))


def test_synsets(wordnet):
    assert len(wordnet.synsets) == sum(FILES[f"data.{name}"].count("\n") for name in POS)
    wolf = wordnet.synsets["n", 20]
    assert wolf.words == ("wolf", "canis lupus")
    assert wolf.definition == "any of various carnivores"
    assert wolf.examples == ("wolves howl", "a pack")
    assert wolf.pointers == (Pointer("@", "n", 10, None, None),)
    assert wolf.frames == ()
    assert not wolf.satellite


def test_a_quotation_inside_a_definition_is_not_an_example(wordnet):
    glass = wordnet.synsets["n", 30]
    assert (glass.definition, glass.examples) == ('a "container" for drinking', ("a glass of water",))
    assert wordnet.synsets["n", 40].definition == "optical instrument"


def test_word_level_pointers_and_frames(wordnet):
    breathe = wordnet.synsets["v", 10]
    assert breathe.pointers == (Pointer("+", "n", 70, 1, 0),)
    assert breathe.frames == (Frame(2, None), Frame(8, 1))
    assert wordnet.synsets["a", 10].pointers[0] == Pointer("!", "a", 20, 0, 0)


def test_satellites_and_markers(wordnet):
    tiny = wordnet.synsets["a", 30]
    assert tiny.satellite
    assert tiny.pos == "a"
    assert tiny.words == ("tiny", "bantam")
    assert tiny.markers == ("", "a")
    assert tiny.pointers == (Pointer("&", "a", 10, None, None),)  # the file may say s, which is no file of its own
    assert wordnet.synsets["a", 40].markers == ("ip",)
    assert wordnet.synsets["a", 50].markers == ("p",)
    assert wordnet.has_lemma("galore", "a")


def test_senses_and_lemmas(wordnet):
    verbs = ["be", "box", "breathe", "build", "fund", "leave", "look after", "run", "take a breath"]
    assert wordnet.lemmas("v") == verbs
    assert [synset.offset for synset in wordnet.senses("Canis_Lupus", "n")] == [20]
    assert wordnet.senses("wolves", "n") == []
    assert wordnet.has_lemma("wa", "n")
    assert not wordnet.has_lemma("wa", "v")


def test_senses_come_in_the_order_of_the_index(tmp_path):
    index = "cup n 2 0 2 1 00000070 00000010\n"
    wordnet = WordNet(write(tmp_path, index__noun=index))
    assert [synset.offset for synset in wordnet.senses("cup", "n")] == [70, 10]


@pytest.mark.parametrize(
    ("word", "pos", "bases"),
    [
        ("wolves", "n", ["wolf"]),  # exception
        ("Wolf", "n", ["wolf"]),
        ("glasses", "n", ["glasses", "glass"]),  # itself first, then -ses -> -s
        ("glass", "n", ["glass"]),
        ("strangers", "n", ["stranger"]),
        ("cupfuls", "n", ["cupful"]),
        ("cupsful", "n", ["cupful"]),  # what comes before -ful is inflected
        ("attorneys general", "n", []),  # "attorney" and "general" are not lemmas here
        ("attorney_generals", "n", ["attorney general"]),
        ("breathed", "v", ["breathe"]),
        ("breathing", "v", ["breathe"]),
        ("boxes", "v", ["box"]),
        ("ran", "v", ["run"]),
        ("looked_after", "v", []),  # "look" is not a lemma here
        ("better", "a", ["better", "good"]),  # "well" is not an adjective here
        ("larger", "a", ["large"]),
        ("smallest", "a", ["small"]),
        ("well", "r", ["well"]),
        ("welly", "r", []),
        ("hi", "n", ["hi"]),
        ("left", None, ["left", "leave"]),
        ("nothing like it", None, []),
    ],
)
def test_morphy(wordnet, word, pos, bases):
    assert wordnet.morphy(word, pos) == bases


def test_morphy_takes_collocations_apart(tmp_path):
    verbs = ["look", "look_after", "breathe", "breathe-in", "take", "take_a_breath", "set", "set_doing", "do"]
    nouns = ["attorney", "attorney_general"]
    indices = ["".join(f"{w} x 1 0 1 0 00000010\n" for w in words) for words in (verbs, nouns)]
    wordnet = WordNet(write(tmp_path, index__verb=indices[0], index__noun=indices[1]))
    assert wordnet.morphy("attorneys general", "n") == ["attorney general"]
    assert wordnet.morphy("looked_after", "v") == ["look after"]
    assert wordnet.morphy("breathed-in", "v") == ["breathe-in"]
    assert wordnet.morphy("took a breath", "v") == ["take a breath"]
    assert wordnet.morphy("sets doing", "v") == ["set doing"]  # not "set do"


def test_two_lines_for_one_exception_are_both_used(tmp_path):
    nouns = "ax n 1 0 1 0 00000010\naxis n 1 0 1 0 00000010\n"
    wordnet = WordNet(write(tmp_path, index__noun=nouns))
    assert wordnet.morphy("axes", "n") == ["ax", "axis"]


def test_tag_counts(wordnet):
    assert wordnet.tag_counts["be", "v"] == 1000
    assert wordnet.tag_counts["tiny", "a"] == 7
    assert ("be", "n") not in wordnet.tag_counts


@pytest.mark.parametrize(
    ("file", "line"), [("cntlist.rev", "be%2:42:00:: 1 1000\n"), ("cntlist", "1000 be%2:42:00:: 1\n")]
)
def test_tag_counts_of_other_files(tmp_path, file, line):
    wordnet = WordNet(write(tmp_path, index__sense=None, **{file.replace(".", "__"): line}))
    assert wordnet.tag_counts == {("be", "v"): 1000}


def test_tag_counts_of_the_index(tmp_path):
    index = "be v 3 1 @ 3 2 00000030 00000010 00000020\nrun v 1 0 1 0 00000040\n"
    wordnet = WordNet(write(tmp_path, index__sense=None, index__verb=index))
    assert wordnet.tag_counts["be", "v"] == 2
    assert wordnet.tag_counts["run", "v"] == 0


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("was", "be"),
        ("left", "leave"),  # although a lemma itself
        ("leaves", "leave"),
        ("wolves", "wolf"),
        ("glasses", "glass"),
        ("better", "good"),
        ("best", "good"),
        ("smaller", "small"),
        ("words", "word"),  # tagged as a lemma of its own, but less often: 0.7 of 10 is more than 0.3 of 20
        ("pus", "pus"),  # not the plural of "Pu", which is no more frequent
        ("building", "building"),
        ("funding", "fund"),  # never tagged as a noun
        ("funded", "fund"),
        ("stranger", "stranger"),  # a noun, rather than a comparative
        ("running", "run"),
        ("bees", "bee"),  # not "be" + "es"
        ("boxes", "box"),
        ("his", "his"),
        ("Wolves", "wolf"),
        ("Xyzzy", "xyzzy"),
        ("2012", "2012"),
        ("", ""),
    ],
)
def test_lemmatizer(wordnet, word, lemma):
    lemmatizer = Lemmatizer(wordnet)
    assert lemmatizer([word]) == [lemma]
    assert lemmatizer([word, word]) == [lemma, lemma]


def test_lemmatizer_splits_texts(wordnet):
    lemmas = Lemmatizer(wordnet)("Wolves' well-known: was_left, 3 LEAVES.")
    assert lemmas == ["wolf", "well", "known", "be", "leave", "3", "leave"]


def test_without_counts_nouns_come_first(tmp_path):
    lemmatizer = Lemmatizer(WordNet(write(tmp_path, index__sense=None)))
    assert lemmatizer(["leaves", "box", "boxes", "bees"]) == ["leaf", "box", "box", "bee"]


@pytest.mark.parametrize("compression", ["", "gz", "xz"])
def test_archive_is_the_folder(tmp_path, compression):
    archive = tmp_path / f"wn.tar.{compression}"
    with tarfile.open(archive, f"w:{compression}") as file:
        for name, text in database().items():
            member = tarfile.TarInfo(f"wordnet/dict/{name}")
            member.size = len(text.encode())
            file.addfile(member, io.BytesIO(text.encode()))
    folder = tmp_path / "folder"
    folder.mkdir()
    ours, same = WordNet(archive), WordNet(write(folder))
    assert ours.synsets == same.synsets
    assert ours.morphy("wolves") == same.morphy("wolves") == ["wolf"]
    assert ours.tag_counts == same.tag_counts


def test_missing_parts_of_speech_are_empty(tmp_path):
    wordnet = WordNet(write(tmp_path, data__noun=None, data__adv=None))
    assert wordnet.lemmas("n") == []
    assert {pos for pos, _ in wordnet.synsets} == {"v", "a"}  # a pointer to a noun is not an error then
    assert wordnet.morphy("boxes") == ["box"]


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("data__noun", "00000010 03 n 02 entity 0 000 | two words announced", "data.noun: line 2: malformed"),
        ("data__noun", "00000010 03 n 00 000 | no words", "data.noun: line 2: .*counts"),
        ("data__noun", "0000x010 03 n 01 entity 0 000 | offset", "data.noun: line 2: .*0000x010"),
        ("data__noun", "00000010 03 n 01 entity 0 002 ~ 00000020 n 0000 | one pointer", "data.noun: line 2"),
        ("data__noun", "00000010 03 n 01 entity 0 000 rubbish | too much", "data.noun: line 2: .*counts"),
        ("data__noun", "00000010 03 q 01 entity 0 000 | type", "data.noun: line 2: .*'q'"),
        ("data__noun", "00000010 03 v 01 entity 0 000 | another file's", "data.noun: line 2: .*00000010 .*'v'"),
        (
            "data__noun",
            "00000010 03 n 01 entity 0 001 ~ 99999999 n 0000 | nowhere",
            "data.noun: line 2: synset 00000010: points to .*99999999",
        ),
        ("data__noun", f"{ENTITY}\n{ENTITY}", "data.noun: line 3: synset 00000010 is there already, in line 2"),
        ("data__noun", "00000010 03 n 01 entity 0 001 + 00000010 n 0109 | no such word", "00000010: points to"),
        ("data__noun", "00000010 03 n 01 entity 0 001 + 00000010 n 0301 | no such word", "00000010: points to"),
        ("data__verb", "00000010 29 v 01 run 0 000 02 + 02 00 | frames", "data.verb: line 2"),
        ("data__verb", "00000010 29 v 01 run 0 000 01 * 02 00 | frames", "data.verb: line 2: .*frame"),
        ("index__noun", "wolf n 2 0 2 0 00000020", "index.noun: line 2: .*2 synsets announced, 1 given"),
        ("index__noun", "wolf n", "index.noun: line 2"),
        ("noun__exc", "wolves", "noun.exc: line 1: .*no base"),
        ("index__sense", "be%9:42:00:: 00000030 1 1000", "index.sense: line 2"),
        ("index__sense", "be%2:42:00:: 00000030 1 many", "index.sense: line 2.*many"),
    ],
)
def test_malformed_lines_name_file_and_line(tmp_path, file, line, message):
    write(tmp_path, **{file: line + "\n"})
    if file == "index__noun":
        with pytest.raises(ValueError, match=message):
            WordNet(tmp_path)
        return
    wordnet = WordNet(tmp_path)
    for _ in range(2):  # it does not go away
        with pytest.raises(ValueError, match=message):
            read_everything(wordnet)


@pytest.mark.parametrize(
    ("file", "line", "what"),
    [
        ("data.noun", b"00000200 03 n 00 000 | no words", "malformed (counts do not match"),
        ("data.noun", b"00000200 03 v 01 entity 0 000 | another file's", "malformed (synset 00000200 is of type"),
        ("data.noun", b"00000200 03 n 01 caf\xe9 0 000 | latin-1", "not valid UTF-8"),
        ("data.noun", ENTITY.encode(), "synset 00000010 is there already, in line 2"),
        (
            "data.verb",
            b"00000200 29 v 01 go 0 001 @ 99999999 v 0000 01 + 02 00 | nowhere",
            "synset 00000200: points",
        ),
        ("index.noun", b"wolves n", "malformed (list index out of range): 'wolves n'"),
        ("noun.exc", b"alone", "malformed (no base form): 'alone'"),
        ("index.sense", b"be%9:42:00:: 00000030 1 1000", "malformed ('9')"),
    ],
)
def test_problems_are_noted_instead(tmp_path, file, line, what):
    """All other lines are read, and what is left out is told with file and line."""
    write(tmp_path)
    expected = WordNet(tmp_path)
    number = (tmp_path / file).read_bytes().count(b"\n") + 1
    with open(tmp_path / file, "ab") as opened:
        opened.write(line + b"\n")
    wordnet = WordNet(tmp_path, strict=False)
    synsets, counts = read_everything(wordnet)
    (problem,) = wordnet.problems
    assert (problem.file, problem.line) == (file, number)
    assert problem.what.startswith(what)
    assert counts == expected.tag_counts
    assert wordnet.morphy("wolves") == ["wolf"]
    kept = {key: synset for key, synset in synsets.items() if key != ("v", 200)}
    assert kept == expected.synsets
    if file == "data.verb":
        assert synsets["v", 200].pointers == ()
        assert wordnet.location(synsets["v", 200]) == ("data.verb", number)


def test_what_points_to_a_line_left_out(tmp_path):
    nouns = FILES["data.noun"].replace("00000010 03 n 01", "00000010 03 n 07")
    wordnet = WordNet(write(tmp_path, data__noun=nouns), strict=False)
    assert wordnet.synsets["n", 20].pointers == ()
    assert [(problem.line, problem.what.partition(" (")[0][:31]) for problem in wordnet.problems] == [
        (2, "malformed"),
        (3, "synset 00000020: points to what"),
        (4, "synset 00000030: points to what"),
    ]
    assert wordnet.senses("entity", "n") == []


def test_a_file_of_another_format_is_an_error(tmp_path):
    write(tmp_path, data__noun="<html>\n<body>\n")
    with pytest.raises(ValueError, match=r"data.noun: line 2: malformed .*<html>"):
        WordNet(tmp_path, strict=False).synsets  # noqa: B018


def read_everything(wordnet):
    wordnet.morphy("wolves")
    return wordnet.synsets, wordnet.tag_counts


def test_an_index_without_its_synset(tmp_path):
    wordnet = WordNet(write(tmp_path, index__noun="wolf n 1 0 1 0 00000021\n"))
    with pytest.raises(ValueError, match=r"index.noun: 'wolf'.*21"):
        wordnet.senses("wolf", "n")


def test_other_errors(tmp_path, wordnet):
    with pytest.raises(ValueError, match=r"pos: expected one of 'n', 'v', 'a', 'r', got 'noun'"):
        wordnet.lemmas("noun")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match=r"index\.noun"):
        WordNet(empty)
    with pytest.raises(FileNotFoundError):
        WordNet(tmp_path / "nowhere")
    rubbish = tmp_path / "rubbish.tar.xz"
    rubbish.write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"path: .*rubbish.tar.xz: neither"):
        WordNet(rubbish)
    (empty / "index.noun").write_bytes(b"fine n 1 0 1 0 00000010\n\xff n 1 0 1 0 00000010\n")
    with pytest.raises(ValueError, match=r"index.noun: line 2: not valid UTF-8"):
        WordNet(empty)
