"""The README's Python runs, in order, and does what its text says."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parents[2] / "README.md"


def test_code_blocks(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 9
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"README.md block {number}", "exec"), names)
    assert names["X"].dtype == np.int32
    assert names["W"].dtype == np.float32
    assert names["Z"].shape == (2000, 100)
    np.testing.assert_allclose(names["vectors"], names["Z"][:10], rtol=1e-3, atol=1e-3)
    cllsi, opca, cplsa = (float(found) for found in re.findall(r"Top-1 ([\d.]+)", capsys.readouterr().out))
    assert 0.8 < cllsi <= opca <= 1
    assert cplsa > 0.9
    assert names["mean"] < -0.8, "joyful and gloomy are opposites, though nobody said so"
    assert 0 < names["spread"] < 1
    # The kernel is the transform with int8 storage and unit rows, so the same but for about a hundredth.
    exact = names["model"].transform(names["first"])
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    error = np.linalg.norm(names["out"] - exact) / np.linalg.norm(exact)
    assert 0 < error < 0.03
    np.testing.assert_array_equal(names["solved"], names["wtmf"].sentence_vectors_)
    # No entry has spite and affection, nor bitterness and kindness.
    assert names["pilsa"].similarity("spite", "affection") < -0.9
    assert {word for word, _ in names["pilsa"].most_opposite("bitterness", 3)} == {
        "affection",
        "goodwill",
        "kindness",
    }
    assert names["space"].similarity("bitter", "kindness") < -0.9
