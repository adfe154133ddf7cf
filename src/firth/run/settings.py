"""The settings of a run: one typed tree, one YAML file.

Every setting of the core is in this file, so that a reader sees them all at once. A wing keeps a
section of its own (`paper`, `reproduce`), which the core stores and does not interpret.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=10**15)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Section(BaseModel):
    """A part of the settings: immutable, and strict about names that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CorpusSettings(Section):
    """How files become documents, and documents sentences."""

    inputs: tuple[str, ...] = ()
    """Files, folders, globs and URIs (`s3://bucket/texts`), in the order in which they are read."""
    text_field: str = "text"
    """Field of a record that holds the text. Several fields (`subject,body`) become paragraphs."""
    id_field: str | None = None
    """Field that names a document. By default `id`, else the file and line."""
    date_field: str | None = None
    """Field of a document's date (ISO 8601). By default `date`."""
    group_by: str | None = None
    """Records with the same value of this field form one document."""
    fields: tuple[str, ...] = ()
    """Further fields to keep, for filters such as `--where "section = 'news'"`."""
    language: str = "en"
    """Language of the text (ISO 639): it chooses stemmer, sentence splitter and word lists."""
    max_record_bytes: Count = 32 << 20
    """A longer record is skipped and counted."""
    min_words: Count = 3
    """Models do not learn from sentences with fewer words."""
    max_words: Count = 60
    """Models do not learn from sentences with more words."""
    held_out_fraction: Fraction = 0.05
    """Share of the documents that no model learns from; label-free comparison asks about them."""


class WordSettings(Section):
    """Word vectors, learned from which sentences stand next to each other."""

    min_count: Count = 5
    """Rarer stems get no learned vector."""
    vocabulary: Count = 100_000
    """Most frequent stems that get one."""
    dimensions: Count = 200
    epochs: Count | None = None
    """Passes over the corpus. By default as many as make 200 steps, at most 10."""
    batch: Annotated[int, Field(ge=2)] = 1024
    """Pairs of sentences in a step. The other second sentences of a batch are negatives."""
    learning_rate: Positive = 0.01
    """Peak rate of Adam."""
    temperature: Positive = 0.07
    prior_count: NonNegative = 50.0
    """A vector learned from n sentences is scaled by sqrt(n / (n + prior_count))."""


class EncoderSettings(Section):
    """A pretrained encoder that the scorer uses in place of sums of word vectors."""

    model: str | None = None
    """Folder, file or hub name. By default no pretrained encoder is used."""
    pooling: Literal["mean", "cls", "first-last"] | None = None
    """How token vectors become a sentence vector, for a model that does not say."""
    normalize: Literal["none", "center", "standardize"] | None = None
    """What is done to each dimension. By default label-free comparison chooses."""
    normalization_sentences: Annotated[int, Field(ge=2)] = 1_000
    """Sentences of the corpus that give each dimension's mean and deviation."""
    prompt: str = 'This sentence : "{}" means in one word:'
    """What a language model reads; `{}` is the sentence (Jiang et al. 2023)."""
    max_tokens: Count = 256
    """Tokens of a sentence that are read."""


class AdaptSettings(Section):
    """How a pretrained encoder learns which texts of the corpus belong together."""

    pairs: Literal["neighbors", "crops", "titles"] = "neighbors"
    """Next sentences, two spans of a paragraph (Izacard et al. 2022), or title and sentence."""
    layers: Count | None = None
    """Top layers that learn. By default 8 of a language model and 2 of another encoder."""
    steps: Annotated[int, Field(ge=0)] = 120
    batch: Annotated[int, Field(ge=2)] = 48
    micro_batches: Count = 1
    """Parts in which a batch is computed, to save memory."""
    learning_rate: Positive | None = None
    """By default 2e-4 for a language model, 2e-5 for layers, 1e-3 for an embedding matrix."""
    temperature: Positive = 0.05
    max_tokens: Annotated[int, Field(ge=4)] = 32
    """Tokens of a text that are read in training."""


class ScorerSettings(Section):
    """How the scorer compares two sentences."""

    sentence_weight: NonNegative | None = None
    """Weight of the cosine of sentence vectors. By default label-free comparison chooses."""
    word_weight: NonNegative | None = None
    """Weight of the alignment of words. By default label-free comparison chooses."""
    spelling_weight: NonNegative | None = None
    """Length of a word's character n-gram vector beside its learned vector, which has length 1."""
    number_penalty: Fraction = 0.25
    """Share of the score that is lost where the numbers of two texts differ."""
    contexts: Count | None = None
    """Corpus sentences that explanations draw on. By default 20,000; 2,000 with an encoder."""
    topics: Count = 100
    """Groups of those sentences, at most."""


class QuestionSettings(Section):
    """Questions about held-out documents, which compare models without labels."""

    questions: Count = 2_000
    """Questions of each type, at most."""
    distractors: Count = 19
    """Wrong answers of each question."""


class PairSettings(Section):
    """Pairs of corpus sentences that a teacher scores, for students that learn from pairs."""

    pairs: Count = 50_000
    near: Fraction = 0.5
    """Share of the pairs whose sentences resemble each other."""
    max_uses: Count = 4
    """Pairs in which one sentence may occur."""
    shard_pairs: Count = 2_000
    """Pairs in one shard of the work."""
    exclude: tuple[str, ...] = ()
    """Files of texts that must not occur in a pair, such as evaluation sets."""


class DistillSettings(Section):
    """The encoder that a teacher is distilled into."""

    base: str = "static"
    """`static` (word vectors), `transformer` (from scratch), `layers` (of the run's language
    model), or folder or hub name of an encoder."""
    objective: Literal["similarity-matrix", "pairs"] = "similarity-matrix"
    """What the student learns: the teacher's similarities within a batch, or scored pairs."""
    teacher: str | None = None
    """Run, folder or hub name. By default the run's own scorer."""
    sentences: Count = 100_000
    """Corpus sentences that the teacher reads."""
    dimensions: Count | None = None
    """Of a sentence vector. By default 512 for `static` and 256 for `transformer`."""
    vocabulary: Count = 100_000
    """static: words that have a vector."""
    number_weight: Positive = 2.0
    """static: factor by which vectors of numbers are longer."""
    subword_weight: NonNegative = 0.6
    """static: length of the vector of a piece of an unknown word; the rarest word has 1."""
    layers: Count = 4
    """transformer: number of layers."""
    max_tokens: Annotated[int, Field(ge=4)] = 128
    """Tokens of a sentence that a Transformer reads."""
    epochs: Annotated[int, Field(ge=0)] | None = None
    """Passes over the sentences or pairs. By default 2; 8 for `static` with a named teacher, and 0
    for `static` with the run's own scorer, whose word vectors it shares."""
    batch: Count | None = None
    """Sentences or pairs in a step. By default 256 for `static`, 64 for a Transformer."""
    micro_batches: Count = 1
    """Parts in which a batch is computed, to save memory."""
    learning_rate: Positive | None = None
    """Peak rate. By default by the kind of the student."""
    patience: Count = 4
    """Evaluations on held-out sentences without a gain after which training stops."""
    calibration: Literal["match", "quantile", "zscore", "none"] | None = None
    """pairs: how scores become labels. By default `match` for `static`, else `quantile`."""


class SearchSettings(Section):
    """What is indexed for search."""

    encoder: str | None = None
    """Folder or hub name of the encoder of the index. By default the run's own encoder."""


class CalibrationSettings(Section):
    """Pairs whose scores give every score its meaning."""

    pairs: Annotated[int, Field(ge=100)] = 200_000
    """Random pairs of sentences that are scored."""


class Settings(Section):
    """All settings of a run."""

    seed: Annotated[int, Field(ge=0)] = 13
    """Every random choice follows from it."""
    corpus: CorpusSettings = CorpusSettings()
    words: WordSettings = WordSettings()
    encoder: EncoderSettings = EncoderSettings()
    adapt: AdaptSettings = AdaptSettings()
    scorer: ScorerSettings = ScorerSettings()
    questions: QuestionSettings = QuestionSettings()
    pairs: PairSettings = PairSettings()
    distill: DistillSettings = DistillSettings()
    search: SearchSettings = SearchSettings()
    calibration: CalibrationSettings = CalibrationSettings()
    paper: dict[str, Any] = {}
    """Settings of the wing `paper`, which checks them (`firth.paper.settings`)."""
    reproduce: dict[str, Any] = {}
    """Settings of the wing `reproduce`, which checks them."""
