"""Back-off n-gram models in dictionaries: n-grams are tuples of words, counts are counted one by one.

Modified Kneser-Ney: S. F. Chen and J. Goodman, An empirical study of smoothing techniques for language modeling,
1999; equation numbers are theirs. Cut-offs as KenLM's lmplz has them: what is cut leaves its whole count to the
back-off. Good-Turing with Katz's back-off: S. M. Katz, Estimation of probabilities from sparse data, 1987; what he
leaves open (discounts out of range, contexts with nothing left) as SRILM decides it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
FALLBACK = (0.5, 1.0, 1.5)  # D1, D2 and D3+ where counts of counts give none
NOTHING_LEFT = 1e-9

Gram = tuple[str, ...]


@dataclass
class BackoffModel:
    """Logarithms have base 10. A word is predicted from at most `order - 1` before it."""

    order: int
    words: list[str]  # all that can be predicted: <unk>, </s>, and the words by falling count
    log_probs: dict[Gram, float] = field(default_factory=dict)
    log_backoffs: dict[Gram, float] = field(default_factory=dict)  # of contexts; 0 if not there
    discounts: dict[int, tuple[float, ...]] = field(default_factory=dict)
    fell_back: set[int] = field(default_factory=set)  # orders with a discount that counts do not give

    def known(self, word: str) -> str:
        return word if word == BEGIN or (word,) in self.log_probs else UNKNOWN

    def log_prob(self, history: Sequence[str], word: str) -> tuple[float, int]:
        """Of a word after a history, and the order of the n-gram that gave it."""
        word, total = self.known(word), 0.0
        context = tuple(map(self.known, history))[-(self.order - 1) :] if self.order > 1 else ()
        while (*context, word) not in self.log_probs:
            total += self.log_backoffs.get(context, 0.0)
            context = context[1:]
        return total + self.log_probs[(*context, word)], len(context) + 1

    def score_words(self, words: Sequence[str], *, bos: bool = True, eos: bool = True) -> list[float]:
        history, found = [BEGIN] if bos else [], []
        for word in [*words, *([END] if eos else [])]:
            found.append(self.log_prob(history, word)[0])
            history.append(word)
        return found

    def score(self, words: Sequence[str], *, bos: bool = True, eos: bool = True) -> float:
        return math.fsum(self.score_words(words, bos=bos, eos=eos))

    def perplexity(self, sentences: Iterable[Sequence[str]]) -> float:
        found = [x for words in sentences for x in self.score_words(words)]
        return float(10 ** (-math.fsum(found) / len(found)))

    def total(self, history: Sequence[str]) -> float:
        """Of the probabilities of all that may follow: 1."""
        return math.fsum(10 ** self.log_prob(history, word)[0] for word in self.words)


def kept_words(
    sentences: Sequence[Sequence[str]],
    *,
    min_count: int = 1,
    max_words: int | None = None,
    vocabulary: Iterable[str] | None = None,
) -> list[str]:
    """By falling count, ties by their bytes. A given vocabulary is taken as it is, with words that never occur."""
    counts = Counter(word for words in sentences for word in words if word != UNKNOWN)
    if vocabulary is not None:
        counts = Counter({word: counts[word] for word in vocabulary if word not in (UNKNOWN, BEGIN, END)})
    ranked = sorted(counts, key=lambda word: (-counts[word], word.encode()))
    if vocabulary is None:
        ranked = [word for word in ranked if counts[word] >= min_count]
    return ranked[:max_words]


def count(sentences: Iterable[Sequence[str]], order: int, words: Iterable[str]) -> list[Counter[Gram]]:
    """Of each order, at its number. A sentence has one <s> before it and one </s> behind it."""
    kept = set(words)
    counts: list[Counter[Gram]] = [Counter() for _ in range(order + 1)]
    for sentence in sentences:
        tokens = [BEGIN, *(word if word in kept else UNKNOWN for word in sentence), END]
        for n in range(1, order + 1):
            for start in range(len(tokens) - n + 1):
                counts[n][tuple(tokens[start : start + n])] += 1
    del counts[1][(BEGIN,)]  # never predicted
    return counts


def by_context(counts: dict[Gram, int]) -> dict[Gram, dict[Gram, int]]:
    found: dict[Gram, dict[Gram, int]] = defaultdict(dict)
    for gram, n in counts.items():
        found[gram[:-1]][gram] = n
    return found


def threshold(min_counts: Sequence[int], order: int) -> int:
    """The least count of an order: the last one goes on for higher orders."""
    return min_counts[min(order, len(min_counts)) - 1]


# Modified Kneser-Ney.


def adjusted_counts(counts: list[Counter[Gram]]) -> list[Counter[Gram]]:
    """How many different words come before an n-gram; its count in the last order, and after <s>."""
    adjusted = [Counter(each) for each in counts]
    for n in range(1, len(counts) - 1):
        before = Counter(longer[1:] for longer in counts[n + 1])
        adjusted[n] = Counter({g: c if g[0] == BEGIN else before[g] for g, c in counts[n].items()})
    return adjusted


def kneser_ney_discounts(counts: Iterable[int]) -> tuple[tuple[float, float, float], bool]:
    """Equation 26: D1, D2, D3+ from counts of counts; and whether these gave none."""
    n = Counter(counts)
    if not (n[1] and n[2] and n[3]):
        return FALLBACK, True
    y = n[1] / (n[1] + 2 * n[2])
    found = (1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3])
    if any(not 0 <= d <= j for j, d in enumerate(found, start=1)):
        return FALLBACK, True
    return found, False


def kneser_ney(
    sentences: Iterable[Sequence[str]],
    order: int,
    *,
    min_counts: Sequence[int] = (1,),
    **vocabulary: object,
) -> BackoffModel:
    """Interpolated (equation 25), with a uniform distribution below the unigrams."""
    sentences = list(sentences)
    words = kept_words(sentences, **vocabulary)  # type: ignore[arg-type]
    counts = count(sentences, order, words)
    adjusted = adjusted_counts(counts)
    model = BackoffModel(order, [UNKNOWN, END, *words])
    probs: dict[Gram, float] = {}
    for n in range(1, order + 1):
        discounts, gave_none = kneser_ney_discounts(adjusted[n].values())
        model.discounts[n] = discounts
        if gave_none:
            model.fell_back.add(n)
        least = threshold(min_counts, n)
        for context, grams in by_context(adjusted[n]).items():
            kept = [g for g in grams if counts[n][g] >= least]
            total = sum(grams.values())
            left = sum(discounts[min(grams[g], 3) - 1] for g in kept)
            left += sum(grams[g] for g in grams if counts[n][g] < least)
            gamma = left / total
            for g in kept:
                own = (grams[g] - discounts[min(grams[g], 3) - 1]) / total
                lower = probs[g[1:]] if n > 1 else 1 / len(model.words)
                probs[g] = own + gamma * lower
            if n == 1:
                for word in model.words:
                    probs.setdefault((word,), gamma / len(model.words))
            elif context in probs or context == (BEGIN,):
                model.log_backoffs[context] = math.log10(gamma) if gamma > 0 else -99.0
    model.log_probs = {g: math.log10(p) if p > 0 else -99.0 for g, p in probs.items()}
    return model


# Good-Turing, Katz.


def good_turing_discounts(counts: Iterable[int], k: int = 5) -> tuple[tuple[float, ...], bool]:
    """What a count r of 1 to k is multiplied by, and whether one of these was out of range, and is 1."""
    n = Counter(counts)
    found, out_of_range = [], False
    for r in range(1, k + 1):
        ratio = math.nan
        if n[1] and n[r]:
            common = (k + 1) * n[k + 1] / n[1]
            if common != 1:
                ratio = ((r + 1) * n[r + 1] / (r * n[r]) - common) / (1 - common)
        if not 0 < ratio <= 1:
            out_of_range = out_of_range or n[r] > 0
            ratio = 1.0
        found.append(ratio)
    return tuple(found), out_of_range


def good_turing(
    sentences: Iterable[Sequence[str]],
    order: int,
    *,
    min_counts: Sequence[int] = (1,),
    k: int = 5,
    **vocabulary: object,
) -> BackoffModel:
    """Katz: the discounted count if the n-gram was kept, else what is left in proportion to the lower order."""
    sentences = list(sentences)
    words = kept_words(sentences, **vocabulary)  # type: ignore[arg-type]
    counts = count(sentences, order, words)
    model = BackoffModel(order, [UNKNOWN, END, *words])
    probs: dict[Gram, float] = {}
    for n in range(1, order + 1):
        discounts, out_of_range = good_turing_discounts(counts[n].values(), k)
        model.discounts[n] = discounts
        if out_of_range:
            model.fell_back.add(n)
        least = threshold(min_counts, n)
        for context, grams in by_context(counts[n]).items():
            discounted = {
                g: r * (discounts[r - 1] if r <= k else 1.0) for g, r in grams.items() if counts[n][g] >= least
            }
            total = float(sum(grams.values()))
            mass = math.fsum(discounted.values()) / total
            if mass > 1 - NOTHING_LEFT and len(discounted) < len(model.words):
                total += 1  # so that the unseen have something (Doug Paul's way, says SRILM)
                mass = math.fsum(discounted.values()) / total
            scale = 1 / mass if n > 1 and len(discounted) == len(model.words) else 1.0
            for g, r in discounted.items():
                probs[g] = scale * r / total
            if n == 1:
                share_out(probs, model.words, 1 - mass)
            elif context in probs or context == (BEGIN,):
                unseen = 1 - math.fsum(probs[g[1:]] for g in discounted)
                alpha = (1 - mass) / unseen if len(discounted) < len(model.words) else 0.0
                model.log_backoffs[context] = math.log10(alpha) if alpha > 0 else -99.0
    model.log_probs = {g: math.log10(p) if p > 0 else -99.0 for g, p in probs.items()}
    return model


def share_out(probs: dict[Gram, float], words: Sequence[str], left: float) -> None:
    """What unigrams leave: evenly to words that never occurred, or to all if there are none."""
    takers = [word for word in words if (word,) not in probs] or list(words)
    for word in takers:
        probs[(word,)] = probs.get((word,), 0.0) + left / len(takers)


# ARPA files.


def read_arpa(path: object) -> tuple[dict[Gram, float], dict[Gram, float]]:
    """The logarithms of probabilities and of back-offs, of a file that has nothing wrong with it."""
    log_probs: dict[Gram, float] = {}
    log_backoffs: dict[Gram, float] = {}
    counts: dict[int, int] = {}
    order = 0
    with open(str(path), encoding="utf-8", newline="\n") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if line.startswith("ngram "):
                n, _, number = line.removeprefix("ngram ").partition("=")
                counts[int(n)] = int(number)
            elif line.startswith("\\") and line.endswith("-grams:"):
                order = int(line[1 : line.index("-")])
            elif order and "\t" in line:
                log_prob, words, *log_backoff = line.split("\t")
                gram = tuple(words.split(" "))
                if len(gram) != order or gram in log_probs:
                    raise ValueError(f"{line!r} among {order}-grams, or there twice")
                log_probs[gram] = float(log_prob)
                if log_backoff:
                    log_backoffs[gram] = float(log_backoff[0])
    found = Counter(map(len, log_probs))
    if found != Counter(counts):
        raise ValueError(f"the header says {counts}, and there are {found}")
    return log_probs, log_backoffs


def write_arpa(model: BackoffModel, path: object) -> None:
    """With all digits of a double."""
    grams = {(BEGIN,): -99.0, **model.log_probs}
    with open(str(path), "w", encoding="utf-8", newline="\n") as file:
        file.write("\\data\\\n")
        for n in range(1, model.order + 1):
            file.write(f"ngram {n}={sum(len(gram) == n for gram in grams)}\n")
        for n in range(1, model.order + 1):
            file.write(f"\n\\{n}-grams:\n")
            for gram, log_prob in grams.items():
                if len(gram) == n:
                    tail = f"\t{model.log_backoffs.get(gram, 0.0)!r}" if n < model.order else ""
                    file.write(f"{log_prob!r}\t{' '.join(gram)}{tail}\n")
        file.write("\n\\end\\\n")
