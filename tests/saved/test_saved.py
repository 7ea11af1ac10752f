"""Files: whole, damaged, foreign, from earlier versions."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import save_file
from sklearn.exceptions import NotFittedError

import semproj as sj
from semproj import SavedModelError, load
from tests.saved.fixtures import FOLDER, MODELS, QUERY, TEXTS, vectors
from tests.support import random_counts, same_bits
from tests.support.saving import join, split

X = random_counts(60, 40, 0.2, dtype=np.float64)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    sj.LSA(3, center=True, random_state=0).fit(X).save(path)
    return path


class TestEarlierVersions:
    """Files committed with the version that wrote them: every later one must read them, to the same vectors."""

    @pytest.mark.parametrize(
        "version", sorted(p.name for p in FOLDER.iterdir() if p.is_dir() and p.name[0] == "v")
    )
    @pytest.mark.parametrize("name", MODELS)
    def test_still_read(self, version, name):
        model = load(FOLDER / version / f"{name}.safetensors")
        expected = np.load(FOLDER / version / f"{name}.npy")
        np.testing.assert_allclose(vectors(model), expected, rtol=1e-5, atol=1e-6)

    def test_this_version_is_among_them(self):
        assert (FOLDER / "v0.1.0").is_dir()
        assert len(TEXTS) > len(QUERY)


class TestRoundTrip:
    @pytest.mark.parametrize("name", MODELS)
    def test_same_bits(self, name, tmp_path):
        model = MODELS[name]()
        model.save(tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert same_bits(vectors(loaded), vectors(model))
        loaded.save(tmp_path / "again")
        assert same_bits(vectors(load(tmp_path / "again")), vectors(model))

    def test_arrays_are_mapped_and_read_only(self, saved):
        for verify in (True, False):
            model = load(saved, verify=verify)
            base = model.components_
            while base.base is not None and not isinstance(base, np.memmap):
                base = base.base
            assert isinstance(base, np.memmap)
            assert not model.components_.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                model.components_[0, 0] = 1

    def test_loaded_model_does_all_a_fresh_one_does(self, saved):
        fresh, model = sj.LSA(3, center=True, random_state=0).fit(X), load(saved)
        assert same_bits(model.inverse_transform(np.eye(3)), fresh.inverse_transform(np.eye(3)))
        assert same_bits(model.partial_fit(X[:20]).components_, fresh.partial_fit(X[:20]).components_)
        model.save(saved)  # over the file it is mapped from
        assert same_bits(load(saved).components_, model.components_)
        assert load(saved).fit(X).transform(X).shape == (60, 3)

    def test_file_may_go_while_it_is_mapped(self, saved):
        model = load(saved)
        Z = model.transform(X)
        saved.unlink()
        assert same_bits(model.transform(X), Z)

    def test_string_paths_and_any_name(self, tmp_path):
        model = sj.LogTfIdf().fit(X)
        model.save(str(tmp_path / "weird name.äöü"))
        assert same_bits(load(str(tmp_path / "weird name.äöü")).term_weight_, model.term_weight_)

    def test_safetensors_reads_it(self, saved):
        from safetensors import safe_open

        with safe_open(saved, "numpy") as file:
            assert same_bits(file.get_tensor("components_"), load(saved).components_)
            assert file.metadata()["semproj"] == sj.__version__

    def test_generator_as_seed(self, tmp_path):
        model = sj.LSA(2, random_state=np.random.default_rng(0)).fit(X)
        model.save(tmp_path / "m")
        assert load(tmp_path / "m").random_state is None

    def test_custom_weighting_inside(self, tmp_path):
        model = sj.CLLSI(2, weighting=sj.CustomWeighting(lambda f, d, n, length: f), random_state=0).fit([X, X])
        model.save(tmp_path / "m")
        with pytest.raises(ValueError, match=r"^functions: .* as its weighting_/weight, '<lambda>'"):
            load(tmp_path / "m")
        loaded = load(tmp_path / "m", functions={"weight": model.weighting.weight})
        assert same_bits(loaded.transform(X), model.transform(X))

    def test_weighting_of_cllsi_comes_back(self, tmp_path):
        model = sj.CLLSI(2, weighting=sj.BM25(k1=2.0), random_state=0).fit([X, X])
        model.save(tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert isinstance(loaded.weighting_, sj.BM25)
        assert loaded.weighting_.k1 == 2.0
        refit = loaded.fit([X, X])
        assert isinstance(refit.weighting_, sj.BM25), "a refit of the loaded model must weight as the model did"

    def test_not_fitted(self, tmp_path):
        for model in (sj.LSA(), sj.LogTfIdf(), sj.BM25(), sj.CLLSI()):
            with pytest.raises(NotFittedError):
                model.save(tmp_path / "m")
        assert not list(tmp_path.iterdir())


class TestDamaged:
    """Always a SavedModelError that names the file: never a crash, another error, or a wrong model."""

    def check(self, path):
        with pytest.raises(SavedModelError, match=path.name):
            load(path)

    def test_truncated(self, saved):
        raw = saved.read_bytes()
        lengths = {0, 1, 7, 8, 9, *range(10, len(raw), 97), len(raw) - 8, len(raw) - 1}
        for n in sorted(lengths):
            saved.write_bytes(raw[:n])
            self.check(saved)

    def test_truncated_without_verification(self, saved):
        raw = saved.read_bytes()
        for n in (0, 7, 100, len(raw) // 2, len(raw) - 1):
            saved.write_bytes(raw[:n])
            with pytest.raises(SavedModelError, match=saved.name):
                load(saved, verify=False)

    def test_every_part_of_the_data_is_checked(self, saved):
        raw = saved.read_bytes()
        header, data = split(saved)
        start = len(raw) - len(data)
        for name, tensor in header.items():
            if name == "__metadata__":
                continue
            begin, end = tensor["data_offsets"]
            for position in {begin, (begin + end) // 2, end - 1}:
                broken = bytearray(raw)
                broken[start + position] ^= 1
                saved.write_bytes(broken)
                self.check(saved)

    def test_flipped_bits_in_the_header(self, saved):
        """An error, or a model that is the same in every parameter and bit; one bit of each byte."""
        raw = saved.read_bytes()
        good = load(saved)
        length = struct.unpack("<Q", raw[:8])[0]
        wrong = []
        for position in range(8 + length):
            broken = bytearray(raw)
            broken[position] ^= 1 << (position % 7)
            saved.write_bytes(broken)
            try:
                model = load(saved)
            except SavedModelError:
                continue
            except Exception as error:
                wrong.append((position, repr(error)[:60]))
                continue
            same = type(model) is type(good) and model.get_params() == good.get_params()
            same = same and vars(model).keys() == vars(good).keys()
            for name, value in vars(good).items():
                other = getattr(model, name, None)
                if isinstance(value, np.ndarray):
                    same = same and isinstance(other, np.ndarray) and same_bits(value, other)
                else:
                    same = same and value == other
            if not same:
                context = raw[max(0, position - 25) : position + 10].decode("utf-8", "replace")
                wrong.append((position, context))
        assert not wrong, f"{len(wrong)} positions: {wrong[:6]}"

    def test_appended_bytes(self, saved):
        """A longer file is not what was saved."""
        saved.write_bytes(saved.read_bytes() + b"\0" * 16)
        self.check(saved)

    def test_random_bytes(self, tmp_path):
        rng = np.random.default_rng(0)
        path = tmp_path / "random"
        for n in (1, 8, 9, 64, 1000):
            path.write_bytes(rng.bytes(n))
            self.check(path)

    def test_huge_stated_header(self, saved):
        raw = saved.read_bytes()
        for length in (len(raw), 2**40, 2**63, 2**64 - 1):
            saved.write_bytes(struct.pack("<Q", length) + raw[8:])
            self.check(saved)

    @pytest.mark.parametrize(
        "header",
        [
            b"",
            b"[]",
            b"null",
            b"3",
            b'"x"',
            b"{",
            b'{"a": 1}',
            b'{"a": {}}',
            b'{"__metadata__": []}',
            b'{"__metadata__": "semproj"}',
            b'{"__metadata__": null}',
            b"\xff\xfe",
            b"{}",
            b"[" * 100_000,
        ],
        ids=[
            "empty",
            "list",
            "null",
            "number",
            "string",
            "brace",
            "no tensor",
            "no dtype",
            "metadata list",
            "metadata string",
            "metadata null",
            "not utf-8",
            "no metadata",
            "deep",
        ],
    )
    def test_headers_of_other_kinds(self, header, saved):
        join(saved, header, b"")
        self.check(saved)

    @pytest.mark.parametrize(
        "change",
        [
            {"shape": [3, -40]},
            {"shape": ["3", 40]},
            {"shape": [2**40, 2**40]},
            {"shape": 120},
            {"shape": None},
            {"shape": [3.0, 40.0]},
            {"shape": [4, 30]},
            {"dtype": "F16"},
            {"dtype": "XX"},
            {"dtype": "I64"},
            {"dtype": None},
            {"data_offsets": [0]},
            {"data_offsets": [960, 0]},
            {"data_offsets": [-960, 0]},
            {"data_offsets": ["0", "960"]},
            {"data_offsets": [0.0, 960.0]},
            {"data_offsets": [2**62, 2**62 + 960]},
            {"data_offsets": [8, 968]},
        ],
        ids=str,
    )
    def test_tensors_described_wrongly(self, change, saved):
        header, data = split(saved)
        assert header["components_"]["shape"] == [3, 40]
        header["components_"].update(change)
        join(saved, header, data)
        self.check(saved)

    @pytest.mark.parametrize("key", ["semproj", "format", "model", "checksums"])
    @pytest.mark.parametrize("value", [None, "", "[]", "{}", "null", "7", '"LSA"'])
    def test_metadata_of_other_kinds(self, key, value, saved):
        header, data = split(saved)
        if value is None:
            del header["__metadata__"][key]
        else:
            header["__metadata__"][key] = value
        if key == "semproj" and value is not None:
            return  # the version is only a note
        join(saved, header, data)
        self.check(saved)

    def test_missing_and_additional_arrays(self, saved):
        header, data = split(saved)
        tensor = header.pop("components_")
        join(saved, header, data)
        self.check(saved)
        join(saved, {**header, "components_": tensor, "more": tensor}, data)
        self.check(saved)

    def describe(self, path, **changes):
        """Change the description, checksums kept right: such a file was written by somebody else on purpose."""
        header, data = split(path)
        description = json.loads(header["__metadata__"]["model"])
        description.update(changes)
        header["__metadata__"]["model"] = json.dumps(description)
        join(path, header, data)

    @pytest.mark.parametrize(
        "changes",
        [
            {"class": "Unknown"},
            {"class": "os.system"},
            {"class": None},
            {"class": ["LSA"]},
            {"class": "LogTfIdf"},
            {"parameters": {"no_such": 1}},
            {"parameters": None},
            {"scalars": None},
            {"parts": {"x": {}}},
            {"parts": None},
        ],
        ids=str,
    )
    def test_descriptions_of_other_kinds(self, changes, saved):
        self.describe(saved, **changes)
        self.check(saved)


class TestForeign:
    def test_foreign_safetensors(self, tmp_path):
        path = tmp_path / "foreign.safetensors"
        save_file({"a": np.zeros((2, 2), np.float32)}, path)
        with pytest.raises(SavedModelError, match="not a model saved by semproj"):
            load(path)
        save_file({"a": np.zeros((2, 2), np.float32)}, path, metadata={"format": "pt"})
        with pytest.raises(SavedModelError, match="not a model saved by semproj"):
            load(path)

    def test_future_format(self, saved):
        header, data = split(saved)
        header["__metadata__"]["format"] = "2"
        join(saved, header, data)
        with pytest.raises(SavedModelError, match="format '2', this version reads 1"):
            load(saved)

    def test_pickle_is_not_read(self, tmp_path):
        import pickle

        path = tmp_path / "model.pkl"
        path.write_bytes(pickle.dumps(sj.LogTfIdf().fit(X)))
        with pytest.raises(SavedModelError, match="not a safetensors file"):
            load(path)

    def test_no_file_and_a_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="nothing"):
            load(tmp_path / "nothing")
        with pytest.raises((IsADirectoryError, SavedModelError)):
            load(tmp_path)

    def test_error_is_a_value_error(self):
        assert issubclass(SavedModelError, ValueError)


def test_no_features(tmp_path):
    """Arrays without elements come back too."""
    model = sj.LogTfIdf().fit(sp.csr_matrix((3, 4), dtype=np.int32))
    model.term_weight_, model.document_frequency_ = model.term_weight_[:0], model.document_frequency_[:0]
    model.n_features_in_ = 0
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").term_weight_.shape == (0,)
