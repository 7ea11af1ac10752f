"""Write csrc/text/unicode_tables.h from the Unicode data of the running Python.

Usage: python tools/make_unicode_tables.py
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

BLOCK = 128
TARGET = Path(__file__).resolve().parent.parent / "csrc" / "text" / "unicode_tables.h"


def character_class(character: str) -> int:
    """0 separates words, 1 is a letter or number, 2 is a mark (continues a word but does not start one)."""
    return {"L": 1, "N": 1, "M": 2}.get(unicodedata.category(character)[0], 0)


def lower(character: str) -> str:
    """Map to lower case, one character to one (of the two characters for U+0130 only the `i` is kept)."""
    return character.lower()[0]


def may_change() -> list[tuple[int, int]]:
    """Ranges of the characters that a text in Normalization Form C may lack, or have in another order."""
    found = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}  # vowels and last consonants of Hangul
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        parts = unicodedata.decomposition(character).split()
        if unicodedata.combining(character) or unicodedata.normalize("NFC", character) != character:
            found.add(code)
        if len(parts) == 2 and not parts[0].startswith("<"):
            found.add(int(parts[1], 16))
    ranges: list[tuple[int, int]] = []
    for code in sorted(found):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return ranges


def rows(values: list[int]) -> str:
    lines = [values[i : i + 32] for i in range(0, len(values), 32)]
    return "\n".join("    " + ",".join(map(str, line)) + "," for line in lines)


def main() -> None:
    records: dict[tuple[int, int], int] = {(0, 0): 0}
    blocks: dict[tuple[int, ...], int] = {}
    stage1: list[int] = []
    for start in range(0, sys.maxunicode + 1, BLOCK):
        block = []
        for code in range(start, start + BLOCK):
            character = chr(code)
            record = (character_class(character), ord(lower(character)) - code)
            block.append(records.setdefault(record, len(records)))
        stage1.append(blocks.setdefault(tuple(block), len(blocks)))
    if len(records) > 256 or len(blocks) > 256:
        raise SystemExit("the tables no longer fit in bytes")
    stage2 = [value for block in blocks for value in block]
    record_rows = "\n".join(f"    {{{shift}, {kind}}}," for kind, shift in records)
    pairs = [f"{{{first},{last}}}" for first, last in may_change()]
    range_rows = "\n".join("    " + ",".join(pairs[i : i + 8]) + "," for i in range(0, len(pairs), 8))
    TARGET.write_text(
        f"""#pragma once
// Written by tools/make_unicode_tables.py from Unicode {unicodedata.unidata_version}. Do not edit.
// clang-format off

#include <cstdint>

namespace semproj::text::tables {{

inline constexpr char kUnicodeVersion[] = "{unicodedata.unidata_version}";

struct Record {{
  int32_t lower_shift;  // what to add to the code point for its lower case
  uint8_t kind;         // CharacterKind
}};

inline constexpr Record kRecords[] = {{
{record_rows}
}};

inline constexpr int kBlockBits = {BLOCK.bit_length() - 1};

// code point >> kBlockBits -> block
inline constexpr uint8_t kStage1[] = {{
{rows(stage1)}
}};

// block, low bits of the code point -> record
inline constexpr uint8_t kStage2[] = {{
{rows(stage2)}
}};

// First and last code points of what a text in Normalization Form C may lack, or have in another order
inline constexpr uint32_t kMayChange[][2] = {{
{range_rows}
}};

}}  // namespace semproj::text::tables
""",
        encoding="ascii",
    )
    print(f"{TARGET.name}: {len(records)} records, {len(blocks)} blocks, Unicode {unicodedata.unidata_version}")


if __name__ == "__main__":
    main()
