"""What stages work through, how much of it there is at a size, and what each stage's costs follow.

Only what a stage does is told here, not how fast: that is measured. What it holds in memory of each
unit is known of the code, for a small probe cannot tell it from what libraries hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import exp

from firth.check import CHECK
from firth.check.items import TRIED
from firth.context import ADAPT, CONTEXT, THEMES
from firth.context.bag import enough_epochs
from firth.context.build import SAMPLE, chosen_encoder
from firth.context.settings import Encoder
from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.tokenizer import MAX_SENTENCES
from firth.harvest import HARVEST
from firth.index import INDEX
from firth.origin import ORIGIN
from firth.origin.settings import Method
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
from firth.run.config import Config
from firth.run.run import Run
from firth.run.stage import Stage
from firth.surrogate import SURROGATE, TEACHER
from firth.surrogate.meaning import DRAWN
from firth.surrogate.settings import BaseKind, Way
from firth.surrogate.teacher import held_out
from firth.surrogate.way import way_of


class Unit(StrEnum):
    """What a cost can be in proportion to; its value is how it is called, for people."""

    WORDS = "words"
    SENTENCES = "sentences"
    READ = "sentences that the tokenizer reads"
    TRIED = "sentences tried for the check"
    ASKED = "questions of the check"
    COMPARED = "comparisons of sentences in training"
    UPDATES = "updates of word vectors"
    STEMS = "stems"
    VECTORS = "stems with a vector"
    CONTEXTS = "contexts"
    ADAPTING = "steps of adapting"
    COHERING = "steps of the coherence model"
    GENERATING = "steps of the generator"
    TAUGHT = "sentences of the teacher"
    SHOWN = "sentences learned from"
    JUDGED = "pairs of held-out sentences"
    DRAWN = "sentences drawn for the card"
    ROWS = "rows of the table"
    PAIRS = "pairs"
    FITS = "sentences fitted into contexts"
    LEARNED = "pairs learned from"


@dataclass(frozen=True)
class Size:
    """How much text there is, and what is made of it.

    Attributes:
        documents, sentences, words: Of the corpus; held-out documents aside.
        stems: That occur often enough to get a vector.
        whole: Words with a row in a static Surrogate's table.
        pieces: Its other rows, by which it spells words.
        pairs: That are harvested.
    """

    documents: float
    sentences: float
    words: float
    stems: float = 0
    whole: float = 0
    pieces: float = 0
    pairs: float = 0

    def amounts(self, config: Config) -> dict[Unit, float]:
        """How much there is of each unit, with these settings."""
        bag, taught = config.context.bag, min(self.sentences, config.surrogate.sentences)
        steps = max(1.0, (self.sentences - self.documents) // bag.batch)
        epochs = bag.epochs or enough_epochs(int(steps))
        vectors = min(self.stems, bag.vocabulary)
        aside = self.sentences / (config.corpus.held_out - 1) if config.corpus.held_out else 0
        return {
            Unit.WORDS: self.words,
            Unit.SENTENCES: self.sentences,
            # Every n-th batch of a larger corpus, so that half of them at least are read.
            Unit.READ: min(self.sentences, MAX_SENTENCES),
            Unit.TRIED: min(aside, TRIED * config.check.items),
            Unit.ASKED: min(aside, config.check.items),
            Unit.COMPARED: epochs * steps * bag.batch**2,
            Unit.UPDATES: epochs * steps * vectors,
            Unit.STEMS: self.stems,
            Unit.VECTORS: vectors,
            Unit.CONTEXTS: min(self.sentences, _contexts(config)),
            Unit.ADAPTING: config.context.tune.steps,
            Unit.COHERING: config.coherence.steps,
            Unit.GENERATING: config.generator.steps,
            Unit.TAUGHT: taught,
            Unit.SHOWN: taught * config.surrogate.passes(Way.MATRICES),
            # Of dev and of test, each sentence with each.
            Unit.JUDGED: 2 * held_out(int(taught)) ** 2,
            # So many draws of any sentence: those that are drawn at all.
            Unit.DRAWN: self.sentences * (1 - exp(-_CARD / max(1.0, self.sentences))),
            Unit.ROWS: min(self.whole, config.surrogate.vocabulary) + self.pieces,
            Unit.PAIRS: self.pairs,
            # Each sentence of a pair into the contexts that it may have, and into the other's.
            Unit.FITS: 2 * self.pairs * (config.paper.shortlist + config.paper.contexts),
            Unit.LEARNED: self.pairs * config.surrogate.passes(Way.PAPER),
        }


_CARD = 2 * sum(DRAWN.values())
"""Sentences of the pairs by which a Surrogate's card says what its scores mean."""


def _contexts(config: Config) -> int:
    """Most sentences that serve as contexts."""
    return config.context.contexts or SAMPLE[chosen_encoder(config.context)]


@dataclass(frozen=True)
class Work:
    """What the costs of a stage follow.

    Attributes:
        time, disk: Units that its time and its files grow with.
        memory: Unit → bytes that it holds of each.
        counts: Whether it counts the words of the corpus, too, so quickly that lines cannot find it
            beside the rest of a probe: what a word takes there is measured by itself.
        parted: Whether machines can share it.
        accelerated: Whether it computes on an accelerator, where there is one.
    """

    time: tuple[Unit, ...] = ()
    disk: tuple[Unit, ...] = ()
    memory: Mapping[Unit, float] = field(default_factory=dict)
    counts: bool = False
    parted: bool = False
    accelerated: bool = False


_ADAM = 6
"""Numbers of four bytes for each that learns: itself, its gradient, two moments; and at times the
sum of two gradients and a copy for the checkpoint."""


def work_of(stage: Stage, config: Config) -> Work:
    """What the costs of a stage follow, with these settings."""
    pretrained = chosen_encoder(config.context) is not Encoder.BAG
    printed = config.origin.method is Method.PAPER
    adapting = (Unit.ADAPTING,) if pretrained else ()
    vector = 4 * config.context.bag.dimensions
    static = config.surrogate.kind is BaseKind.STATIC
    paper = way_of(Run("plan", config)) is Way.PAPER
    learned = Unit.LEARNED if paper else Unit.SHOWN
    # The table and its copies, and the directions of n-grams, of which a piece has 2.4 to 2.6.
    table = {Unit.ROWS: 6 * 4 * config.surrogate.chosen_dimensions} if static else {}
    return {
        CORPUS.name: Work((Unit.WORDS,), (Unit.WORDS,)),
        TOKENIZER.name: Work((Unit.READ,)),
        CHECK.name: Work((Unit.TRIED,), (Unit.ASKED,)),
        ADAPT.name: Work((Unit.ADAPTING,), accelerated=True),
        RETRIEVE.name: Work((Unit.WORDS,), (Unit.WORDS,), {Unit.SENTENCES: 2}),
        COHERENCE.name: Work(
            (Unit.COHERING, Unit.SENTENCES), (Unit.SENTENCES,), {Unit.SENTENCES: 40}
        ),
        GENERATOR.name: Work((Unit.GENERATING,), (), {Unit.SENTENCES: 40}, accelerated=True),
        CONTEXT.name: Work(
            (Unit.WORDS, Unit.COMPARED, Unit.UPDATES, *adapting),
            (Unit.VECTORS, Unit.CONTEXTS),
            # Of words, sentences and pairs there are files; rare stems are known here, too.
            {Unit.VECTORS: _ADAM * vector, Unit.STEMS: 600},
            accelerated=pretrained,
        ),
        THEMES.name: Work((Unit.CONTEXTS,), (Unit.CONTEXTS,)),
        ORIGIN.name: Work((Unit.ASKED,)),
        HARVEST.name: Work(
            (Unit.FITS if printed else Unit.PAIRS,),
            (Unit.PAIRS,),
            {Unit.PAIRS: 14, Unit.SENTENCES: 9},
            parted=True,
            accelerated=pretrained or printed,
        ),
        TEACHER.name: Work(
            (Unit.TAUGHT, Unit.SENTENCES),
            (Unit.TAUGHT,),
            {Unit.TAUGHT: 200},
            accelerated=pretrained,
        ),
        SURROGATE.name: Work(
            (learned, Unit.JUDGED, *((Unit.ROWS, Unit.DRAWN) if static else ())),
            (Unit.ROWS,) if static else (),
            {**table, **({Unit.LEARNED: 12} if paper else {})},
            counts=static,
            accelerated=not static,
        ),
        # Stems pass through a file; rare ones are known here, too.
        INDEX.name: Work((Unit.SENTENCES,), (Unit.SENTENCES,), {Unit.STEMS: 500}),
    }.get(stage.name, Work())
