"""What each request is answered with: plain values, those that `--json` of a command prints."""

from base64 import b64encode
from typing import Any

import numpy as np

from firth.index.encoder import Vectors, to_unit
from firth.lexical.scorer import CosineScorer
from firth.lexical.words import words
from firth.reuse.compare import Document, compare_documents, document_of
from firth.reuse.duplicates import duplicates
from firth.reuse.kinds import Kind, Unit
from firth.reuse.mine import mine
from firth.scale.scale import Scale, with_shares
from firth.search.among import Among
from firth.searchable import accuracies, checked, verdict
from firth.serve import schemas
from firth.serve.about import about
from firth.serve.bounds import PAGE
from firth.serve.opened import Opened
from firth.serve.problems import Problem
from firth.surrogate import SURROGATE

Plain = dict[str, Any]
MODEL = "surrogate"
"""What the Surrogate is called by OpenAI's clients."""


def similarity(opened: Opened, asked: schemas.AskedSimilarity) -> Plain:
    """Scores of pairs, by Origin or by the Surrogate, and what they mean."""
    pairs = [(one, two) for one, two in asked.pairs]
    if asked.model == "origin":
        scores, scale = opened.origin.similarities(pairs).tolist(), opened.origin_scale
    else:
        scores, scale = _cosines(opened, pairs), opened.surrogate_scale
    return {"scores": scores, "scale": [_shares(scale, score) for score in scores]}


def explain(opened: Opened, asked: schemas.AskedReasons) -> Plain:
    """What Origin's score of two sentences comes from, and the Surrogate's score beside it."""
    whole = opened.reasons
    origin = whole.only(asked.components) if asked.components else whole
    found = origin.explain(asked.first, asked.second).cut(asked.top)
    scale = opened.origin_scale if origin.weights == whole.weights else None
    cosine = _cosines(opened, [(asked.first, asked.second)])[0] if opened.has["surrogate"] else None
    return {
        "scale": {},
        **with_shares(found.as_dict(), scale, found.similarity),
        "components": [*whole.weights],
        "unknown": [*found.unknown],
        "surrogate": None
        if cosine is None
        else {"score": cosine, "scale": _shares(opened.surrogate_scale, cosine)},
    }


def search(opened: Opened, asked: schemas.AskedHits) -> Plain:
    """Sentences or documents, by meaning and by words."""
    found = opened.search
    among = Among(tuple(asked.document), (), tuple(asked.where))
    hits = found.search(
        asked.query, top=asked.top, by=asked.by, documents=asked.documents, among=among,
        rerank=asked.rerank,
    )  # fmt: skip
    scale = opened.origin_scale if asked.rerank else opened.vector_scale
    return {
        **found.as_dict(asked.query, hits),
        "calibrated": scale is not None,
        "remark": found.index.library.remark(),
    }


def find_duplicates(opened: Opened, asked: schemas.AskedDuplicates) -> Plain:
    """Sentences, or documents, that say the same."""
    if asked.kind is Kind.REWORDED:
        _need_vectors(opened)
    found = duplicates(
        opened.run, unit=asked.unit, kind=asked.kind, threshold=asked.threshold, rate=asked.rate,
        min_words=asked.min_words,
    )  # fmt: skip
    sentences = asked.unit is Unit.SENTENCES
    return _with_scale(opened, found.as_dict(asked.top), found.threshold if sentences else None)


def find_pairs(opened: Opened, asked: schemas.AskedMining) -> Plain:
    """Documents that re-tell one another."""
    _need_vectors(opened)
    found = mine(
        opened.run, order=asked.order, threshold=asked.threshold, rate=asked.rate,
        candidates=asked.candidates,
    )  # fmt: skip
    return _with_scale(opened, found.as_dict(asked.top), found.threshold)


def compare(opened: Opened, asked: schemas.AskedComparison) -> Plain:
    """Which sentences of two documents say the same."""
    one, two = (
        Document.of("text", given.text)
        if isinstance(given, schemas.GivenText)
        else document_of(opened.library, _number(opened, given))
        for given in (asked.first, asked.second)
    )
    found = compare_documents(
        one, two, opened.run, origin=asked.origin, order=asked.order, threshold=asked.threshold,
        rate=asked.rate,
    )  # fmt: skip
    return {**found.as_dict(), "texts_a": [*one.sentences], "texts_b": [*two.sentences]}


def documents(opened: Opened, asked: schemas.AskedDocuments) -> Plain:
    """Names and titles, a page at a time."""
    library, wanted = opened.library, asked.query.casefold()
    names, titles = library.document_ids(), library.document_titles()
    chosen = [
        number
        for number, told in enumerate(zip(names, titles, strict=True))
        if not wanted or any(wanted in text.casefold() for text in told)
    ]
    sizes = np.diff(library.document_bounds)
    shown = chosen[(asked.page - 1) * PAGE : asked.page * PAGE]
    return {
        "total": len(chosen),
        "page": asked.page,
        "pages": -(-len(chosen) // PAGE),
        "documents": [
            {
                "id": names[number],
                "title": titles[number],
                "date": library.document_date(number),
                "sentences": int(sizes[number]),
            }
            for number in shown
        ],
    }


def document(opened: Opened, asked: schemas.AskedDocument) -> Plain:
    """A document and its sentences."""
    library, number = opened.library, _number(opened, asked.id)
    source, line = library.document_source(number)
    return {
        "id": asked.id,
        "title": library.document_title(number),
        "source": source,
        "line": line,
        "date": library.document_date(number),
        "fields": library.document_fields(number),
        "sentences": [*document_of(library, number).sentences],
    }


def tell_run(opened: Opened, _: schemas.Nothing) -> Plain:
    """What the run is, and which parts of it are there."""
    return about(opened)


def check(opened: Opened, _: schemas.Nothing) -> Plain:
    """How good the Surrogate is here, beside tf-idf."""
    found = checked(opened.run, opened.run.config.check.items)
    return {"verdict": verdict(found), "systems": accuracies(found)}


def encode(vectors: Vectors, _: schemas.AskedVectors) -> Plain:
    """Unit vectors."""
    return {"vectors": _numbers(vectors), "dimensions": vectors.shape[1]}


def embed(vectors: Vectors, asked: schemas.AskedEmbeddings) -> Plain:
    """Unit vectors, as OpenAI's clients read them."""
    if asked.model != MODEL:
        raise Problem(404, "not_found", f"No model {asked.model!r:.100}; expected {MODEL!r}.")
    if asked.dimensions is not None:
        if asked.dimensions > vectors.shape[1]:
            raise Problem(
                422, "invalid", f"dimensions: {asked.dimensions}; expected {vectors.shape[1]}, or "
                "fewer."
            )  # fmt: skip
        vectors = to_unit(vectors[:, : asked.dimensions].copy())
    if asked.encoding_format == "base64":
        told: list[Any] = [b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]
    else:
        told = _numbers(vectors)
    read = sum(len(words(text)) for text in asked.texts)
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": number, "embedding": one}
            for number, one in enumerate(told)
        ],
        "model": asked.model,
        "usage": {"prompt_tokens": read, "total_tokens": read},
    }


def models(opened: Opened, _: schemas.Nothing) -> Plain:
    """The Surrogate, if there is one."""
    one = {"id": MODEL, "object": "model", "created": 0, "owned_by": "firth"}
    return {"object": "list", "data": [one] if opened.has["surrogate"] else []}


def health(_: Opened, __: schemas.Nothing) -> Plain:
    """That the service is up."""
    return {"status": "ok"}


def _numbers(vectors: Vectors) -> list[list[float]]:
    """As plain numbers; eight decimals tell float32 below 1 apart."""
    found: list[list[float]] = vectors.astype(np.float64).round(8).tolist()
    return found


def _need_vectors(opened: Opened) -> None:
    """Raise `MissingStageError` before the work begins: it has a status of its own."""
    if not opened.has["index"]:
        opened.run.folder(SURROGATE)


def _number(opened: Opened, name: str) -> int:
    """Of a document; never a file's, whatever the name looks like."""
    try:
        return opened.library.document_ids().index(name)
    except ValueError:
        raise Problem(
            404, "not_found", f"No document is named {name!r:.100}.", "GET /api/documents lists all"
        ) from None


def _cosines(opened: Opened, pairs: list[tuple[str, str]]) -> list[float]:
    scorer = CosineScorer("surrogate", opened.encoder.encode)
    found: list[float] = scorer.similarities(pairs).tolist()
    return found


def _shares(scale: Scale | None, score: float) -> dict[str, float]:
    return scale.shares(score) if scale else {}


def _with_scale(opened: Opened, found: Plain, threshold: float | None) -> Plain:
    scale = None if threshold is None else opened.vector_scale
    return with_shares(found, scale, threshold or 0.0)
