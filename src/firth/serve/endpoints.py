"""The endpoints of the API: a line each, and the function that answers."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum, auto
from functools import partial
from typing import Any

import numpy as np

from firth.corpus.document import Document
from firth.model import Model
from firth.pipeline.built import (
    compare_with_baseline,
    encoder_of_run,
    examples,
    learned_nothing,
    verdict,
)
from firth.pipeline.opened import Opened
from firth.pipeline.stages import status
from firth.plain import match as match_lists
from firth.scorer.explanation import article
from firth.serve import schemas
from firth.serve.worker import Problem
from firth.text.differences import differences as find_differences
from firth.text.types import CosineScorer, Singles, TextPair
from firth.text.words import words

Plain = dict[str, Any]
ENCODER = "encoder"
"""Name of the run's encoder for OpenAI's clients."""


class Manner(Enum):
    """How a request is answered."""

    IN_TURN = auto()
    """By the thread that uses the models, or, where it costs much, by another process."""
    BATCHED = auto()
    """Its texts are encoded together with those of other requests."""
    AT_ONCE = auto()
    """Without waiting."""
    LONG = auto()
    """By another process, as lines of JSON: progress, then the result."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An endpoint.

    GET has parameters in the address, of which `{id:path}` may contain slashes, and POST a JSON
    body. `answer` makes the answer from the model (or, if batched, from vectors) and the request.
    """

    method: str
    path: str
    summary: str
    request: type[schemas.Request]
    answer: Callable[[Any, Any], Plain]
    manner: Manner = Manner.IN_TURN


def similarity(model: Model, request: schemas.SimilarityRequest) -> Plain:
    """Score pairs."""
    pairs: list[TextPair] = [(one, two) for one, two in request.pairs]
    _bound(pairs)
    if request.model == "scorer":
        scores = model.scorer.similarities(pairs)
    else:
        scores = CosineScorer(ENCODER, model.encoder.encode).similarities(pairs)
    return {"scores": scores.tolist()}


def explain(model: Model, request: schemas.ExplainRequest) -> Plain:
    """Explain a score, as values and as HTML for the style sheet of the web app."""
    _bound([(request.text1, request.text2)])
    explanation = model.explain(request.text1, request.text2).top(request.top)
    return {**explanation.as_dict(), "html": article(explanation)}


def search(model: Model, request: schemas.SearchRequest) -> Plain:
    """Search sentences or documents."""
    hits = model.search(
        request.query, top=request.top, mode=request.mode, unit=request.unit, where=request.where
    )
    return {"query": request.query, **hits.as_dict()}


def duplicates(model: Model, request: schemas.DuplicatesRequest) -> Plain:
    """Find groups of equal, nearly equal and similar texts."""
    result = model.duplicates(request.threshold, unit=request.unit, where=request.where)
    return result.as_dict(request.top)


def reuse(model: Model, request: schemas.ReuseRequest) -> Plain:
    """Find documents that share passages."""
    return model.duplicates(unit="passage", where=request.where).as_dict(request.top)


def compare(model: Model, request: schemas.CompareRequest) -> Plain:
    """Align the sentences of two documents."""
    sides: list[str | Document] = []
    for given in (request.first, request.second):
        if isinstance(given, str):
            model.ask(partial(_document, id=given))  # It is never taken for a file.
            sides.append(given)
        else:
            sides.append(Document(id="text", text=given.text))
    return model.compare_documents(sides[0], sides[1]).as_dict()


def documents(model: Model, request: schemas.DocumentsRequest) -> Plain:
    """List documents, a page at a time."""
    return model.ask(lambda opened: _page(opened, request))


def _page(opened: Opened, request: schemas.DocumentsRequest) -> Plain:
    names, corpus, wanted = opened.kept(_names), opened.corpus, request.query.casefold()
    chosen: Sequence[int] = range(len(names))
    if wanted:
        chosen = [number for number, name in enumerate(names) if wanted in name]
    page = chosen[(request.page - 1) * schemas.PAGE : request.page * schemas.PAGE]
    shown = [(corpus.document(number), number) for number in page]
    sizes = np.diff(corpus.document_bounds)[corpus.owners]
    return {
        "total": len(chosen),
        "page": request.page,
        "pages": -(-len(chosen) // schemas.PAGE),
        "documents": [
            {"id": known.id, "title": known.title, "date": known.date, "sentences": int(sizes[n])}
            for known, n in shown
        ],
    }


def document(model: Model, request: schemas.DocumentRequest) -> Plain:
    """Return a document with its sentences."""
    return model.ask(lambda opened: _whole(opened, request.id))


def _whole(opened: Opened, id: str) -> Plain:
    corpus, number = opened.corpus, _document(opened, id)
    equal = corpus.documents_with_text(number)
    known = next((each for each in equal if each.id == id), equal[0])
    start, end = corpus.document_bounds[number : number + 2].tolist()
    return {
        "id": id,
        "title": known.title,
        "source": known.source,
        "line": known.line,
        "date": known.date,
        "fields": {name: list(values) for name, values in known.fields.items()},
        "also": [other.id for other in equal if other is not known],
        "sentences": corpus.texts(np.arange(start, end)),
    }


def describe_run(model: Model, _: schemas.RunRequest) -> Plain:
    """Describe the run: counts, stages, and example sentences."""
    return model.ask(lambda opened: opened.kept(_description))


def _description(opened: Opened) -> Plain:
    return {
        "name": opened.run.path.resolve().name,
        **asdict(status(opened.run)),
        "examples": [text for pair in examples(opened.run) for text in pair],
    }


def differences(_: Model, request: schemas.DifferencesRequest) -> Plain:
    """Return what two texts differ in, each with its places in both."""
    return find_differences(request.text1, request.text2, request.language).as_dict()


def match(model: Model, request: schemas.MatchRequest) -> Plain:
    """Return what matches each text of a list in another one, by the encoder of the search."""
    index = model.ask(lambda opened: opened.search.index)
    rate, language = request.false_match_rate, index.corpus.language
    matches = match_lists(
        request.left, request.right, encoder=index.encoder, false_match_rate=rate, language=language
    )
    return {**matches.as_dict(), "summary": matches.summary()}


def check(model: Model, _: schemas.Nothing) -> Plain:
    """Compare scorer and encoder with n-grams on held-out documents; the answer is kept."""
    return model.ask(lambda opened: opened.kept(_comparison))


def _comparison(opened: Opened) -> Plain:
    comparison = compare_with_baseline(opened.run)
    said = verdict(comparison, learned_nothing(opened.run), encoder_of_run(opened.run))
    return {"verdict": said, "comparison": comparison and comparison.as_dict()}


def encode(vectors: Singles, _: schemas.EncodeRequest) -> Plain:
    """Return unit vectors; zeros where nothing is known of a text."""
    return {"vectors": _numbers(vectors), "dimensions": vectors.shape[1]}


def embeddings(vectors: Singles, request: schemas.EmbeddingsRequest) -> Plain:
    """Return unit vectors in the form of OpenAI's embeddings endpoint."""
    if request.model != ENCODER:
        message = f"There is no model {request.model!r:.100}; expected {ENCODER!r}."
        raise Problem(404, "not_found", message)
    if request.dimensions is not None:
        if request.dimensions > vectors.shape[1]:
            message = f"dimensions is {request.dimensions}; expected {vectors.shape[1]} at most."
            raise Problem(422, "invalid", message)
        cut = vectors[:, : request.dimensions]
        vectors = cut / np.maximum(np.linalg.norm(cut, axis=1, keepdims=True), 1e-12)
    rows: list[Any] = _numbers(vectors)
    if request.encoding_format == "base64":
        rows = [b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]
    count = sum(len(words(text)) for text in request.texts)
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)
        ],
        "model": request.model,
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }


def models(_: Model, __: schemas.Nothing) -> Plain:
    """List the models that give embeddings."""
    one = {"id": ENCODER, "object": "model", "created": 0, "owned_by": "firth"}
    return {"object": "list", "data": [one]}


def health(_: Model, __: schemas.Nothing) -> Plain:
    """Answer that the service runs."""
    return {"status": "ok"}


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/api/run",
        summary="Counts and stages of the run",
        request=schemas.RunRequest,
        answer=describe_run,
    ),
    Endpoint(
        method="POST",
        path="/api/similarity",
        summary="Scores of pairs of texts",
        request=schemas.SimilarityRequest,
        answer=similarity,
    ),
    Endpoint(
        method="POST",
        path="/api/explain",
        summary="The evidence behind a score",
        request=schemas.ExplainRequest,
        answer=explain,
    ),
    Endpoint(
        method="POST",
        path="/api/differences",
        summary="What two texts differ in that matters",
        request=schemas.DifferencesRequest,
        answer=differences,
    ),
    Endpoint(
        method="POST",
        path="/api/match",
        summary="What matches each text of a list in another one",
        request=schemas.MatchRequest,
        answer=match,
        manner=Manner.LONG,
    ),
    Endpoint(
        method="POST",
        path="/api/search",
        summary="Sentences or documents that answer a query",
        request=schemas.SearchRequest,
        answer=search,
    ),
    Endpoint(
        method="POST",
        path="/api/duplicates",
        summary="Groups of equal, nearly equal and similar texts",
        request=schemas.DuplicatesRequest,
        answer=duplicates,
        manner=Manner.LONG,
    ),
    Endpoint(
        method="POST",
        path="/api/reuse",
        summary="Documents that share passages",
        request=schemas.ReuseRequest,
        answer=reuse,
        manner=Manner.LONG,
    ),
    Endpoint(
        method="POST",
        path="/api/check",
        summary="Scorer and encoder next to n-grams on held-out documents",
        request=schemas.Nothing,
        answer=check,
        manner=Manner.LONG,
    ),
    Endpoint(
        method="POST",
        path="/api/documents/compare",
        summary="Two documents, sentence by sentence",
        request=schemas.CompareRequest,
        answer=compare,
    ),
    Endpoint(
        method="GET",
        path="/api/documents",
        summary="A page of the documents",
        request=schemas.DocumentsRequest,
        answer=documents,
    ),
    Endpoint(
        method="GET",
        path="/api/document/{id:path}",
        summary="A document",
        request=schemas.DocumentRequest,
        answer=document,
    ),
    Endpoint(
        method="POST",
        path="/api/encode",
        summary="Unit vectors of texts",
        request=schemas.EncodeRequest,
        answer=encode,
        manner=Manner.BATCHED,
    ),
    Endpoint(
        method="POST",
        path="/v1/embeddings",
        summary="Unit vectors in OpenAI's form",
        request=schemas.EmbeddingsRequest,
        answer=embeddings,
        manner=Manner.BATCHED,
    ),
    Endpoint(
        method="GET",
        path="/v1/models",
        summary="The models that give embeddings",
        request=schemas.Nothing,
        answer=models,
        manner=Manner.AT_ONCE,
    ),
    Endpoint(
        method="GET",
        path="/health",
        summary="Whether the service runs",
        request=schemas.Nothing,
        answer=health,
        manner=Manner.AT_ONCE,
    ),
)


def _names(opened: Opened) -> list[str]:
    """Return id and title of each document, as a part of either is looked for."""
    corpus = opened.corpus
    both = [*zip(corpus.document_ids(), corpus.document_titles(), strict=True)]
    copies = map(corpus.document, range(corpus.n_documents, len(corpus.owners)))
    both += [(copy.id, copy.title) for copy in copies]
    return [f"{id}\n{title}".casefold() for id, title in both]


def _numbers(vectors: Singles) -> list[list[float]]:
    """Return plain numbers; eight decimals distinguish all float32 below 1."""
    # A row at a time: other threads wait while one call makes all of them.
    return [row.astype(np.float64).round(8).tolist() for row in vectors]


def _document(opened: Opened, id: str) -> int:
    """Return the number of a document; an id is never taken for a file."""
    number = opened.corpus.number_of(id)
    if number is None:
        message = f"No document has the id {id!r:.100}."
        raise Problem(404, "not_found", message, "GET /api/documents lists all")
    return number


def _bound(pairs: list[TextPair]) -> None:
    """Refuse pairs whose alignment of words would keep the models busy for long."""
    cost = sum(len(words(one)) * len(words(two)) for one, two in pairs)
    if cost > schemas.MAX_WORD_PAIRS:
        raise Problem(
            422,
            "too_long",
            f"The texts have {cost:,} pairs of words; expected {schemas.MAX_WORD_PAIRS:,} at most.",
            "Send shorter texts, or compare documents.",
        )
