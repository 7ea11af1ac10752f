"""Porter's stemmer (M. F. Porter, An algorithm for suffix stripping, Program 14(3), 1980), as it was published."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["stem"]

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate",
    "iti", "ous", "ive", "ize",
)  # fmt: skip


def stem(word: str) -> str:
    """Return the stem of an English word, by Porter's algorithm of 1980.

    Words of one or two letters stay as they are. Characters other than a to z count as consonants.

    Parameters
    ----------
    word : str
        In upper or lower case.

    Returns
    -------
    str
        In lower case; it need not be a word.

    Examples
    --------
    >>> from semproj.stem import stem
    >>> [stem(word) for word in ("corruptible", "corruption", "Corruptibility", "relational", "hopefulness")]
    ['corrupt', 'corrupt', 'corrupt', 'relat', 'hope']
    """
    word = word.lower()
    if len(word) <= 2:
        return word
    word = _plural(word)
    word = _past_or_gerund(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2)
    word = _replace(word, _STEP_3)
    word = _remove(word)
    return _tidy(word)


def _pattern(word: str) -> str:
    """Write each letter as v (vowel) or c (consonant); y is a vowel after a consonant."""
    kinds = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and kinds.endswith("c"))
        kinds += "v" if vowel else "c"
    return kinds


def _measure(word: str) -> int:
    """Return m of [C](VC)^m[V]."""
    return _pattern(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _pattern(word)


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _pattern(word).endswith("c")


def _short_syllable(word: str) -> bool:
    """Test condition *o: the word ends consonant-vowel-consonant, and the last is not w, x or y."""
    return _pattern(word).endswith("cvc") and word[-1] not in "wxy"


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_or_gerund(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word and _has_vowel(base):
            if base.endswith(("at", "bl", "iz")) or (_measure(base) == 1 and _short_syllable(base)):
                return base + "e"
            return base[:-1] if _doubled(base) and base[-1] not in "lsz" else base
    return word


def _longest(word: str, endings: Iterable[str]) -> str:
    """Return the longest ending that fits. Its rule is the only one tried, even if its condition fails."""
    return max((ending for ending in endings if word.endswith(ending)), key=len, default="")


def _replace(word: str, rules: dict[str, str]) -> str:
    """Steps 2 and 3."""
    ending = _longest(word, rules)
    base = word[: len(word) - len(ending)]
    return base + rules[ending] if ending and _measure(base) > 0 else word


def _remove(word: str) -> str:
    """Step 4."""
    ending = _longest(word, _STEP_4)
    base = word[: len(word) - len(ending)]
    allowed = ending != "ion" or base.endswith(("s", "t"))
    return base if ending and allowed and _measure(base) > 1 else word


def _tidy(word: str) -> str:
    """Steps 5a and 5b."""
    if word.endswith("e"):
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _short_syllable(base)):
            word = base
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
