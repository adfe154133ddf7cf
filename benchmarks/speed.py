"""Each step beside the library that one would use for it, on the same text, in the same run.

    python benchmarks/speed.py RUN [WHAT …] [--size N] [--model FOLDER] [--limit 3600] [--out FILE]

RUN has a corpus, word vectors and a static Surrogate (`firth build`). WHAT is, by default, all of:

corpus    documents to stored sentences, by one process and by a worker a core, beside spaCy's
          sentencizer, which stores nothing, and reading the same file with `datasets` (50,000
          sentences)
words     word vectors of one epoch, beside gensim's skip-gram: as many dimensions, the same stems,
          which gensim is given (100,000 sentences)
states    a causal language model's states of prompts, beside sentence-transformers' `encode` of the
          same model with its pooling of last tokens (300 sentences). --model: a folder; without
          one, made-up weights of SmolLM2-135M's shape, whose products take as long
tuning    the upper eight layers of a causal language model on neighbours, beside a plain loop over
          sentence-transformers' modules and its MultipleNegativesRankingLoss, in the same number
          format, with the same pairs and Adam (384 pairs, 48 a step; --model as above)
origin    Origin's scores of pairs, half of them neighbours, beside tf-idf's (3,000 pairs)
screen    the 20,000 chunks nearest to a sentence, beside bm25s and scikit-learn's TfidfVectorizer
          (100 sentences, among the chunks of 200,000 sentences)
surrogate vectors of the Surrogate, beside sentence-transformers' StaticEmbedding and model2vec's
          inference on the same table and tokenizer (50,000 sentences)

--size sets the number in parentheses. bm25s, gensim, spaCy and model2vec are needed beside firth
where they are compared with; a way whose library is missing is left out.

Texts are documents of RUN, drawn at random. Each way is measured in a process of its own, on
whatever threads it takes by default: seconds by the clock and of processor (of all threads) of the
work alone, imports and opening of models aside; how many times as long as the first way it takes
by either; and the most memory that the process had. Where ways give vectors, `alike` is the mean
cosine with the first way's. JSON of everything goes to `--out`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.lexical.words import Stemmer, stems, words
from firth.run import progress
from firth.run.run import Run
from firth.run.screen import say
from firth.surrogate import SURROGATE

NEAREST = 20_000
Measured = dict[str, Any]
Work = Callable[[], Any]
"""What is measured: it returns vectors, or nothing of interest."""
Way = Callable[[Path], Work]
"""Imports and opens what is needed, for a folder that was prepared."""


# What is measured on


def write_documents(run: Path, folder: Path, sentences: int) -> None:
    """Documents of a run as JSON lines, until there are so many sentences."""
    corpus = Corpus.open(run)
    order = np.random.default_rng(13).permutation(corpus.n_documents)
    there = 0
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for number in order.tolist():
            first, last = corpus.document_bounds[number : number + 2].tolist()
            bounds = corpus.paragraph_bounds
            inner = bounds[np.searchsorted(bounds, first) : np.searchsorted(bounds, last) + 1]
            texts = corpus.texts(np.arange(first, last))
            ends = (inner - first).tolist()
            paragraphs = [" ".join(texts[a:b]) for a, b in pairwise(ends)]
            file.write(json.dumps({"text": "\n\n".join(paragraphs)}) + "\n")
            there += last - first
            if there >= sentences:
                return


def write_corpus(run: Path, folder: Path, sentences: int) -> None:
    """Documents, and a run with nothing but their corpus."""
    write_documents(run, folder, sentences)
    Corpus.build(folder / "documents.jsonl", folder / "run", held_out=0)


def write_words(run: Path, folder: Path, sentences: int) -> None:
    """Likewise, and a line of stems for each sentence, which is how gensim reads a file."""
    write_corpus(run, folder, sentences)
    with (folder / "words.txt").open("w", encoding="utf-8") as file:
        for batch in Corpus.open(folder / "run").batches():
            file.writelines(" ".join(stems(words(text), Stemmer.PORTER)) + "\n" for text in batch)


def write_chunks(run: Path, folder: Path, queries: int) -> None:
    """A run with an index of chunks, their texts, and sentences to ask for."""
    from firth.paper.retrieve.build import build_index

    write_corpus(run, folder, 200_000)
    build_index(Run.open(folder / "run"))
    corpus = Corpus.open(folder / "run")
    chunks = [corpus.chunk_text(number) for number in range(corpus.n_chunks)]
    (folder / "chunks.json").write_text(json.dumps(chunks), encoding="utf-8")
    write_sentences(folder / "run", folder, queries)


def write_sentences(run: Path, folder: Path, size: int) -> None:
    """Sentences of a run, drawn at random."""
    library = Library.open(run)
    drawn = np.random.default_rng(13).choice(len(library), min(size, len(library)), replace=False)
    (folder / "texts.json").write_text(json.dumps(library.texts(drawn)), encoding="utf-8")


def write_pairs(run: Path, folder: Path, size: int) -> None:
    """Pairs of a run's sentences: random ones, and as many neighbours."""
    corpus, rng = Corpus.open(run), np.random.default_rng(13)
    firsts = rng.integers(0, len(corpus) - 1, size)
    seconds = np.where(np.arange(size) % 2, firsts + 1, rng.integers(0, len(corpus), size))
    pairs = list(zip(corpus.texts(firsts), corpus.texts(seconds), strict=True))
    (folder / "texts.json").write_text(json.dumps(pairs), encoding="utf-8")


def texts(folder: Path) -> Any:
    """The sentences, or pairs of them."""
    return json.loads((folder / "texts.json").read_text(encoding="utf-8"))


def documents(folder: Path) -> list[str]:
    """The texts of all documents."""
    with (folder / "documents.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def source(folder: Path) -> Path:
    """The run that is measured."""
    return Path((folder / "source").read_text(encoding="utf-8"))


# Ways


def corpus_of_firth(folder: Path) -> Work:
    """Read, known ones dropped, split, stored, described by a manifest."""
    import firth.corpus.build  # noqa: F401

    return lambda: Corpus.build(folder / "documents.jsonl", folder / "built") and None


def corpus_of_workers(folder: Path) -> Work:
    """The same; as many processes as there are cores split documents."""
    import firth.corpus.build  # noqa: F401
    from firth.run.processes import Processes

    engine = Processes(os.cpu_count() or 1)
    return lambda: Corpus.build(folder / "documents.jsonl", folder / "b", engine=engine) and None


def splitting(folder: Path) -> Work:
    """Splitting alone, of texts in memory."""
    from firth.corpus.split import split_paragraphs

    read = documents(folder)
    return lambda: sum(len(split_paragraphs(text)) for text in read)


def corpus_of_spacy(folder: Path) -> Work:
    """Its sentencizer over texts in memory."""
    import spacy

    pipe = spacy.blank("en")
    pipe.add_pipe("sentencizer")
    pipe.max_length = 1 << 30
    read = documents(folder)
    return lambda: sum(sum(1 for _ in found.sents) for found in pipe.pipe(read))


def corpus_of_datasets(folder: Path) -> Work:
    """The file into its own, every text looked at."""
    from datasets import disable_progress_bars, load_dataset

    disable_progress_bars()

    def work() -> int:
        file, cache = str(folder / "documents.jsonl"), str(folder / "cache")
        rows = load_dataset("json", data_files=file, split="train", cache_dir=cache)
        return sum(len(row["text"]) for row in rows)

    return work


def words_of_firth(folder: Path) -> Work:
    """From the stored corpus to vectors."""
    from firth.context.bag import learn

    run = Run.open(folder / "run")
    bag = run.config.context.bag.model_copy(update={"epochs": 1})
    return lambda: learn(run, bag, 13, folder / "scratch", "words")[1:0] or None


def words_of_gensim(folder: Path) -> Work:
    """From a file of stems to vectors."""
    from gensim.models import Word2Vec
    from gensim.models.word2vec import LineSentence

    bag = Run.open(folder / "run").config.context.bag

    def work() -> None:
        lines = LineSentence(str(folder / "words.txt"))
        least, cores = bag.min_count, os.cpu_count()
        Word2Vec(lines, vector_size=bag.dimensions, min_count=least, sg=1, epochs=1, workers=cores)

    return work


PROMPT = 'This sentence: "{}" means in one word: "'


def language_model(folder: Path) -> str:
    """Folder of the model that is named, or of made-up weights."""
    if (folder / "model").is_file():
        return (folder / "model").read_text(encoding="utf-8")
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from firth.run.quiet import quiet_libraries

    made = folder / "made-up"
    if not made.is_dir():
        tokenizer: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
            tokenizer_file=str(source(folder) / "tokenizer" / "tokenizer.json"), pad_token="<pad>"
        )
        config = LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=576, intermediate_size=1536,
            num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
        )  # fmt: skip
        with quiet_libraries():
            LlamaForCausalLM(config).save_pretrained(made)
            tokenizer.save_pretrained(made)
    return str(made)


def states_of_firth(folder: Path) -> Work:
    """Sorted by length, batches of so many tokens."""
    from firth.context.language_model import PromptStates
    from firth.run.section import Precision

    states = PromptStates.open(language_model(folder), None, Precision.FLOAT32, [PROMPT], 512)
    asked = texts(folder)
    return lambda: states(asked)[:, 0]


def library_model(folder: Path) -> Any:
    """The language model by sentence-transformers, pooled by its last token."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    from firth.run.quiet import quiet_libraries

    with quiet_libraries():
        model: Any = Transformer(language_model(folder))
    pooling = Pooling(model.get_embedding_dimension(), "lasttoken")
    encoder = SentenceTransformer(modules=[model, pooling], device="cpu")
    if encoder.tokenizer.pad_token is None:
        encoder.tokenizer.pad_token = encoder.tokenizer.eos_token
    return encoder


def states_of_library(folder: Path) -> Work:
    """As it comes, with batches of 32 texts."""
    encoder = library_model(folder)
    asked = [PROMPT.format(text) for text in texts(folder)]
    return lambda: encoder.encode(asked, show_progress_bar=False)


TUNED_LAYERS, TUNING_RATE = 8, 2e-4


def neighbours(folder: Path) -> tuple[Any, Any]:
    """How much is tuned, and the pairs of each step."""
    from firth.context.settings import TuneConfig
    from firth.context.tune import Neighbours

    run = Run.open(source(folder))
    default = TuneConfig()
    config = default.model_copy(update={"steps": len(texts(folder)) // default.batch})
    return config, Neighbours(Corpus.open(run), run.config.corpus, config, 13)


def tuning_of_firth(folder: Path) -> Work:
    """As `firth train context` does it."""
    from firth.context.language_model import PromptEncoder, PromptStates, upper_layers
    from firth.context.tune import tune
    from firth.run.section import Precision

    states = PromptStates.open(language_model(folder), None, Precision.AUTO, [PROMPT], 32)
    states.model.requires_grad_(False)
    size = states.model.config.hidden_size
    encoder = PromptEncoder(states, np.zeros(size), np.ones(size), "measured")
    layers = upper_layers(states.model, TUNED_LAYERS)
    config, batches = neighbours(folder)
    return lambda: (
        tune(encoder, layers, batches, config, TUNING_RATE, 13, folder / "scratch") is None
    )


def tuning_of_library(folder: Path) -> Work:
    """The first and the second texts by themselves, all of the model on the way back's path."""
    import torch
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    from firth.context.language_model import upper_layers
    from firth.run.precision import number_format
    from firth.run.section import Precision

    encoder: Any = library_model(folder)
    encoder.requires_grad_(False)
    layers = upper_layers(encoder[0].auto_model, TUNED_LAYERS).requires_grad_(True)
    config, batches = neighbours(folder)
    loss_of = MultipleNegativesRankingLoss(encoder, scale=1 / config.temperature)
    optimiser = torch.optim.Adam(layers.parameters(), lr=TUNING_RATE)
    dtype = number_format(Precision.AUTO, torch.device("cpu"))
    encoder.max_seq_length = config.max_tokens + 12  # of the prompt

    def work() -> None:
        for step in range(config.steps):
            read = [encoder.preprocess([PROMPT.format(text) for text in side])
                    for side in batches(step)]  # fmt: skip
            with torch.autocast("cpu", dtype, enabled=dtype is not torch.float32):
                loss = loss_of(read, torch.empty(0))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    return work


def scores(spec: str) -> Way:
    """Of whatever `firth evaluate` takes, `{}` standing for the run."""

    def way(folder: Path) -> Work:
        from firth.evaluate.models import resolve_model

        scorer = resolve_model(spec.format(source(folder)))
        pairs = [(one, two) for one, two in texts(folder)]
        scorer.similarities(pairs[:8])
        return lambda: scorer.similarities(pairs) is None

    return way


def screen_of_firth(folder: Path) -> Work:
    """From the index on disk."""
    from firth.paper.retrieve.index import ChunkIndex

    index, asked = ChunkIndex.open(folder / "run"), texts(folder)
    return lambda: [len(index.screen([text], NEAREST)) for text in asked] and None


def chunks(folder: Path) -> list[str]:
    """The texts of all chunks."""
    found: list[str] = json.loads((folder / "chunks.json").read_text(encoding="utf-8"))
    return found


def screen_of_bm25s(folder: Path) -> Work:
    """BM25 of single words, an index in memory."""
    import bm25s

    def cut(given: list[str]) -> Any:
        return bm25s.tokenize(given, show_progress=False)

    held = chunks(folder)
    index: Any = bm25s.BM25()
    index.index(cut(held), show_progress=False)
    asked, most = texts(folder), min(NEAREST, len(held))

    def work() -> None:
        for text in asked:
            index.retrieve(cut([text]), k=most, show_progress=False)

    return work


def screen_of_sklearn(folder: Path) -> Work:
    """tf-idf of the same uni- and bi-grams, a matrix in memory."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32)
    held = vectorizer.fit_transform(chunks(folder)).T.tocsr()
    asked, most = texts(folder), min(NEAREST, held.shape[1])

    def work() -> None:
        for text in asked:
            found = (vectorizer.transform([text]) @ held).toarray().ravel()
            nearest = np.argpartition(found, -most)[-most:]
            nearest[np.argsort(-found[nearest])]

    return work


def surrogate(folder: Path) -> Path:
    """Folder of the run's Surrogate."""
    return Run.open(source(folder)).folder(SURROGATE)


def vectors_of_firth(folder: Path) -> Work:
    """`firth.surrogate.fast`."""
    from firth.surrogate.fast import StaticEncoder

    encoder, asked = StaticEncoder.open(surrogate(folder)), texts(folder)
    return lambda: encoder.encode(asked)


def vectors_of_library(batch: int) -> Way:
    """`SentenceTransformer.encode`, with batches of so many texts."""

    def way(folder: Path) -> Work:
        from sentence_transformers import SentenceTransformer

        encoder = SentenceTransformer(str(surrogate(folder).resolve()), device="cpu")
        asked = texts(folder)
        return lambda: encoder.encode(asked, batch_size=batch, show_progress_bar=False)

    return way


def vectors_of_model2vec(folder: Path) -> Work:
    """Its inference over the same table and tokenizer."""
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    place, asked = surrogate(folder), texts(folder)
    table = load_file(place / "model.safetensors")["embedding.weight"]
    model = StaticModel(table, Tokenizer.from_file(str(place / "tokenizer.json")), normalize=False)
    return lambda: model.encode(asked, max_length=None, use_multiprocessing=False)


CONTESTS: dict[str, tuple[int, str, Callable[[Path, Path, int], None], dict[str, Way]]] = {
    "corpus": (50_000, "sentences", write_documents, {
        "firth corpus build": corpus_of_firth,
        "with a worker a core": corpus_of_workers,
        "of it, splitting": splitting,
        "spaCy, sentencizer": corpus_of_spacy,
        "datasets, reading": corpus_of_datasets,
    }),
    "words": (100_000, "sentences", write_words, {
        "firth": words_of_firth,
        "gensim, skip-gram": words_of_gensim,
    }),
    "states": (300, "sentences", write_sentences, {
        "firth": states_of_firth,
        "sentence-transformers": states_of_library,
    }),
    "tuning": (384, "pairs", write_sentences, {
        "firth": tuning_of_firth,
        "a plain loop": tuning_of_library,
    }),
    "origin": (3_000, "pairs", write_pairs, {
        "tf-idf": scores("baseline:tfidf@{}"),
        "Origin": scores("{}"),
    }),
    "screen": (100, "sentences", write_chunks, {
        "firth": screen_of_firth,
        "bm25s": screen_of_bm25s,
        "scikit-learn": screen_of_sklearn,
    }),
    "surrogate": (50_000, "sentences", write_sentences, {
        "firth.surrogate.fast": vectors_of_firth,
        "StaticEmbedding, 32 at once": vectors_of_library(32),
        "StaticEmbedding, 1,024": vectors_of_library(1_024),
        "model2vec": vectors_of_model2vec,
    }),
}  # fmt: skip
"""WHAT → its size and unit, what prepares it, its ways."""


# Processes of their own


def child(what: str, name: str, folder: Path) -> Measured:
    """What this process measures of one way."""
    progress.set_quiet(True)
    try:
        work = CONTESTS[what][3][name](folder)
    except ModuleNotFoundError as error:
        return {"missing": error.name}
    before, busy = time.perf_counter(), sum(os.times()[:4])
    found = work()
    measured = {"seconds": time.perf_counter() - before, "processor": sum(os.times()[:4]) - busy}
    if isinstance(found, np.ndarray):
        np.save(folder / f"{name}.npy", found)
    return measured | {"peak": most_memory()}


def most_memory() -> int:
    """Bytes that this process had at most; what the system counts for it includes its parent's."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return 1024 * int(line.split()[1])


def measure(what: str, folder: Path, limit: float) -> dict[str, Measured]:
    """Each way, and what it takes beside the first."""
    rows: dict[str, Measured] = {}
    for name in CONTESTS[what][3]:
        command = [sys.executable, __file__, "child", what, name, str(folder)]
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, timeout=limit, check=True
            )
        except subprocess.TimeoutExpired:
            rows[name] = {"over": limit}
            continue
        rows[name] = json.loads(done.stdout.splitlines()[-1])
    first, *_ = rows
    for name, row in rows.items():
        for by in ("seconds", "processor"):
            if by in row and by in rows[first]:
                row[f"times {by}"] = row[by] / rows[first][by]
        if (both := [folder / f"{each}.npy" for each in (first, name)])[1].is_file():
            row["alike"] = alike(*map(np.load, both))
    return rows


def alike(one: Any, two: Any) -> float:
    """Mean cosine of the rows that are not zero."""
    one, two = (found.astype(np.float64) for found in (one, two))
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
    return float(((one * two).sum(axis=1)[lengths > 0] / lengths[lengths > 0]).mean())


def table(what: str, size: int, rows: dict[str, Measured]) -> None:
    """Print what was measured."""
    unit = CONTESTS[what][1]
    titles = ("seconds", "times", "processor", "times", f"{unit} a s", "peak MB", "alike")
    say(f"\n{what}: {size:,} {unit}\n{'':28}" + " ".join(f"{title:>13}" for title in titles))
    for name, row in rows.items():
        if "seconds" not in row:
            why = f"{row['missing']} is not installed" if "missing" in row else f"over {row}"
            say(f"{name:28} {why}")
            continue
        cells = (
            f"{row['seconds']:,.2f}",
            f"{row.get('times seconds', 0):.2f}",
            f"{row['processor']:,.2f}",
            f"{row.get('times processor', 0):.2f}",
            f"{size / row['seconds']:,.0f}",
            f"{row['peak'] / 1e6:,.0f}",
            f"{row['alike']:.6f}" if "alike" in row else "",
        )
        say(f"{name:28}" + " ".join(f"{cell:>13}" for cell in cells))


def main() -> None:
    """Measure what is asked for, and print it."""
    progress.set_quiet(True)
    if sys.argv[1:2] == ["child"]:
        what, name, folder = sys.argv[2:]
        say(json.dumps(child(what, name, Path(folder))))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"Of {', '.join(CONTESTS)}.")
    parser.add_argument("--size", type=int)
    parser.add_argument("--model")
    parser.add_argument("--limit", type=float, default=3_600)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if unknown := {*given.what} - {*CONTESTS}:
        parser.error(f"got {', '.join(sorted(unknown))}; expected some of {', '.join(CONTESTS)}")
    result: dict[str, Any] = {"cores": os.cpu_count()}
    for what in given.what or CONTESTS:
        size = given.size or CONTESTS[what][0]
        with tempfile.TemporaryDirectory(prefix="firth-") as place:
            here = Path(place)
            (here / "source").write_text(str(given.run.resolve()), encoding="utf-8")
            if given.model:
                (here / "model").write_text(given.model, encoding="utf-8")
            CONTESTS[what][2](given.run, here, size)
            rows = measure(what, here, given.limit)
        table(what, size, rows)
        result[what] = {"size": size, "unit": CONTESTS[what][1], "ways": rows}
        if given.out:
            given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
