"""Origin: similarity by the contexts that sentences fit into (§3.3)."""

from collections.abc import Mapping

from firth.artifacts import Stage
from firth.coherence import COHERENCE
from firth.corpus import CORPUS, TOKENIZER
from firth.fit import FIT
from firth.generation import GENERATOR
from firth.origin_settings import Method
from firth.retrieve import RETRIEVE

READS: Mapping[Method, tuple[Stage, ...]] = {
    Method.BLEND: (CORPUS, FIT),
    Method.PAPER: (CORPUS, TOKENIZER, RETRIEVE, COHERENCE, GENERATOR),
}
"""The stages that each method reads."""
