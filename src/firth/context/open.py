"""Opening the fit stage of a run."""

from collections.abc import Mapping
from pathlib import Path

from firth.context import CONTEXT
from firth.context.decorrelated import Contexts
from firth.context.encoder import BagEncoder, SentenceEncoder, WordVectors
from firth.corpus.corpus import Corpus
from firth.lexical.idf import Idf
from firth.lexical.tfidf import TfIdf
from firth.lexical.word_vectors import WordBag
from firth.origin.components import Part, SentenceComponent, TermComponent, WordComponent
from firth.run.files import read_json
from firth.run.run import Run

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
    folder = run.folder(CONTEXT)
    if (folder / PROMPT_ENCODER).is_file():
        from firth.context.language_model import (
            open_prompt_encoder,  # needs torch, which a bag does not
        )

        return open_prompt_encoder(folder, run.config.context.precision)
    bag = WordBag.load(folder)
    return BagEncoder(WordVectors(bag), bag.title)


def open_components(run: str | Path | Run) -> Mapping[str, Part]:
    """The similarities to blend, by the names of their shares in the configuration.

    Raises:
        MissingStageError: The corpus or the fit stage is not built.
        InputError: As in `open_encoder`.
    """
    run = Run.open(run)
    folder = run.folder(CONTEXT)
    vectors = WordVectors(WordBag.load(folder))
    stored = read_json(folder / IDF)
    idf = Idf(stored["frequencies"], stored["sentences"], "the corpus")
    return {
        "sentences": SentenceComponent(open_encoder(run), Contexts.load(folder), Corpus.open(run)),
        "words": WordComponent(vectors),
        "terms": TermComponent(TfIdf(idf)),
    }
