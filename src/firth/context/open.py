"""Opening the context stage of a run."""

from pathlib import Path

from firth.context import CONTEXT
from firth.context.encoder import ENCODER, BagEncoder, SentenceEncoder
from firth.context.settings import Encoder
from firth.lexical.word_space import WordSpace
from firth.run.files import read_json
from firth.run.run import Run


def open_encoder(run: str | Path | Run) -> SentenceEncoder:
    """The sentence encoder that the context stage of a run holds.

    Raises:
        MissingStageError: The context stage is not built.
        InputError: The pretrained model is gone, has changed, or cannot be loaded.
    """
    run = Run.open(run)
    folder = run.folder(CONTEXT)
    kind = Encoder(read_json(folder / ENCODER)["encoder"])
    if kind is Encoder.BAG:
        return BagEncoder(WordSpace.load(folder))
    # The others need torch and transformers, which a bag does not.
    if kind is Encoder.SENTENCE_ENCODER:
        from firth.context.sentence_encoder import GivenEncoder

        return GivenEncoder.load(folder, WordSpace.load(folder).bag.stemmer)
    from firth.context.language_model import PromptEncoder

    return PromptEncoder.load(folder, run.config.context.precision)
