"""Opening the fit stage of a run."""

from collections.abc import Mapping
from pathlib import Path

from firth.artifacts import read_json
from firth.baselines.idf import Idf
from firth.baselines.tfidf import TfIdf
from firth.baselines.word_bag import WordBag
from firth.corpus.corpus import Corpus
from firth.fit import FIT
from firth.fit.contexts import Contexts
from firth.fit.encoder import BagEncoder, SentenceEncoder, WordVectors
from firth.fit.parts import Part, SentencePart, TermPart, WordPart
from firth.run import Run

IDF = "idf.json"
PROMPT_ENCODER = "encoder.json"
"""There when the sentence encoder is a causal language model."""


def open_encoder(run: str | Path | Run) -> SentenceEncoder:
    """The sentence encoder of a run.

    Raises:
        MissingStageError: The fit stage is not built.
        InputError: causal-lm: the pretrained model is gone, has changed, or cannot be loaded.
    """
    run = Run.open(run)
    folder = run.folder(FIT)
    if (folder / PROMPT_ENCODER).is_file():
        from firth.fit.prompt import open_prompt_encoder  # needs torch, which a bag does not

        return open_prompt_encoder(folder, run.config.fit.precision)
    bag = WordBag.load(folder)
    return BagEncoder(WordVectors(bag), bag.title)


def open_parts(run: str | Path | Run) -> Mapping[str, Part]:
    """The similarities to blend, by the names of their shares in the configuration.

    Raises:
        MissingStageError: The corpus or the fit stage is not built.
        InputError: As in `open_encoder`.
    """
    run = Run.open(run)
    folder = run.folder(FIT)
    vectors = WordVectors(WordBag.load(folder))
    stored = read_json(folder / IDF)
    idf = Idf(stored["frequencies"], stored["sentences"], "the corpus")
    return {
        "sentences": SentencePart(open_encoder(run), Contexts.load(folder), Corpus.open(run)),
        "words": WordPart(vectors),
        "terms": TermPart(TfIdf(idf)),
    }
