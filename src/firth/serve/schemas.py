"""What the service is asked and what it answers; its description is made of these.

What a command prints as `--json` is described by the dataclasses that it is made of.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from firth.origin.evidence import Knowledge, Meeting, Part, ThemeShare, Word
from firth.reuse.compare import Match, Reuse
from firth.reuse.duplicates import Group
from firth.reuse.kinds import Kind, Order, Unit
from firth.search.search import By
from firth.serve import bounds


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
"""An integer of JSON, whose 10.0 is one."""
Text = Annotated[str, StringConstraints(min_length=1, max_length=bounds.CHARACTERS, pattern=r"\S")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Condition = Annotated[str, StringConstraints(max_length=300)]
Share = Annotated[float, Field(gt=0, lt=1)]
Shares = dict[str, float]
"""Kind of pairs (`random`, `neighbours`, `same-document`) → share of them that scores lower, in
[0, 1]; `probability` of a match, where pairs were judged; empty without a scale."""


class Asked(BaseModel):
    """A request: what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Nothing(Asked):
    """A request without parameters."""


class AskedAlike(Asked):
    """What counts as alike: from which cosine on, or what share of random pairs may reach it."""

    threshold: Share | None = None
    rate: Share = 0.001


class AskedSimilarity(Asked):
    """Pairs, and who is to compare them."""

    pairs: list[Annotated[list[Text], Field(min_length=2, max_length=2)]] = Field(
        min_length=1, max_length=bounds.PAIRS
    )
    model: Literal["origin", "surrogate"] = "origin"


class Scores(BaseModel):
    """Of each pair: its score, and what that means."""

    scores: list[float]
    scale: list[Shares]


class AskedReasons(Asked):
    """Two sentences, and how much to tell of what they have in common."""

    first: Text
    second: Text
    top: Whole = Field(
        10, ge=1, le=100, description="Themes, and meetings of words, that are told."
    )
    components: list[Literal["sentences", "words"]] | None = Field(
        None, min_length=1, max_length=2, description="Parts of the score that count: all, if null."
    )


class Score(BaseModel):
    """A score and what it means."""

    score: float
    scale: Shares


class Reasons(BaseModel):
    """A score and what it comes from: `parts` sum to it (`firth explain --json`)."""

    sentence1: str
    sentence2: str
    similarity: float
    parts: dict[str, Part]
    themes: list[ThemeShare]
    alone1: list[ThemeShare]
    alone2: list[ThemeShare]
    meetings: list[Meeting]
    words1: list[Word]
    words2: list[Word]
    exact: bool
    knowledge: Knowledge
    told: str
    scale: Shares
    components: list[str] = Field(description="Those that have a weight in the run's Origin.")
    unknown: list[str] = Field(description="Words of which nothing was learned.")
    surrogate: Score | None


class AskedVectors(Asked):
    """Texts to be encoded."""

    texts: list[Text] = Field(min_length=1, max_length=bounds.TEXTS)


class Encoded(BaseModel):
    """Unit vectors, in the order of the texts; zeros where nothing is known of a text."""

    vectors: list[list[float]]
    dimensions: int


class AskedHits(Asked):
    """What is looked for, where, and how."""

    query: Text
    top: Whole = Field(10, ge=1, le=bounds.HITS)
    by: By = By.BOTH
    documents: bool = Field(False, description="Documents by their best sentence, once each.")
    document: list[Name] = Field([], max_length=20, description="Patterns of names: news-*.")
    where: list[Condition] = Field([], max_length=20, description="As date>=2020, author=Ann.")
    rerank: bool = Field(False, description="Rank the best hits anew, by Origin.")


class Hit(BaseModel):
    """A sentence that was found, or a document by its best one (`firth search --json`)."""

    score: float
    cosine: float
    words: float
    origin: float | None
    sentence: int
    text: str
    document: str
    title: str
    source: str
    line: int
    date: str
    meaning: str
    shares: Shares
    fields: dict[str, list[str]]
    reranked: float | None


class Hits(BaseModel):
    """What was found, best first."""

    query: str
    hits: list[Hit]
    calibrated: bool = Field(description="Whether `shares` and `meaning` are known.")
    remark: str = Field(description="What else a reader must know, or nothing.")


class AskedDuplicates(AskedAlike):
    """What is compared, and what counts as alike."""

    unit: Unit = Unit.SENTENCES
    kind: Kind = Field(Kind.REWORDED, description="How far to look.")
    min_words: Whole = Field(6, ge=2, le=1_000)
    top: Whole = Field(50, ge=1, le=bounds.HITS, description="Groups that are given.")


class Duplicates(BaseModel):
    """Groups of an original and its copies (`firth duplicates --json`)."""

    unit: Unit
    compared: int
    threshold: float | None
    model: str
    remarks: list[str]
    found: dict[str, int]
    groups: list[Group]
    scale: Shares = {}


class AskedMining(AskedAlike):
    """What counts as alike, and how many pairs are wanted."""

    order: Order = Order.FREE
    candidates: Whole = Field(10, ge=1, le=100)
    top: Whole = Field(50, ge=1, le=bounds.HITS, description="Pairs that are given.")


class MinedPair(BaseModel):
    """Two documents that have something in common."""

    a: str
    b: str
    a_title: str
    b_title: str
    coverage: float
    coverage_a: float
    coverage_b: float
    score: float


class Mined(BaseModel):
    """Pairs of documents, those with most in common first (`firth mine --json`)."""

    documents: int
    threshold: float
    model: str
    order: Order
    remark: str
    found: int
    pairs: list[MinedPair]
    scale: Shares = {}


class GivenText(Asked):
    """A text that is no document of the run."""

    text: Annotated[
        str, StringConstraints(min_length=1, max_length=bounds.DOCUMENT_CHARACTERS, pattern=r"\S")
    ]


class AskedComparison(AskedAlike):
    """Two documents: names of the run's, or texts."""

    first: Name | GivenText
    second: Name | GivenText
    order: Order = Order.FREE
    origin: bool = Field(False, description="Ask Origin, not the vectors.")


class Compared(BaseModel):
    """What two documents have in common (`firth compare-documents --json`), and what they say."""

    a: str
    b: str
    score: float
    coverage_a: float
    coverage_b: float
    reused_a: float
    reused_b: float
    sentences_a: int
    sentences_b: int
    matches: list[Match]
    reuses: list[Reuse]
    threshold: float
    rate: float | None
    model: str
    order: Order
    remarks: list[str]
    texts_a: list[str] = Field(description="The sentences of the first.")
    texts_b: list[str] = Field(description="The sentences of the second.")


class AskedDocuments(Asked):
    """Which documents are listed."""

    query: Annotated[str, StringConstraints(max_length=300)] = Field(
        "", description="Part of a name or title, whatever its case."
    )
    page: int = Field(1, ge=1, le=1_000_000_000)


class Listed(BaseModel):
    """A document of the list."""

    id: str
    title: str
    date: str
    sentences: int


class Documents(BaseModel):
    """A page of the documents that were asked for."""

    total: int
    page: int
    pages: int
    documents: list[Listed]


class AskedDocument(Asked):
    """Which document."""

    id: Name


class Document(BaseModel):
    """A document of the run."""

    id: str
    title: str
    source: str
    line: int
    date: str
    fields: dict[str, list[str]]
    sentences: list[str]


class Has(BaseModel):
    """Which parts of the run are there."""

    origin: bool
    surrogate: bool
    index: bool
    scale: bool
    themes: bool
    check: bool
    reasons: bool = Field(description="Whether Origin's scores are explained here.")


class Curves(BaseModel):
    """Losses of a training."""

    label: str
    lines: dict[str, list[tuple[float, float]]] = Field(description="Name → (step, loss) …")


class Histogram(BaseModel):
    """How often values are how high."""

    edges: list[float] = Field(description="Of the bins, ascending; one more than counts.")
    counts: list[int]


class Labels(BaseModel):
    """What the similarities are worth that the Surrogate learned from: rank correlations."""

    pairs: int
    histogram: Histogram
    components: dict[str, float | None] = Field(description="Of each part of Origin.")
    tfidf: float | None
    length: float | None = Field(description="Multiple correlation with the sentences' lengths.")
    warnings: list[str]


class StageTold(BaseModel):
    """A finished stage."""

    name: str
    summary: str = Field(description="In sentences.")
    figures: dict[str, Any] = Field(description="The same by keys.")
    stale: bool = Field(description="Whether what it was made of has changed since.")


class About(BaseModel):
    """What a run is, and what of it is there."""

    name: str
    has: Has
    documents: int
    held_out: int
    sentences: int
    words: int
    skipped: dict[str, int]
    stages: list[StageTold]
    evaluation: dict[str, Any] | None = Field(description="As `firth evaluate` wrote it.")
    components: list[str]
    fields: list[str] = Field(description="What documents can be chosen by.")
    examples: list[list[str]]
    curves: dict[str, Curves]
    labels: Labels | None


class System(BaseModel):
    """A system of the check: share of right answers in per cent, with its 95 % interval."""

    name: str
    value: float
    low: float | None
    high: float | None


class Checked(BaseModel):
    """The Surrogate beside tf-idf, on documents that were kept apart (`firth check`)."""

    verdict: str
    systems: list[System]


class AskedEmbeddings(BaseModel):
    """As OpenAI's clients ask; numbers of tokens in place of texts are not understood."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=bounds.TEXTS)]
    model: str = Field("surrogate", max_length=200)
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(ge=1, le=100_000), BeforeValidator(_whole)] | None = Field(
        None, description="The first so many."
    )

    @property
    def texts(self) -> list[str]:
        """What is encoded."""
        return [self.input] if isinstance(self.input, str) else self.input


class Embedding(BaseModel):
    """A vector; base64 is of little-endian float32."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class Usage(BaseModel):
    """How many words were read; OpenAI counts tokens."""

    prompt_tokens: int
    total_tokens: int


class Embeddings(BaseModel):
    """As OpenAI answers."""

    object: Literal["list"]
    data: list[Embedding]
    model: str
    usage: Usage


class Model(BaseModel):
    """A model, as OpenAI lists it."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class Models(BaseModel):
    """The models that give embeddings."""

    object: Literal["list"]
    data: list[Model]


class Health(BaseModel):
    """That the service is up."""

    status: Literal["ok"]


class Progress(BaseModel):
    """How far a long answer is."""

    done: float
    of: float | None
    what: str


class ProgressLine(BaseModel):
    """A line that says how far the answer is."""

    progress: Progress


class Told(BaseModel):
    """A problem."""

    code: str
    message: str
    hint: str


class Failure(BaseModel):
    """Every answer that is an error."""

    error: Told
