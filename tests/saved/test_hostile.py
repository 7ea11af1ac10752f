"""Files with right checksums that somebody wrote on purpose: an error of one kind, or a model that works."""

from __future__ import annotations

import json

import numpy as np
import pytest

import semproj as sj
from semproj import SavedModelError, load
from semproj._common.persistence import read_file
from tests.saved.fixtures import FOLDER, MODELS, vectors
from tests.support import same_bits
from tests.support.saving import join, rewrite, split

FILES = FOLDER / "v0.1.0"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model"


def refused(path, words=""):
    for verify in (True, False):
        with pytest.raises(SavedModelError, match=f"{path.name}: .*{words}"):
            load(path, verify=verify)


def changed(path, name, arrays=(), **description):
    """The file of a model with other arrays (None: without it), or another description."""
    old_arrays, old_description = read_file(FILES / f"{name}.safetensors")
    merged = {**old_arrays, **dict(arrays)}
    rewrite(path, {k: v for k, v in merged.items() if v is not None}, {**old_description, **description})


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


class TestHeaders:
    @pytest.mark.parametrize(
        "header",
        [
            b'{"a":' * 100_000,
            b'{"__metadata__":' + b"[" * 100_000,
            json.dumps({"a": tensor("F32", [2**63], 0, 2**65)}).encode(),
            json.dumps({"a": tensor("F32", [2**32, 2**32], 0, 0)}).encode(),
            json.dumps({"a": tensor("F32", [0, 2**63], 0, 0)}).encode(),
            json.dumps({"a": tensor("F32", [0, 2**70], 0, 0)}).encode(),
            json.dumps({"a": tensor("F32", [1] * 100, 0, 4)}).encode(),
            json.dumps({"a": tensor("F32", [10**4000, 0], 0, 0)}).encode(),
            json.dumps({"a": tensor("F32", [1], 10**4000, 10**4000 + 4)}).encode(),
            json.dumps({"a": tensor("F32", [True], 0, 4)}).encode(),
            json.dumps({"a": tensor(["F32"], [1], 0, 4)}).encode(),
            json.dumps({"a": tensor("F32", [1], 0, 4) | {"more": 1}}).encode(),
            b'{"a": {"dtype": "F32", "shape": [' + b"9" * 5000 + b'], "data_offsets": [0, 4]}}',
            b'{"a": {"dtype": "F32", "shape": [NaN], "data_offsets": [0, Infinity]}}',
        ],
    )
    def test_extreme(self, path, header):
        join(path, header, bytes(4))
        refused(path)

    @pytest.mark.parametrize(
        "places",
        [
            [(0, 8), (0, 8)],
            [(0, 8), (4, 12)],
            [(0, 8), (16, 24)],
            [(8, 16), (16, 24)],
            [(0, 8), (8, 16)],
        ],
        ids=["same", "overlapping", "with a gap", "late", "too short"],
    )
    def test_tensors_not_one_behind_the_other(self, path, places):
        header = {name: tensor("U8", [8], *place) for name, place in zip("ab", places, strict=True)}
        join(path, header, bytes(24))
        refused(path, "damaged header|longer than")

    def test_keys_that_are_there_twice(self, path):
        whole = (FILES / "lsa_float32.safetensors").read_bytes()
        path.write_bytes(whole)
        header, data = split(path)
        text = json.dumps(header).encode()
        join(path, text[:-1] + b', "components_": ' + json.dumps(header["components_"]).encode() + b"}", data)
        refused(path, "damaged header")

    def test_notes_that_are_not_strings(self, path):
        path.write_bytes((FILES / "lsa_float32.safetensors").read_bytes())
        header, data = split(path)
        header["__metadata__"]["format"] = 1
        join(path, header, data)
        refused(path, "damaged header")

    def test_arrays_that_the_file_does_not_align(self, path):
        """Another writer need not pad its header: the arrays are copied."""
        expected = load(FILES / "lsa_centred_float64.safetensors")
        path.write_bytes((FILES / "lsa_centred_float64.safetensors").read_bytes())
        header, data = split(path)
        for spaces in range(8):
            join(path, json.dumps(header).encode() + b" " * spaces, data)
            model = load(path)
            assert model.components_.flags.aligned
            assert not model.components_.flags.writeable
            assert same_bits(model.components_, expected.components_)
            assert same_bits(vectors(model), vectors(expected))


class TestDescriptions:
    @pytest.mark.parametrize(
        "description",
        [
            {"class": 3},
            {"class": {}},
            {"class": "CustomWeighting"},
            {"class": "RawRelations"},
            {"class": "OPCA"},
            {"class": "Thesaurus"},
            {"parameters": [["n_components", 3]] * 2},
            {"parameters": {"n_components": "3"}},
            {"parameters": {"n_components": -1}},
            {"parameters": {"tol": 10**400}},
            {"parameters": {"n_threads": "many"}},
            {"parameters": {"n_threads": -5}},
            {"parameters": {"solver": ["lanczos"]}},
            {"parameters": {"self": 1}},
            {"scalars": {}},
            {"scalars": {"transform": 1}},
            {"scalars": {"n_features_in_": 13, "n_samples_seen_": 7, "_sum_of_squares": 1.0}},
            {"scalars": {"n_features_in_": 12.0, "n_samples_seen_": 7, "_sum_of_squares": 1.0}},
            {"scalars": {"n_features_in_": 12, "n_samples_seen_": 10**400, "_sum_of_squares": "1"}},
            {"scalars": {"n_features_in_": 12, "n_samples_seen_": 7, "_sum_of_squares": 10**400}},
            {"parts": []},
            {"parts": [1]},
            {"parts": {"components_": {}}},
            {"parts": {"transform": {"class": "Thesaurus", "parameters": {}, "scalars": {}, "parts": {}}}},
        ],
        ids=lambda changes: json.dumps(changes)[:60],
    )
    def test_of_other_kinds(self, path, description):
        changed(path, "lsa_float32", **description)
        refused(path)

    def test_deep(self, path):
        arrays, description = read_file(FILES / "encoder.safetensors")
        for _ in range(150):
            description = {"class": "Encoder", "parameters": {}, "scalars": {}, "parts": {"model": description}}
        rewrite(path, {"model/" * 150 + name: array for name, array in arrays.items()}, description)
        refused(path)

    @pytest.mark.parametrize("which", ["model", "checksums"])
    def test_json_that_is_too_deep(self, path, which):
        import zlib

        path.write_bytes((FILES / "lsa_float32.safetensors").read_bytes())
        header, data = split(path)
        notes = header["__metadata__"]
        notes[which] = "[" * 200_000
        del notes["checksum"]
        notes["checksum"] = str(zlib.crc32(json.dumps(notes, sort_keys=True).encode()))
        join(path, header, data)
        refused(path, "damaged header")

    def test_parts_of_other_kinds(self, path):
        _, description = read_file(FILES / "encoder.safetensors")
        parts = description["parts"]
        for wrong in ({**parts, "model": parts["weighting"]}, {**parts, "counter": parts["weighting"]}, {}):
            changed(path, "encoder", parts=wrong)
            refused(path)
        _, description = read_file(FILES / "cllsi.safetensors")
        changed(path, "cllsi", parts={"weighting_": parts["counter"]})
        refused(path)


class TestArrays:
    @pytest.mark.parametrize("name", MODELS)
    def test_each_is_looked_at(self, path, name):
        """Missing, with an axis more or less, of another dtype, longer or shorter: no class takes such an array.

        But for another precision, which some models may have, and for lengths that nothing else has.
        """
        arrays, description = read_file(FILES / f"{name}.safetensors")
        for each, array in arrays.items():
            spoilt = {"missing": None, "nested": array[None]}
            spoilt["integer"] = array.astype(np.int16)
            spoilt["precise"] = array.astype(np.float64 if array.dtype != np.float64 else np.float32)
            if not each.startswith(("model1", "hmm", "jump_weights_", "gaps_", "factor_", "view_words_")):
                spoilt |= {"longer": np.resize(array, (len(array) + 1, *array.shape[1:])), "shorter": array[:-1]}
            for how, value in spoilt.items():
                optional = each.rpartition("/")[2] in ("mean_", "objective_", "entry_counts", "word_counts_")
                if (how == "missing" and optional) or (how == "shorter" and len(array) == 0):
                    continue
                rewrite(path, {k: v for k, v in {**arrays, each: value}.items() if v is not None}, description)
                try:
                    model = load(path)
                except SavedModelError:
                    continue
                assert how == "precise", f"{each} that is {how}"
                assert vectors(model).shape == vectors(load(FILES / f"{name}.safetensors")).shape
        rewrite(path, {**arrays, "more": np.zeros(3)}, description)
        refused(path)

    @pytest.mark.parametrize(
        ("name", "array", "value"),
        [
            ("nearest_neighbor", "codes_", 3),
            ("nearest_neighbor", "codes_", -1),
            ("thesaurus", "relation_0_indices", 2**31 - 1),
            ("thesaurus", "relation_1_indices", -1),
            ("thesaurus", "relation_0_indptr", 2**30),
            ("thesaurus", "word_offsets", -(2**62)),
            ("thesaurus", "entry_offsets", 2**62),
            ("wordbyword", "translation_indices", 12),
            ("wordbyword", "translation_indptr", -1),
            ("wordbyword", "source_counter_/term_offsets", 2**62),
            ("plsa", "view_starts_", 1),
            ("jplsa_separate", "view_starts_", 2**62),
            ("cplsa_separate", "view_starts_", -5),
            ("encoder", "counter/term_offsets", 2**40),
            ("encoder", "counter/terms", 0xFF),
            ("context_space", "word_offsets", 10**6),
            ("context_space", "vectors", np.nan),
            ("bptf", "_sweeps_kept", -1),
            ("pilsa", "words", 0xFF),
        ],
    )
    def test_numbers_that_point_somewhere(self, path, name, array, value):
        arrays, description = read_file(FILES / f"{name}.safetensors")
        for place in {0, len(arrays[array]) // 2, len(arrays[array]) - 1}:
            spoilt = arrays[array].copy()
            spoilt[place] = value
            rewrite(path, {**arrays, array: spoilt}, description)
            refused(path)

    def test_words_that_are_there_twice(self, path):
        for name, text, offsets in (
            ("pilsa", "words", "word_offsets"),
            ("mrlsa", "words", "word_offsets"),
            ("encoder", "counter/terms", "counter/term_offsets"),
        ):
            arrays, description = read_file(FILES / f"{name}.safetensors")
            n = len(arrays[offsets]) - 1
            same = {text: np.full(n, ord("a"), np.uint8), offsets: np.arange(n + 1)}
            rewrite(path, {**arrays, **same}, description)
            refused(path)

    def test_widths_of_views(self, path):
        for widths in ([24], [12, 13], [12, -12, 24], [12.0, 12], ["12", 12], [], None, [2**62, 2**62]):
            _, description = read_file(FILES / "cca.safetensors")
            changed(path, "cca", scalars={**description["scalars"], "_widths": widths})
            if widths == [24]:  # one view, as wide as both
                assert load(path).transform(np.ones((1, 24))).shape == (1, 3)
            else:
                refused(path)

    def test_reports_of_sweeps(self, path):
        whole = {"evaluations": 1, "unconverged": 0, "gap": 0.5}
        for report in ({}, 3, {**whole, "gap": "0"}, {**whole, "unconverged": -1}, {**whole, "more": 1}):
            _, description = read_file(FILES / "cplsa.safetensors")
            changed(path, "cplsa", scalars={**description["scalars"], "projection_": [whole, report]})
            refused(path)
            views = [np.eye(6, dtype=np.float32)] * 2
            sj.CPLSA(2, init="frequency", max_iter=2, tol=0, checkpoint=path.with_name("state")).fit(views)
            arrays, description = read_file(path.with_name("state"))
            description["state"]["sweeps"]["projection"] = [whole, report]
            rewrite(path.with_name("state"), arrays, description)
            with pytest.raises(ValueError, match=r"checkpoint: .*state"):
                sj.CPLSA(2, init="frequency", max_iter=3, tol=0, checkpoint=path.with_name("state")).fit(views)
            path.with_name("state").unlink()

    def test_labels(self, path):
        _, description = read_file(FILES / "nearest_neighbor.safetensors")
        for labels, dtype in (
            (["a", "b", "c"], "<U500000000"),
            (["a", "b", "c"], "<i8"),
            (["a", "b"], "<U1"),
            ([["a"], ["b"], ["c"]], "|O"),
            ([None, {}, []], "|O"),
            (["a", "b", "c"], "<c16"),
            (["a", "b", "c"], "no such"),
            ("abc", "<U1"),
            (None, "<U1"),
        ):
            scalars = {**description["scalars"], "classes": labels, "classes_dtype": dtype}
            changed(path, "nearest_neighbor", scalars=scalars)
            refused(path)
        scalars = {**description["scalars"], "classes": ["a", "b", "c" * 5000], "classes_dtype": "<U5000"}
        changed(path, "nearest_neighbor", scalars=scalars)
        assert load(path).classes_.dtype == "<U5000"


def test_what_is_not_needed_is_none(tmp_path):
    """A model without a mean does after loading what it did before."""
    X = np.random.default_rng(0).random((20, 6))
    model = sj.LSA(2, random_state=0).fit(X)
    model.save(tmp_path / "m")
    Z = np.eye(2)
    assert same_bits(load(tmp_path / "m").inverse_transform(Z), model.inverse_transform(Z))
