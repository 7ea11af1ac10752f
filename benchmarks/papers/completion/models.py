"""The models of the rows: how each is made, and how a folder keeps those that are fitted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

import semproj as sj
from benchmarks.papers.completion.questions import Questions, Text
from benchmarks.papers.framework.tables import say
from semproj.completion import (
    PMI,
    LanguageModelScore,
    LSALanguageModel,
    LSAReconstruction,
    LSASimilarity,
    NearestSentences,
    SentenceIndex,
)
from semproj.lm import RNNLM, LanguageModel, ModelM, NGramLM

DIMENSION = 300
# Sentences that Model M and the networks of Table 3 learn from
RELEVANT = 400_000
# In the folder of models; another number forgets what is there
VERSION = 1

LANGUAGE_MODELS: dict[str, Callable[[], Any]] = {
    # Section 3.1: 4-grams, words that come three times.
    "GT n-gram": lambda: NGramLM(4, smoothing="good_turing", min_count=3),
    "KN n-gram": lambda: NGramLM(4, min_count=3),
    "RNN": lambda: RNNLM(256, n_slow=256, decay=0.95, min_count=5, epochs=1, random_state=0),
    "Model M": lambda: ModelM(min_count=5),
}


@dataclass
class Zoo:
    """Fitted models by name, made when they are asked for, with the seconds that it took.

    What a folder has kept is taken from it, and its seconds are those of then.
    """

    text: Text
    folder: Path | None
    dimension: int | None
    seconds: dict[str, float] = field(default_factory=dict)
    _models: dict[str, Any] = field(default_factory=dict)

    @property
    def index(self) -> SentenceIndex:
        return self._get("index", lambda: SentenceIndex().fit(self.text.sentences))

    def language_model(self, name: str) -> LanguageModel:
        return self._get(name, lambda: LANGUAGE_MODELS[name]().fit(self.text.sentences))

    def similarity(self) -> LSASimilarity:
        size = min(DIMENSION, self.dimension or DIMENSION)
        index = self.index
        return self._get(f"LSA {size}", lambda: LSASimilarity(size).fit(index))

    def method(self, name: str) -> Any:
        """What scores options."""
        if name in LANGUAGE_MODELS:
            return LanguageModelScore(self.language_model(name))
        if name.startswith("LSA"):
            similarity = self.similarity()
            if name == "LSA total similarity":
                return similarity
            if name == "LSA literal":
                return _with(similarity, power=1.0, context_weight="none")
            if name == "LSA-LM":
                return LanguageModelScore(LSALanguageModel(self.language_model("GT n-gram"), similarity))
        made: dict[str, Any] = {
            "LSA reconstruction": LSAReconstruction(),
            "PMI": PMI(),
            "nearest sentences": NearestSentences(),
        }
        return made[name].fit(self.index)

    def cost(self, name: str) -> float:
        """Of all models that a row is of."""
        parts = {name} if name in LANGUAGE_MODELS else {"index"}
        if name == "LSA-LM":
            parts.add("GT n-gram")
        if name.startswith("LSA") and name != "LSA reconstruction":
            parts |= {key for key in self.seconds if key.startswith("LSA ")}
        return sum(value for key, value in self.seconds.items() if key in parts)

    def relevant(self, questions: Questions) -> Zoo:
        """Models of the sentences that have a word of an option, as in sections 4.4 and 5.3; a part of them."""
        index = self.index
        chosen = np.zeros(index.n_sentences_, bool)
        for question in questions.asked:
            for option in range(len(question.options)):
                for word in index.numbers(question.answer_words(option)):
                    chosen[index.sentences_with(word)] = True
        places = np.flatnonzero(chosen)
        places = places[np.linspace(0, len(places) - 1, min(RELEVANT, len(places))).round().astype(int)]
        sentences = [self.text.sentences[i] for i in places]
        return Zoo(Text(sentences, self.text.held_out), self.folder, self.dimension)

    def _get(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._models:
            path = self._path(name)
            if path is not None and path.is_file():
                self._models[name] = sj.load(path, verify=False)
                self.seconds[name] = json.loads(path.with_suffix(".json").read_text("utf-8"))["seconds"]
            else:
                say(f"  fitting {name} on {len(self.text.sentences)} sentences")
                start = time.perf_counter()
                self._models[name] = make()
                self.seconds[name] = time.perf_counter() - start
                say(f"  {name}: {self.seconds[name]:.0f} s")
                if path is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.with_suffix(".json").write_text(json.dumps({"seconds": self.seconds[name]}), "utf-8")
                    self._models[name].save(path)
        return self._models[name]

    def _path(self, name: str) -> Path | None:
        """By what the model is of: its name, the text, and this file's version."""
        if self.folder is None:
            return None
        if "fingerprint" not in self.__dict__:
            hashed = blake2b(digest_size=8)
            for sentence in self.text.sentences:
                hashed.update(sentence.encode() + b"\n")
            self.__dict__["fingerprint"] = hashed.hexdigest()
        made = LANGUAGE_MODELS.get(name)
        setting = blake2b(repr(made()).encode() if made else b"", digest_size=4).hexdigest()
        parts = (name.replace(" ", "-"), self.__dict__["fingerprint"], setting, str(VERSION))
        return self.folder / f"{'-'.join(parts)}.safetensors"


def _with(method: LSASimilarity, **parameters: Any) -> LSASimilarity:
    """The same vectors with other parameters."""
    other = LSASimilarity(**{**method.get_params(), **parameters})
    other.__dict__ |= {name: getattr(method, name) for name in method._arrays}
    return other
