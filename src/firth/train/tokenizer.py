"""The stage `tokenizer`: byte-level BPE learned on the corpus, for models trained from scratch."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.corpus.corpus import BATCH, Corpus
from firth.run.console import progress
from firth.run.run import Run
from firth.run.stage import Outcome, Stage
from firth.train.settings import TokenizerSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER = Stage("tokenizer", 1)
FILE = "tokenizer.json"
SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
"""Tokens 0 to 4. `<unk>` never occurs: every byte has a token."""


def build_tokenizer(run: Run) -> Outcome:
    """Learn a tokenizer on the sentences of the corpus, as the settings `tokenizer` say."""
    inputs = {"corpus": Corpus.open(run).digest}
    return run.build(TOKENIZER, _fill, settings=["tokenizer"], inputs=inputs)


def open_tokenizer(run: str | Path | Run) -> "Tokenizer":
    """Open the run's tokenizer. It adds no special tokens, and reads none in text.

    A text that contains `<mask>` is encoded as the characters. `tokenizer.token_to_id` gives the
    numbers of special tokens.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Run.open(run).folder(TOKENIZER) / FILE))
    tokenizer.encode_special_tokens = True
    return tokenizer


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    corpus, settings = Corpus.open(run), run.wing("tokenizer", TokenizerSettings)
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    normal = [normalizers.NFKC(), *([normalizers.Lowercase()] if settings.lower_case else [])]
    tokenizer.normalizer = normalizers.Sequence(normal)
    # The blank before the first word makes it the same token there as in mid-sentence.
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=settings.vocabulary,
        min_frequency=2,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    batches = progress(corpus.batches(), "Learning the tokenizer", -(-len(corpus) // BATCH))
    tokenizer.train_from_iterator(batches, trainer)
    tokenizer.save(str(workspace / FILE))
    return {"vocabulary": tokenizer.get_vocab_size()}
