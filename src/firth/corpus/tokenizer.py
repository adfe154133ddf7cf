"""The tokenizer stage: byte-level BPE learned on the corpus, shared by all models made here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.corpus.store import BATCH_ROWS
from firth.run.progress import track
from firth.run.run import Run
from firth.run.stage import Outcome

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
"""Their ids are 0 to 4. `<unk>` never arises: every byte has a token."""
MAX_SENTENCES = 2_000_000
"""Of a larger corpus, evenly spread batches of this many sentences are read: enough for any
vocabulary, and time and memory stop growing."""
FILE = "tokenizer.json"


def build_tokenizer(run: Run) -> Outcome:
    """Learn a tokenizer on the sentences of the corpus, as `run.config.tokenizer` says.

    Raises:
        MissingStageError: If the run has no corpus.
    """
    return run.build(TOKENIZER, _build, reads=[CORPUS], settings=["tokenizer"])


def open_tokenizer(run: str | Path | Run) -> Tokenizer:
    """The run's tokenizer. It adds no special tokens, and finds none in text.

    Text that happens to contain `<mask>` is encoded as the characters it is made of; take the ids
    of special tokens from `tokenizer.token_to_id`.

    Raises:
        MissingStageError: If the run has none.
    """
    tokenizer = Tokenizer.from_file(str(Run.open(run).folder(TOKENIZER) / FILE))
    tokenizer.encode_special_tokens = True
    return tokenizer


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    corpus, config = Corpus.open(run), run.config.tokenizer
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    lowercase = [normalizers.Lowercase()] if config.lowercase else []
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), *lowercase])
    # The blank before the first word makes it the same token there as in mid-sentence.
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=config.vocabulary,
        min_frequency=2,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    stride = -(-len(corpus) // MAX_SENTENCES)
    total = -(-len(corpus) // (stride * BATCH_ROWS))
    batches = track(corpus.batches(stride), "Learning the tokenizer", total)
    tokenizer.train_from_iterator(batches, trainer)
    tokenizer.save(str(workspace / FILE))
    return {"vocabulary": tokenizer.get_vocab_size()}
