"""Requests of the API: their fields, ranges and limits. Unknown fields are refused."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

MAX_CHARACTERS = 20_000
"""Of a text."""
MAX_DOCUMENT = 1_000_000
"""Characters of a document that is compared."""
MAX_TEXTS = 2_048
"""Texts that one request encodes; OpenAI's limit."""
MAX_NUMBERS = 4_000_000
"""Texts times dimensions of an answer."""
MAX_PAIRS, MAX_RESULTS, PAGE = 1_000, 1_000, 50
MAX_BODY = 4 << 20
MAX_WORD_PAIRS = 4_000_000
"""Words of the first text times words of the second, of one request that compares words."""

MOST_AT_ONCE = 10_000_000
"""Cost of a request that others wait for, at most: two tenths of a second of a processor.
`benchmarks/load.py` measures what clients wait for beside such requests."""


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
"""An integer of JSON, which may be written 10.0."""
Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHARACTERS, pattern=r"\S")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Filter = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Top = Annotated[Whole, Field(ge=1, le=MAX_RESULTS)]
Unit = Literal["sentence", "document"]
Texts = Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)]


class Request(BaseModel):
    """A request; fields that it does not know are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    def cost(self, documents: int, sentences: int) -> int:
        """Pairs of characters that are about as much work as the answer, next to so many texts."""
        return 0


class Nothing(Request):
    """A request without fields."""


class RunRequest(Nothing):
    """A request for the description of the run."""

    def cost(self, documents: int, sentences: int) -> int:
        """Examples are chosen among all sentences; the answer is kept."""
        return 150 * sentences


class SimilarityRequest(Request):
    """Pairs of texts."""

    pairs: list[Annotated[list[Text], Field(min_length=2, max_length=2)]] = Field(
        min_length=1, max_length=MAX_PAIRS
    )
    model: Literal["scorer", "encoder"] = "scorer"

    def cost(self, documents: int, sentences: int) -> int:
        """Pairs of words are compared, and each text is read."""
        return sum(2 * len(a) * len(b) + 200 * (len(a) + len(b)) for a, b in self.pairs)


class DifferencesRequest(Request):
    """Two texts, and their language where it is known."""

    text1: Text
    text2: Text
    language: Annotated[str, Field(max_length=8)] | None = None

    def cost(self, documents: int, sentences: int) -> int:
        """Words are aligned."""
        return 4 * len(self.text1) * len(self.text2)


class ExplainRequest(Request):
    """Two texts."""

    text1: Text
    text2: Text
    top: Annotated[Whole, Field(ge=1, le=100)] = 5

    def cost(self, documents: int, sentences: int) -> int:
        """Each pair of words is explained, and each word."""
        sizes = len(self.text1), len(self.text2)
        return 60 * sizes[0] * sizes[1] + 500 * sum(sizes)


class SearchRequest(Request):
    """A query."""

    query: Text
    top: Top = 10
    mode: Literal["hybrid", "dense", "lexical"] = "hybrid"
    unit: Unit = "sentence"
    where: Filter | None = Field(None, description="Filter: date >= 2020 and author = 'Ann'")

    def cost(self, documents: int, sentences: int) -> int:
        """Each word has postings, a filter reads all documents, and each hit is read."""
        filtered = len(self.where or "") * documents
        return len(self.query) * sentences // 100 + filtered + 20_000 * self.top


class MatchRequest(Request):
    """A list of texts, and one in which each is looked for; by default among the others."""

    left: Texts
    right: Texts | None = None
    false_match_rate: Annotated[float, Field(gt=0, lt=1)] = 0.01


class DuplicatesRequest(Request):
    """What counts as similar."""

    unit: Unit = "sentence"
    threshold: Annotated[float, Field(gt=0, lt=1)] | None = None
    where: Filter | None = None
    top: Top = 50


class ReuseRequest(Request):
    """How many pairs of documents to return."""

    where: Filter | None = None
    top: Top = 50


class GivenText(Request):
    """A text that is no document of the run."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_DOCUMENT, pattern=r"\S")]


class CompareRequest(Request):
    """Two documents: ids of the run, or texts."""

    first: Name | GivenText
    second: Name | GivenText

    def cost(self, documents: int, sentences: int) -> int:
        """Documents may be of any length."""
        return MOST_AT_ONCE + 1


class DocumentsRequest(Request):
    """A page of the list of documents."""

    query: Annotated[str, StringConstraints(max_length=300)] = Field(
        "", description="Part of an id or title."
    )
    page: int = Field(1, ge=1, le=1_000_000_000)

    def cost(self, documents: int, sentences: int) -> int:
        """All names are looked through."""
        return 10 * documents


class DocumentRequest(Request):
    """The id of a document."""

    id: Name


class EncodeRequest(Request):
    """Texts."""

    texts: Texts


class EmbeddingsRequest(Request):
    """Texts, in the form of OpenAI's embeddings endpoint."""

    input: Text | Texts = Field(union_mode="left_to_right")
    model: Name
    dimensions: Annotated[Whole, Field(ge=1, le=100_000)] | None = None
    encoding_format: Literal["float", "base64"] = "float"
    user: Annotated[str, StringConstraints(max_length=1_000)] | None = None

    @property
    def texts(self) -> list[str]:
        """The texts as a list."""
        return [self.input] if isinstance(self.input, str) else self.input
