"""The endpoints of the API: functions that answer, whose parameters are the fields of a request."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum, auto
from inspect import signature
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from firth.model import Model
from firth.pipeline.built import compare_with_baseline, examples, verdict
from firth.pipeline.opened import Opened
from firth.pipeline.stages import status
from firth.plain import match as match_lists
from firth.scorer.explanation import article
from firth.serve.guard import Problem
from firth.text.differences import differences as find_differences
from firth.text.words import words

Plain = dict[str, Any]
Answer = TypeVar("Answer", bound=Callable[..., Plain])
MAX_PAIRS, PAGE = 1_000, 50

Text = Annotated[str, StringConstraints(max_length=20_000, pattern=r"\S")]
Aligned = Annotated[str, StringConstraints(max_length=8_000, pattern=r"\S")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Filter = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1_000),
    Field(description="Filter: date >= 2020 and author = 'Ann'"),
]
Top = Annotated[int, Field(ge=1, le=100)]
Texts = Annotated[list[Text], Field(min_length=1, max_length=2_048, fail_fast=True)]
Lists = Annotated[list[Text], Field(min_length=1, max_length=10_000, fail_fast=True)]
Pair = Annotated[list[Text], Field(min_length=2, max_length=2, fail_fast=True)]
Pairs = Annotated[list[Pair], Field(min_length=1, max_length=MAX_PAIRS, fail_fast=True)]
Share = Annotated[float, Field(gt=0, lt=1)]
_FIELDS = ConfigDict(extra="forbid", allow_inf_nan=False)


class Work(Enum):
    """Who answers a request."""

    QUICK = auto()
    """A process for quick answers; where the body is long, that for slow ones."""
    SLOW = auto()
    """A process for slow answers."""
    LONG = auto()
    """A separate process, as lines of JSON: progress, then the result."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An endpoint: `answer` makes the answer from the model and the fields of `request`."""

    path: str
    request: type[BaseModel]
    answer: Callable[..., Plain]
    work: Work


ENDPOINTS: dict[str, Endpoint] = {}
"""Name of a function → its endpoint."""


def _endpoint(path: str, work: Work = Work.QUICK) -> Callable[[Answer], Answer]:
    """Register a function as an endpoint; its parameters after the model are the request's."""

    def register(function: Answer) -> Answer:
        _, *parameters = signature(function).parameters.values()
        fields: dict[str, Any] = {
            field.name: (field.annotation, ... if field.default is field.empty else field.default)
            for field in parameters
        }
        name = function.__name__
        request = create_model(name, __config__=_FIELDS, **fields)
        ENDPOINTS[name] = Endpoint(path=path, request=request, answer=function, work=work)
        return function

    return register


@_endpoint("/api/run")
def describe_run(served: Model, /) -> Plain:
    """Describe the run: counts, stages, and example sentences."""
    return served.ask(lambda opened: opened.once(_description))


def _description(opened: Opened) -> Plain:
    return {
        "name": opened.run.path.resolve().name,
        **asdict(status(opened.run)),
        "examples": [text for pair in examples(opened.run) for text in pair],
    }


@_endpoint("/api/similarity", Work.SLOW)
def similarity(served: Model, /, pairs: Pairs) -> Plain:
    """Score pairs of texts."""
    return {"scores": served.scorer.similarities([(a, b) for a, b in pairs]).tolist()}


@_endpoint("/api/explain")
def explain(served: Model, /, text1: Aligned, text2: Aligned, top: Top = 5) -> Plain:
    """Explain a score, as values and as HTML for the style sheet of the web app."""
    explanation = served.explain(text1, text2).top(top)
    return {**explanation.as_dict(), "html": article(explanation)}


@_endpoint("/api/differences")
def differences(
    _: Model, /, text1: Text, text2: Text,
    language: Annotated[str, Field(max_length=8)] | None = None,
) -> Plain:  # fmt: skip
    """Return what two texts differ in, each with its places in both."""
    return find_differences(text1, text2, language=language).as_dict()


@_endpoint("/api/search")
def search(
    served: Model,
    /,
    query: Text,
    top: Top = 10,
    mode: Literal["hybrid", "dense", "lexical"] = "hybrid",
    unit: Literal["sentence", "document"] = "sentence",
    where: Filter | None = None,
) -> Plain:
    """Search sentences or documents."""
    hits = served.search(query, top=top, mode=mode, unit=unit, where=where)
    return {"query": query, **hits.as_dict()}


@_endpoint("/api/calibrate")
def calibrate(
    served: Model,
    /,
    false_match_rate: Share = 0.01,
    scores: Annotated[list[float], Field(max_length=MAX_PAIRS, fail_fast=True)] = [],  # noqa: B006
) -> Plain:
    """Return the cosine that so many texts without a counterpart reach, and chances of cosines."""
    calibration = served.calibration
    return {
        "threshold": calibration.threshold(false_match_rate=false_match_rate),
        "chances": [calibration.chance(score) for score in scores],
    }


@_endpoint("/api/match", Work.LONG)
def match(
    served: Model, /, left: Lists, right: Lists | None = None, precision: Share = 0.9
) -> Plain:
    """Return what matches each text of a list in another one, by the encoder of the search."""
    index = served.ask(lambda opened: opened.search.index)
    matches = match_lists(
        left, right, encoder=index.encoder, precision=precision, language=index.corpus.language
    )
    return matches.as_dict()


@_endpoint("/api/duplicates", Work.LONG)
def duplicates(
    served: Model,
    /,
    unit: Literal["sentence", "document", "passage"] = "sentence",
    threshold: Share | None = None,
    where: Filter | None = None,
    top: Top = 50,
) -> Plain:
    """Find groups of equal and similar texts, or documents that share passages."""
    return served.duplicates(threshold, unit=unit, where=where).as_dict(top)


@_endpoint("/api/check", Work.LONG)
def check(served: Model, /) -> Plain:
    """Compare scorer and encoder with n-grams on held-out documents; the answer is kept."""
    return served.ask(lambda opened: opened.once(_comparison))


def _comparison(opened: Opened) -> Plain:
    comparison = compare_with_baseline(opened.run)
    said = verdict(opened.run, comparison)
    return {"verdict": said, "comparison": comparison and comparison.as_dict()}


@_endpoint("/api/documents/compare", Work.SLOW)
def compare(served: Model, /, first: Name, second: Name) -> Plain:
    """Align the sentences of two documents."""
    served.ask(lambda opened: [_document(opened, id) for id in (first, second)])  # No files.
    return served.compare_documents(first, second).as_dict()


@_endpoint("/api/documents")
def documents(
    served: Model,
    /,
    query: Annotated[
        str, StringConstraints(max_length=300), Field(description="Part of an id or title.")
    ] = "",
    page: Annotated[int, Field(ge=1, le=1_000_000_000)] = 1,
) -> Plain:
    """List documents, a page at a time."""
    return served.ask(lambda opened: _page(opened, query.casefold(), page))


def _page(opened: Opened, query: str, page: int) -> Plain:
    names, corpus = opened.once(_names), opened.corpus
    numbers = [number for number, name in enumerate(names) if query in name]
    listed = [
        (corpus.document(number), number) for number in numbers[(page - 1) * PAGE : page * PAGE]
    ]
    sizes = np.diff(corpus.document_bounds)[corpus.owners]
    return {
        "total": len(numbers),
        "page": page,
        "pages": -(-len(numbers) // PAGE),
        "documents": [
            {"id": item.id, "title": item.title, "date": item.date, "sentences": int(sizes[n])}
            for item, n in listed
        ],
    }


@_endpoint("/api/document")
def document(served: Model, /, id: Name) -> Plain:
    """Return a document with its sentences."""
    return served.ask(lambda opened: _contents(opened, id))


def _contents(opened: Opened, id: str) -> Plain:
    corpus, number = opened.corpus, _document(opened, id)
    equal = corpus.documents_with_text(number)
    record = next((copy for copy in equal if copy.id == id), equal[0])
    start, end = corpus.document_bounds[number : number + 2].tolist()
    return {
        "id": id,
        "title": record.title,
        "source": record.source,
        "line": record.line,
        "date": record.date,
        "fields": {name: list(values) for name, values in record.fields.items()},
        "also": [copy.id for copy in equal if copy is not record],
        "sentences": corpus.texts(np.arange(start, end)),
    }


@_endpoint("/v1/embeddings", Work.SLOW)
def embeddings(
    served: Model,
    /,
    input: Annotated[Text | Texts, Field(union_mode="left_to_right")],
    model: Literal["encoder"],
    encoding_format: Literal["float", "base64"] = "float",
    user: Annotated[str, StringConstraints(max_length=1_000)] | None = None,
) -> Plain:
    """Return unit vectors in the form of OpenAI's embeddings endpoint."""
    texts = [input] if isinstance(input, str) else input
    vectors = served.encoder.encode(texts)
    # Eight decimals distinguish all float32 below 1.
    rows: Any = (row.astype(np.float64).round(8).tolist() for row in vectors)
    if encoding_format == "base64":
        rows = (b64encode(row.astype("<f4").tobytes()).decode() for row in vectors)
    count = sum(len(words(text)) for text in texts)
    data = ({"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows))
    return {
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }


def _names(opened: Opened) -> list[str]:
    """Return id and title of each document, as a part of either is looked for."""
    corpus = opened.corpus
    both = [*zip(corpus.document_ids(), corpus.document_titles(), strict=True)]
    copies = map(corpus.document, range(corpus.n_documents, len(corpus.owners)))
    both += [(copy.id, copy.title) for copy in copies]
    return [f"{id}\n{title}".casefold() for id, title in both]


def _document(opened: Opened, id: str) -> int:
    """Return the number of a document; an id is never taken for a file."""
    number = opened.corpus.number_of(id)
    if number is None:
        message = f"No document has the id {id!r:.100}."
        raise Problem(404, "not_found", message, "POST /api/documents lists all")
    return number
