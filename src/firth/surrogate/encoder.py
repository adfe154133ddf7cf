"""A small Transformer as sentence encoder: the mean of the last layer's vectors (§3.4)."""

from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from firth.corpus.tokenizer import open_tokenizer
from firth.run.run import Run

LAYERS = 4
HEAD_SIZE = 32
MAX_TOKENS = 128


def scratch_encoder(run: Run, scratch: Path) -> SentenceTransformer:
    """A BERT of four layers with random weights (torch's seed decides) and the run's tokenizer.

    Args:
        run: A run whose tokenizer is built; `config.surrogate.dimensions` is the hidden size.
        scratch: Folder to put the parts together in.
    """
    width = run.config.surrogate.dimensions
    tokenizer = open_tokenizer(run)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=ends
    )
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=width,
        num_hidden_layers=LAYERS,
        num_attention_heads=width // HEAD_SIZE if width % HEAD_SIZE == 0 else 1,
        intermediate_size=4 * width,
        max_position_embeddings=MAX_TOKENS,
        pad_token_id=tokenizer.token_to_id("<pad>"),
    )
    folder = scratch / "encoder"
    BertModel(config).save_pretrained(folder)
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=MAX_TOKENS,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
    )
    wrapped.save_pretrained(folder)
    body = Transformer(str(folder))
    return SentenceTransformer(modules=[body, Pooling(width)], device="cpu", local_files_only=True)
