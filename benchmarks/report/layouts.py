"""Which results docs/results.md shows of each paper, and what it calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.papers.published import platt2010, yih2011

Place = tuple[str, str, str, str]  # table, dataset, row and metric, as in the JSON


@dataclass(frozen=True)
class Layout:
    """A table: titles of rows and columns, each with what `place` makes the place of a number of."""

    caption: str
    corner: str
    rows: Mapping[str, str]
    columns: Mapping[str, Any]
    place: Callable[[str, Any], Place]
    decimals: int


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


TOP1 = "Top-1 accuracy on the development set: how often a document's translation is its nearest neighbour"
OPPOSITES = "F1 on the 162 development questions of the GRE: which word is most nearly opposite"
WIDER = "WordNet with similar, derived and more general words"

PLATT2010 = (
    Layout(
        TOP1,
        "model",
        _same(*platt2010.PUBLISHED["1"]),
        {
            "Europarl, 11,133 speeches": ("1", "europarl"),
            "their first 25 words": ("1", "europarl-25"),
            "web documentation, 761 pages": ("2", "mdn"),
            "6,113 package descriptions": ("2", "debian"),
        },
        lambda row, column: (*column, row, "top1"),
        decimals=3,
    ),
    Layout(
        "Accuracy on the development set: how often the nearest English training document has the right label",
        "model",
        _same(*platt2010.PUBLISHED["1"]),
        {"English package descriptions": "3 English", "Italian package descriptions": "3 Italian"},
        lambda row, table: (table, "debian", row, "accuracy"),
        decimals=3,
    ),
)

COMPARABLE_PAIRS = {
    "Europarl, 25 words of each speech": "europarl-25",
    "web documentation, 761 pages": "mdn",
    "6,113 package descriptions": "debian",
}
YIH2011 = (
    Layout(
        TOP1,
        "model",
        _same(*yih2011.PUBLISHED),
        COMPARABLE_PAIRS,
        lambda row, dataset: ("1", dataset, row, "top1"),
        decimals=3,
    ),
    Layout(
        "Mean reciprocal rank of a document's translation, on the development set",
        "model",
        _same(*yih2011.PUBLISHED),
        COMPARABLE_PAIRS,
        lambda row, dataset: ("1", dataset, row, "mrr"),
        decimals=3,
    ),
    Layout(
        "Relevance of documents to queries, on the development set",
        "model",
        _same("S2Net+TFIDF", *yih2011.TABLE2),
        {
            "medical articles, NDCG@5": ("nfcorpus", "NDCG@5"),
            "NDCG@10": ("nfcorpus", "NDCG@10"),
            "MAP": ("nfcorpus", "MAP"),
            "products, AUC": ("crowdflower", "AUC"),
            "NDCG@1": ("crowdflower", "NDCG@1"),
            "products, NDCG@5": ("crowdflower", "NDCG@5"),
        },
        lambda row, column: ("2", column[0], row, column[1]),
        decimals=3,
    ),
)

GUO2012 = (
    Layout(
        "Definitions found, pairs rated and paraphrases told, on development data",
        "model",
        _same(
            "IR",
            "N-gram",
            "LSA",
            "LDA a=0.05 b=0.05",
            "WTMF w=0.0005",
            "WTMF w=0.005",
            "WTMF w=0.01",
            "WTMF+IR w=0.005",
            "WTMF+IR w=0.01",
        ),
        {
            "definitions, ATOP": ("2", "cdr", "atop"),
            "LI06, 30 pairs, r": ("4", "li06_30", "r"),
            "MSR paraphrases, accuracy": ("5", "msrp", "accuracy"),
            "STS 2012, r": ("STS", "sts12", "r"),
        },
        lambda row, column: (*column[:2], row, column[2]),
        decimals=3,
    ),
)

YIH2012 = (
    Layout(
        OPPOSITES,
        "thesaurus",
        {
            "WordNet": "WordNet",
            "WordNet with similar and derived words": "WordNet+similar+derived",
            "Fallows 1898": "Fallows",
            "WordNet and Fallows": "WordNet+Fallows",
            "WordNet, Fallows and Roget's 21st Century": "WordNet+Fallows+Roget",
            f"{WIDER}, Fallows": "WordNet+similar+derived+hypernym+Fallows",
            f"{WIDER}, Fallows, Roget's 21st Century": "WordNet+similar+derived+hypernym+Fallows+Roget",
            f"{WIDER}, Fallows, Roget's, Moby": "WordNet+similar+derived+hypernym+Fallows+Roget+Moby",
        },
        {"lookup": "lookup", "PILSA": "PILSA", "PILSA with words it lacks": "PILSA + embedding"},
        lambda resources, model: ("6", "gre", f"{resources} {model}", "f1"),
        decimals=2,
    ),
)

CHANG2013 = (
    Layout(
        OPPOSITES,
        "thesaurus",
        {
            "WordNet": "WordNet",
            "WordNet with similar and derived words": "WordNet+similar+derived",
            "WordNet and Fallows": "WordNet+Fallows",
            "WordNet with similar and derived words, Fallows, Roget's": "WordNet+similar+derived+Fallows+Roget",
        },
        {
            "PILSA": "PILSA",
            "MRLSA, two slices": "MRLSA:Syn+Ant",
            "MRLSA, four slices": "MRLSA:4-layers",
            "MRLSA, four slices and pivot": "MRLSA:4-layers+pivot",
        },
        lambda resources, model: ("1", "gre", f"{resources} {model}", "f1"),
        decimals=2,
    ),
    Layout(
        "MaxDiff accuracy on class inclusion, in percent: how often a model picks the pairs that people pick",
        "model",
        {
            "looking hypernyms up": "Lookup",
            "looking hypernyms up, minus the reverse": "Lookup, both directions",
            "RawTensor": "RawTensor",
            "MRLSA, synonyms and hyponyms": "MRLSA:Syn+Hypo",
            "MRLSA, four slices": "MRLSA:4-layers",
        },
        {"WordNet": "WordNet", "WordNet, Fallows and Roget's": "WordNet+Fallows+Roget"},
        lambda model, resources: ("2", "1a", f"{resources} {model}", "maxdiff"),
        decimals=1,
    ),
)

ZHANG2014 = (
    Layout(
        f"{OPPOSITES}; mean ± standard deviation over seeds",
        "thesauri",
        {"WordNet": "WordNet", "Roget's": "Roget", "WordNet, Roget's and Fallows": "W&R"},
        {
            "lookup": "lookup",
            "BPMF, no zeros": "BPMF",
            "BPMF": "BPMF+zeros",
            "BPTF, with cosines of GloVe": "BPTF",
        },
        lambda resources, model: ("2", "gre", f"{resources} {model}", "f1"),
        decimals=2,
    ),
)

ZWEIG2012 = (
    Layout(
        "Share of Holmes questions that are answered rightly, on the development set",
        "method",
        {
            "Good-Turing 4-grams": "GT n-gram",
            "Kneser-Ney 4-grams": "KN n-gram",
            "recurrent network": "RNN",
            "LSA, the paper's recipe": "LSA literal",
            "LSA, total similarity": "LSA total similarity",
            "LSA, reconstruction": "LSA reconstruction",
            "LSA language model": "LSA-LM",
            "mutual information": "PMI",
            "nearest sentences": "nearest sentences",
            "LSA, 4-grams and recurrent network": "LSA + GT + RNN",
            "with mutual information, nearest sentences and reconstruction": "combination",
        },
        {"accuracy": "accuracy"},
        lambda row, metric: ("6", "holmes", row, metric),
        decimals=3,
    ),
)

LAYOUTS = {
    "platt2010": PLATT2010,
    "yih2011": YIH2011,
    "guo2012": GUO2012,
    "yih2012": YIH2012,
    "chang2013": CHANG2013,
    "zhang2014": ZHANG2014,
    "zweig2012": ZWEIG2012,
}
