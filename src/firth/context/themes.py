"""Themes: the contexts of a corpus in groups, each named by its words and its typical sentences.

One context of 20,000 adds next to nothing to a score, and a sentence of it is an anecdote. What
contexts add together, theme by theme, can be told: they are grouped by k-means of their vectors,
and a theme's words are those by which its contexts differ from the corpus (class-based tf-idf:
Grootendorst 2022).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from firth.context import CONTEXT, THEMES
from firth.context.contexts import Contexts
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Ints
from firth.lexical.marks import NEGATIONS, NUMBER_WORDS
from firth.lexical.stop_words import is_letter, stop_words
from firth.lexical.tfidf import Idf
from firth.lexical.words import stems, words
from firth.run.errors import InputError
from firth.run.files import read_json, write_json
from firth.run.progress import note
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import Outcome

FILE = "themes.json"
WORDS, TYPICAL = 5, 2
"""Of each theme: words that name it, and sentences that show it."""
_ROUNDS = 30
"""Of k-means; more change no group that anybody would notice."""


@dataclass(frozen=True)
class Theme:
    """Contexts that are alike.

    Attributes:
        words: At most `WORDS`, the most telling first; none where its contexts have no word of
            their own.
        typical: Corpus sentences at its middle, at most `TYPICAL`, of different documents.
    """

    words: tuple[str, ...]
    typical: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Themes:
    """The themes of some contexts.

    Attributes:
        themes: Each at least one context's.
        labels: int64, (n,): theme of each context.
    """

    themes: tuple[Theme, ...]
    labels: Ints

    @classmethod
    def of(cls, contexts: Contexts, corpus: Corpus, idf: Idf, most: int, seed: int) -> "Themes":
        """Group contexts into at most `most` themes, of four contexts at least on average.

        Args:
            contexts: To be grouped.
            corpus: Their texts and documents.
            idf: How rare words are.
            most: Themes.
            seed: Of the first middles.
        """
        rows = contexts.vectors
        count = max(1, min(most, len(rows) // 4, len(np.unique(rows, axis=0))))
        found = KMeans(count, n_init=1, max_iter=_ROUNDS, random_state=seed % 2**32).fit(rows)
        # Numbered anew: a group may have become empty.
        labels = np.unique(found.labels_, return_inverse=True)[1].astype(np.int64)
        texts = corpus.texts(contexts.positions)
        documents = corpus.document_of(contexts.positions)
        named = _named(texts, labels, idf)
        themes = []
        for theme, telling in enumerate(named):
            members = np.flatnonzero(labels == theme)
            near = members[np.argsort(-(rows[members] @ rows[members].mean(axis=0)), kind="stable")]
            typical: dict[int, str] = {}
            for member in near.tolist():
                typical.setdefault(int(documents[member]), texts[member])
                if len(typical) == TYPICAL:
                    break
            themes.append(Theme(telling, tuple(typical.values())))
        return cls(tuple(themes), labels)

    def save(self, folder: Path) -> None:
        """Write them into `folder`, atomically."""
        stored = {
            "themes": [asdict(theme) for theme in self.themes],
            "labels": self.labels.tolist(),
        }
        write_json(folder / FILE, stored)

    @classmethod
    def load(cls, folder: Path) -> "Themes":
        """Read what `save` wrote; raise `InputError` where it is broken."""
        stored = read_json(folder / FILE)
        try:
            themes = [Theme(tuple(t["words"]), tuple(t["typical"])) for t in stored["themes"]]
            return cls(tuple(themes), np.array(stored["labels"], np.int64))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{folder / FILE}: not as this version of firth saves it ({error!r}). "
                f"Build it again: {THEMES.command} RUN"
            ) from error


def _named(texts: Sequence[str], labels: Ints, idf: Idf) -> list[tuple[str, ...]]:
    """The most telling words of each theme, as they are written most often.

    A stem weighs the share of the theme's contexts that have it, times ln(1 + share / share in the
    corpus): class-based tf-idf with sentences as what is counted.
    """
    empty = stop_words(idf) | {*stems([*NEGATIONS, *NUMBER_WORDS], idf.stemmer)}
    written: dict[str, Counter[str]] = {}
    counts: list[Counter[str]] = [Counter() for _ in range(int(labels.max()) + 1)]
    for text, theme in zip(texts, labels.tolist(), strict=True):
        said = words(text)
        pairs = {
            (stem, word)
            for stem, word in zip(stems(said, idf.stemmer), said, strict=True)
            if not (stem in empty or is_letter(stem) or stem.isdigit())
        }
        for stem, word in pairs:
            written.setdefault(stem, Counter())[word] += 1
        counts[theme].update({stem for stem, _ in pairs})
    sizes = np.bincount(labels)

    def telling(theme: int) -> tuple[str, ...]:
        def weight(stem: str) -> float:
            share = counts[theme][stem] / int(sizes[theme])
            usual = (1 + idf.frequencies.get(stem, 0)) / (1 + idf.sentences)
            return share * float(np.log1p(share / usual))

        found = sorted(counts[theme], key=lambda stem: (-weight(stem), stem))[:WORDS]
        return tuple(
            min(written[stem].items(), key=lambda item: (-item[1], item[0]))[0] for stem in found
        )

    return [telling(theme) for theme in range(len(counts))]


def build_themes(run: Run) -> Outcome:
    """Group the contexts of a run, or reuse the groups.

    Raises:
        MissingStageError: Its corpus or context stage is not built.
    """
    settings = ["context.themes", "seed"]
    return run.build(THEMES, _fill, reads=[CORPUS, CONTEXT], settings=settings)


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    folder = run.folder(CONTEXT)
    found = _group(run, Contexts.load(folder), Corpus.open(run), Idf.load(folder))
    found.save(workspace)
    return {"themes": len(found.themes), "largest": int(np.bincount(found.labels).max())}


def open_themes(run: Run, contexts: Contexts, corpus: Corpus, idf: Idf) -> Themes:
    """The themes of a run; grouped now, and not kept, where its stage is not."""
    if run.has(THEMES) and run.manifest(THEMES).inputs == run.inputs(CORPUS, CONTEXT):
        return Themes.load(run.folder(THEMES))
    note(f"{run.path}: its contexts are grouped now; {THEMES.command} {run.path} keeps the groups")
    return _group(run, contexts, corpus, idf)


def _group(run: Run, contexts: Contexts, corpus: Corpus, idf: Idf) -> Themes:
    seed = derive_seed(run.config.seed, "themes")
    return Themes.of(contexts, corpus, idf, run.config.context.themes, seed)
