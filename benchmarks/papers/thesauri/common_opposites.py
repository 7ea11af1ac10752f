"""Whether the opposites that a model names first are those of a dictionary, for common words.

python -m benchmarks.papers.thesauri.common_opposites --data DIR --resources WordNet
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import semproj as sj
from benchmarks.papers.thesauri.resources import ThesaurusFolder

# What most people would say; several where they would not agree.
_PAIRS = """
abundant:scarce accept:reject/refuse alive:dead ancient:modern arrive:depart/leave ascend:descend asleep:awake
attack:defend awake:asleep beauty:ugliness begin:end big:small/little brave:cowardly bright:dim/dark/dull
build:destroy buy:sell cheap:expensive clean:dirty cold:hot/warm create:destroy cruel:kind dangerous:safe
dark:light day:night dead:alive death:life decrease:increase deep:shallow destroy:create/build dirty:clean
dry:wet early:late east:west easy:difficult/hard empty:full enemy:friend expensive:cheap failure:success
false:true far:near fast:slow female:male forget:remember friend:enemy full:empty generous:stingy give:take
good:bad guilty:innocent happy:sad/unhappy hard:soft/easy hate:love heavy:light high:low hot:cold
increase:decrease innocent:guilty invisible:visible large:small late:early left:right life:death
light:dark/heavy long:short lose:win/find loud:quiet/soft love:hate low:high male:female maximum:minimum
modern:ancient narrow:wide/broad near:far new:old night:day north:south old:new/young open:closed/shut peace:war
perfect:imperfect permanent:temporary polite:rude poor:rich private:public public:private push:pull quick:slow
quiet:loud/noisy raise:lower refuse:accept remember:forget rich:poor right:wrong/left rough:smooth rude:polite
sad:happy safe:dangerous scarce:abundant sell:buy sharp:dull/blunt short:long/tall simple:complex/complicated
slow:fast small:large/big smooth:rough soft:hard start:finish/stop/end strength:weakness strong:weak
success:failure superior:inferior sweet:sour/bitter take:give temporary:permanent thick:thin thin:thick/fat
true:false truth:falsehood victory:defeat visible:invisible war:peace weak:strong wet:dry wide:narrow win:lose
young:old
"""


def _both_ways(pairs: str) -> dict[str, set[str]]:
    """What is the opposite of a word has that word for one of its own."""
    found: dict[str, set[str]] = {}
    for pair in pairs.split():
        word, answers = pair.split(":")
        for answer in answers.split("/"):
            found.setdefault(word, set()).add(answer)
            found.setdefault(answer, set()).add(word)
    return found


OPPOSITES = _both_ways(_PAIRS)


def known(model: Any) -> list[str]:
    """The words that the model has, and one of whose opposites."""
    return [word for word, answers in OPPOSITES.items() if word in model and any(a in model for a in answers)]


def hits(model: Any, commonness: float, within: Iterable[int] = (1, 5)) -> list[float]:
    """The parts of the known words whose opposite is among the first so many."""
    words, within = known(model), list(within)
    if not words:
        raise ValueError("model: expected one that knows a common word and its opposite, got none of them")
    found = [[each for each, _ in model.most_opposite(word, max(within), commonness=commonness)] for word in words]
    return [
        sum(bool(OPPOSITES[word].intersection(near[:k])) for word, near in zip(words, found, strict=True))
        / len(words)
        for k in within
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("SEMPROJ_DATA"))
    parser.add_argument("--resources", default="WordNet+contrast+similar+derived+hypernym")
    parser.add_argument("--components", type=int, default=300)
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("expected --data DIR, or SEMPROJ_DATA in the environment")
    thesaurus = ThesaurusFolder(Path(asked.data)).thesaurus(asked.resources)
    model = sj.PILSA(asked.components, random_state=0).fit(thesaurus)
    print(f"{asked.resources}, {len(known(model))} words: the opposite is the first, or among the first five")
    for commonness in (0.0, 0.05, 0.1, 0.2):
        first, five = hits(model, commonness)
        print(f"commonness {commonness:4}  {first:.3f}  {five:.3f}")


if __name__ == "__main__":
    main()
