"""What can be asked: a line each, of which routes and the description are made."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from pydantic import BaseModel

from firth.serve import answers, schemas


class Manner(Enum):
    """How a request is answered."""

    PLAIN = auto()
    """In turn, in a moment."""
    BATCHED = auto()
    """Its texts are encoded, with those of others; the answer is made of their vectors."""
    AT_ONCE = auto()
    """Without waiting for anybody."""
    LONG = auto()
    """By lines of JSON: progress, then the result."""


@dataclass(frozen=True)
class Endpoint:
    """Something that can be asked.

    Attributes:
        method: GET, whose parameters stand in the address, or POST, with JSON as its body.
        path: With parameters in braces; `{id:path}` may hold slashes.
        told: What it does, in a line.
        takes: What it is asked.
        gives: What it answers, or what its result is.
        answer: Makes it, of the run, or of vectors, and of what is asked.
        manner: How.
    """

    method: str
    path: str
    told: str
    takes: type[BaseModel]
    gives: type[BaseModel]
    answer: Callable[[Any, Any], dict[str, Any]]
    manner: Manner = Manner.PLAIN


ASKED = (
    Endpoint("GET", "/api/run", "What the run is, and which parts of it are there",
             schemas.Nothing, schemas.About, answers.tell_run),
    Endpoint("POST", "/api/similarity", "Scores of pairs, by Origin or Surrogate",
             schemas.AskedSimilarity, schemas.Scores, answers.similarity),
    Endpoint("POST", "/api/explain", "What Origin's score of two sentences comes from",
             schemas.AskedReasons, schemas.Reasons, answers.explain),
    Endpoint("POST", "/api/search", "Sentences or documents, by meaning and by words",
             schemas.AskedHits, schemas.Hits, answers.search),
    Endpoint("POST", "/api/duplicates", "What says the same, in groups",
             schemas.AskedDuplicates, schemas.Duplicates, answers.find_duplicates, Manner.LONG),
    Endpoint("POST", "/api/check", "How good the Surrogate is here, beside tf-idf",
             schemas.Nothing, schemas.Checked, answers.check, Manner.LONG),
    Endpoint("POST", "/api/mine", "Documents that re-tell one another",
             schemas.AskedMining, schemas.Mined, answers.find_pairs, Manner.LONG),
    Endpoint("POST", "/api/documents/compare", "Two documents, side by side",
             schemas.AskedComparison, schemas.Compared, answers.compare),
    Endpoint("GET", "/api/documents", "Names and titles of documents",
             schemas.AskedDocuments, schemas.Documents, answers.documents),
    Endpoint("GET", "/api/document/{id:path}", "A document",
             schemas.AskedDocument, schemas.Document, answers.document),
    Endpoint("POST", "/api/encode", "Unit vectors of texts, by the Surrogate",
             schemas.AskedVectors, schemas.Encoded, answers.encode, Manner.BATCHED),
    Endpoint("POST", "/v1/embeddings", "The same in OpenAI's shape",
             schemas.AskedEmbeddings, schemas.Embeddings, answers.embed, Manner.BATCHED),
    Endpoint("GET", "/v1/models", "The models that give embeddings",
             schemas.Nothing, schemas.Models, answers.models, Manner.AT_ONCE),
    Endpoint("GET", "/health", "Whether the service is up",
             schemas.Nothing, schemas.Health, answers.health, Manner.AT_ONCE),
)  # fmt: skip
