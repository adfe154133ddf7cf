"""Readers and loaders, given what nobody would write: damaged files, by the thousand.

    python benchmarks/fuzz.py [TARGET …] [--inputs 1000] [--seed 13] [--guided] [--out FILE]

Each target is a file that firth reads, whole, and the function that reads it. Hypothesis changes
its bytes (bits flipped, pieces cut out, doubled or put in, numbers replaced by the largest, the
file cut off) or writes bytes of its own, and the function is called: it may answer, or raise a
`FirthError`. With `--guided` atheris changes them, and goes on from those that reached a line of
firth that no other had (`pip install atheris`, which not every system has). What firth wrote
itself may raise anything that the check of its stage's bytes explains, as the command line does
(`firth.run.stage.handed_damage`).

Anything else is a failure: another error, more than ten seconds of clock, 500 MB more memory, a
signal (each target has a process of its own), a file outside the target's folder read by name.
"""

import argparse
import gc
import gzip
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from firth.run.errors import FirthError
from firth.run.run import Run
from firth.run.screen import say

SECONDS = 10
MORE_MEMORY = 500 << 20
_NUMBERS = (b"-1", b"0", b"4294967296", b"9223372036854775807", b"1e999", b"NaN", b"null", b"[]")
_PIECES = (b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\n", b"\r", b"\t", b"{", b"[" * 300,
           b"../", b"\xed\xa0\x80", b"\\ud800", b"%s", b"A" * 5000)  # fmt: skip
_TEXTS = (
    "The ship reached the harbour. It rained.",
    "Zwei Sätze. „So!“ sagte er.",
    "船が港に着いた。",
)


@dataclass(frozen=True)
class Target:
    """A file and what reads it.

    Attributes:
        name: For people.
        path: The file; it is written anew for each input.
        content: It, whole.
        read: Reads it, or what it belongs to.
        own: Whether firth wrote it, so that a manifest knows its bytes.
        same_size: Whether inputs are to keep its size: others are named without being opened.
    """

    name: str
    path: Path
    content: bytes
    read: Callable[[], object]
    own: bool = False
    same_size: bool = False


# Inputs


@st.composite
def changed(draw: Callable[..., Any], content: bytes, same_size: bool) -> bytes:
    """Bytes of a file with something done to them, once or several times."""
    if not same_size and draw(st.integers(0, 9)) == 0:
        found: bytes = draw(st.binary(max_size=300))
        return found
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 5))):
        if not data:
            break
        # Beginnings and ends say what a file is: as often as all that is between them.
        near = min(len(data), 200)
        place = draw(
            st.one_of(
                st.integers(0, len(data) - 1),
                st.integers(0, near - 1),
                st.integers(len(data) - near, len(data) - 1),
            )
        )
        long = draw(st.integers(1, 40))
        kind = draw(st.sampled_from(("flip", "set", "swap") if same_size else _CHANGES))
        piece = bytes(data[place : place + long])
        if kind == "flip":
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "set":
            value = draw(st.sampled_from((0, 1, 0x7F, 0x80, 0xFF, 0x30, 0x5D, 0x7D)))
            data[place : place + long] = bytes([value]) * len(piece)
        elif kind == "swap":
            data[place : place + long] = piece[::-1]
        elif kind == "cut":
            del data[place:]
        elif kind == "drop":
            del data[place : place + long]
        elif kind == "double":
            data[place:place] = piece * draw(st.integers(1, 50))
        elif kind == "number":
            data[place : place + long] = draw(st.sampled_from(_NUMBERS))
        else:
            data[place:place] = draw(st.sampled_from(_PIECES))
    return bytes(data)


_CHANGES = ("flip", "set", "swap", "cut", "drop", "double", "number", "piece")


# Targets


def targets(folder: Path) -> Iterator[Target]:
    """All of them, with files of theirs in `folder`."""
    yield from documents(folder / "documents")
    yield from tables(folder / "tables")
    yield from set_files(folder / "sets")
    yield from kept_files(folder / "kept")
    yield from run_files(folder / "files")
    yield from model_files(folder / "model")
    yield from stage_files(folder / "run")


def records() -> list[dict[str, Any]]:
    """Documents with everything that may be said of them."""
    return [
        {
            "id": str(n),
            "title": f"Title {n}",
            "date": "2024-05-01",
            "text": text,
            "tags": ["a", "b"],
        }
        for n, text in enumerate(_TEXTS)
    ]


def documents(folder: Path) -> Iterator[Target]:
    """A file of each format that a corpus is read from."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zstandard

    from firth.corpus.inputs import resolve_inputs
    from firth.corpus.read import read_source
    from firth.corpus.settings import CorpusConfig

    folder.mkdir(parents=True)
    rows = records()
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    table = "\n".join(["id,title,date,text"] + [
        f'{row["id"]},{row["title"]},{row["date"]},"{row["text"]}"' for row in rows
    ]).encode()  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), folder / "made.parquet")
    page = (
        "<html><head><title>T</title></head><body><p>One.</p><ul><li>Two.</li></ul></body></html>"
    )
    whole = {
        "txt": "\n\n".join(_TEXTS).encode(),
        "md": b"# Title\n\nA *word*.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        "html": page.encode(),
        "pdf": _pdf(),
        "jsonl": lines,
        "csv": table,
        "tsv": table.replace(b",", b"\t").replace(b'"', b""),
        "parquet": (folder / "made.parquet").read_bytes(),
        "jsonl.gz": gzip.compress(lines, mtime=0),
        "txt.zst": zstandard.compress("\n\n".join(_TEXTS).encode()),
    }
    (folder / "made.parquet").unlink()
    config = CorpusConfig(fields=("tags",), max_record_bytes=100_000)
    for ending, content in whole.items():
        path = folder / f"documents.{ending}"

        def read(path: Path = path) -> object:
            return [
                list(read_source(source, config, lambda _: None))
                for source in resolve_inputs([path])
            ]

        yield Target(f"documents, .{ending}", path, content, read)


def _pdf() -> bytes:
    """A page with a line on it."""
    stream = b"BT /F1 12 Tf 72 720 Td (The ship reached the harbour.) Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    found, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(found))
        found += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(found)
    return found + b"xref\n0 6\n0000000000 65535 f \n" + table + end


def tables(folder: Path) -> Iterator[Target]:
    """Pairs of one's own, and the files of best-worst scaling."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from firth.evaluate.own_files import read_own
    from firth.relatedness.bws import records as bws

    folder.mkdir(parents=True)
    rows = [
        {"sentence1": a, "sentence2": b, "score": score, "split": "test"}
        for a, b, score in zip(_TEXTS, _TEXTS[1:] + _TEXTS[:1], (0.5, 4.0, 2.25), strict=True)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "made.parquet")
    head = list(rows[0])
    lines = [head, *([str(value) for value in row.values()] for row in rows)]
    pairs = {
        "tsv": "\n".join("\t".join(line) for line in lines).encode(),
        "csv": "\n".join(",".join(line) for line in lines).encode(),
        "jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "parquet": (folder / "made.parquet").read_bytes(),
    }
    (folder / "made.parquet").unlink()
    for ending, content in pairs.items():
        path = folder / f"pairs.{ending}"
        yield Target(f"pairs, .{ending}", path, content, partial(read_own, path))
    answers: dict[str, tuple[bytes, Callable[[Path], object]]] = {
        "items": (
            b"id,sentence1,sentence2,score\n1,A b,C d,0.5\n2,E,F,1\n3,G,H,\n",
            bws.read_items,
        ),
        "tuples": (b"tuple,item1,item2,item3\nt1,1,2,3\nt2,3,2,1\n", bws.read_tuples),
        "gold": (b"tuple,best,worst\nt1,1,2\n", bws.read_gold),
        "annotations": (
            b"tuple,annotator,best,worst,time\nt1,ann,1,2,2024-05-01\nt2,bob,3,,\n",
            bws.read_annotations,
        ),
    }
    for name, (content, reader) in answers.items():
        path = folder / f"{name}.csv"
        yield Target(f"questionnaire, {name}", path, content,
                     partial(reader, path))  # fmt: skip


def set_files(folder: Path) -> Iterator[Target]:
    """Evaluation sets as their organisers published them and in firth's own layout, and the small
    files that commands are given."""
    from firth.cli.query import read_pairs_file
    from firth.cli.search import _read_queries
    from firth.evaluate.readers import read_original, read_table
    from firth.evaluate.task import TASKS
    from firth.relatedness.pairs.synonyms import SynonymFile
    from firth.scale.build import read_labels
    from firth.serve.token import read_token

    pairs = list(zip(_TEXTS, _TEXTS[1:] + _TEXTS[:1], ("0.5", "4.0", "2.25"), strict=True))
    input_text = "".join(f"{a}\t{b}\n" for a, b, _ in pairs)
    lines = {
        "sts12": ("STS12/test/STS.input.MSRpar.txt", input_text),
        "sts-b": (
            "STSb/sts-dev.csv",
            "".join(f"main-news\tMSRpar\t2012\t1\t{s}\t{a}\t{b}\n" for a, b, s in pairs),
        ),
        "sick-r": (
            "SICK/SICK.txt",
            "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tSemEval_set\n"
            + "".join(f"{n}\t{a}\t{b}\t4\tTEST\n" for n, (a, b, _) in enumerate(pairs)),
        ),
        "str-2021": (
            "STR/str.csv",
            "PairID,Text,Score\n"
            + "".join(f'SNLI_{n},"{a}\n{b}",0.5\n' for n, (a, b, _) in enumerate(pairs)),
        ),
        "afs": (
            "AFS/ArgPairs_GC.csv",
            "regression_label,sentence_1,sentence_2\n"
            + "".join(f'{s},"{a}","{b}"\n' for a, b, s in pairs),
        ),
    }
    for name, (place, text) in lines.items():
        (path := folder / place).parent.mkdir(parents=True)
        if name == "sts12":
            gold = "".join(f"{score}\n" for *_, score in pairs)
            path.with_name("STS.gs.MSRpar.txt").write_text(gold)
        read: Callable[[], object] = partial(read_original, TASKS[name], folder)
        yield Target(f"set, {name}, {path.name}", path, text.encode(), read)
    made = "sentence1\tsentence2\tscore\tsubtask\n" + "".join(
        f"{a}\t{b}\t{s}\tMSRpar\n" for a, b, s in pairs
    )
    known = "".join(f"{a}\t{b}\t{n % 2}\n" for n in range(4) for a, b, _ in pairs)
    given: dict[str, tuple[str, Callable[[Path], object]]] = {
        "pairs of sts13": (made, lambda path: read_table(path, TASKS["sts13"])),
        "labels": (known, read_labels),
        "pairs to score": (input_text, read_pairs_file),
        "queries": ("\n".join(_TEXTS), _read_queries),
        "synonyms": ("# words\nbig\tlarge\nship,boat,vessel\n", SynonymFile),
        "token": ("0123456789abcdef0123\n", read_token),
    }
    for name, (text, reader) in given.items():
        path = folder / f"{name}.txt"
        yield Target(f"given, {name}", path, text.encode(), partial(reader, path))


def kept_files(folder: Path) -> Iterator[Target]:
    """What firth kept outside of stages, and reads again: results, a calibration, a cached value, a
    shard, a checkpoint, a questionnaire's answers, the commit of a run in a store."""
    import pyarrow as pa
    import torch

    from firth.evaluate.cache import Cache
    from firth.evaluate.evaluate import evaluate_models
    from firth.evaluate.report import read_saved
    from firth.finetune.calibration import FILE, Line, as_dict, read_calibration
    from firth.harvest.shards import SCHEMA, Shard
    from firth.relatedness.bws.records import Item, Tuple
    from firth.relatedness.questionnaire.setup import make_questionnaire
    from firth.relatedness.questionnaire.store import Store
    from firth.run.config import Config
    from firth.run.remote import pull, push
    from firth.run.training import resume, save_checkpoint

    folder.mkdir(parents=True)
    rows = [f"{a}\t{b}\t{n}" for n, (a, b) in enumerate(pairwise(_TEXTS))]
    pairs = folder / "pairs.tsv"
    pairs.write_text("sentence1\tsentence2\tscore\n" + "\n".join(rows * 3), encoding="utf-8")
    found = evaluate_models(["baseline:dice"], [str(pairs)], resamples=20)
    found.write(folder / "results")

    line = folder / FILE
    line.write_text(json.dumps(as_dict(Line(4.0, 0.5, 0.0, 5.0, 30, 0.7, 1.2))))
    cache = Cache(folder / "cache")
    cache.keep("kind", "key", {"a": [1.0, 2.0]})
    shard = Shard("harvest", 0, 2)
    shard.write(pa.table({name: [] for name in SCHEMA.names}, schema=SCHEMA), folder)
    model = torch.nn.Linear(3, 2)
    adam = torch.optim.Adam(model.parameters())
    checkpoint = folder / "checkpoint.safetensors"
    save_checkpoint(checkpoint, model, adam, 4, [], [0.5])
    items = [Item(str(n), (text,)) for n, text in enumerate(_TEXTS)]
    answers = folder / "answers.db"
    asked = make_questionnaire(items, [Tuple("t", ("0", "1", "2"))])
    store = Store.create(answers, asked)
    store.next(name := store.enter("ann"))
    store.answer(name, "t", "0", "1")
    store.close()

    def answered() -> object:
        for ending in ("-wal", "-shm"):
            Path(f"{answers}{ending}").unlink(missing_ok=True)
        opened = Store.open(answers)
        try:
            return opened.overview(), opened.annotations(), opened.progress("ann")
        finally:
            opened.close()

    run = Run.create(folder / "run", Config())
    push(run, str(folder / "store"))
    (commit,) = (folder / "store").rglob("00000001.json")

    def pulled() -> object:
        shutil.rmtree(folder / "pulled", ignore_errors=True)
        return pull(str(folder / "store"), folder / "pulled")

    results = partial(read_saved, folder / "results")
    kept: dict[str, tuple[Path, Callable[[], object]]] = {
        "results": (folder / "results" / "results.json", results),
        "similarities": (folder / "results" / "similarities.parquet", results),
        "calibration": (line, lambda: read_calibration(folder).of([0.5])),
        "cached value": (folder / "cache" / "kind" / "key", lambda: cache.value("kind", "key")),
        "shard": (folder / shard.file, lambda: shard.is_whole(folder)),
        "checkpoint": (checkpoint, lambda: resume(checkpoint, model, adam)),
        "answers": (answers, answered),
        "commit": (commit, pulled),
    }
    for name, (path, read) in kept.items():
        yield Target(f"kept, {name}", path, path.read_bytes(), read)


def run_files(folder: Path) -> Iterator[Target]:
    """Configuration, manifest, word vectors, a blocklist."""
    from firth.harvest.blocklist import Blocklist
    from firth.lexical.vector_files import read_vectors
    from firth.run.config import Config
    from firth.run.stage import Manifest

    folder.mkdir(parents=True)
    config = folder / "config.yaml"
    yield Target("config.yaml", config, Config().to_yaml().encode(), lambda: Config.load(config))
    stage = folder / "stage"
    stage.mkdir()
    (stage / "one.txt").write_text("one")
    manifest = {
        "stage": "one", "inputs": {"a": "b"}, "config": {"seed": 13}, "code": "c",
        "libraries": {"numpy": "2"}, "request": "r", "summary": {"n": 1},
        "outputs": {"one.txt": {"bytes": 3, "blake2b": "d"}, "a/x": {"bytes": 3, "blake2b": "d"}},
    }  # fmt: skip

    def inside() -> None:
        found = Manifest.read(stage)
        for name in found.outputs if found else ():
            assert (stage / name).resolve().is_relative_to(stage), f"out of the stage: {name}"
        if found:
            found.damage(stage, bytes_too=True)

    yield Target("manifest.json", stage / "manifest.json", json.dumps(manifest).encode(), inside)
    vectors = folder / "vectors.txt"
    text = b"3 4\nship 1 2 3 4\nsea .5 .25 1 0\ncow -1 -2 -3 -4\n"
    yield Target("word vectors, text", vectors, text, lambda: read_vectors(vectors))
    binary = folder / "vectors.bin"
    data = b"2 3\n" + b"".join(word + b" " + bytes(range(12)) for word in (b"ship", b"sea"))
    yield Target("word vectors, binary", binary, data, lambda: read_vectors(binary))
    blocked = folder / "blocked.tsv"
    lines = "\t".join(_TEXTS).encode() + b"\n"
    yield Target("blocklist", blocked, lines, lambda: Blocklist.load([blocked]))


def model_files(folder: Path) -> Iterator[Target]:
    """Each file of a static model, of a small Transformer, and of one with modules around it."""
    from firth.run.pretrained import open_encoder

    kinds = (".json", ".safetensors")
    for name, make in (("static", _static), ("transformer", _transformer), ("modules", _modules)):
        make(model := folder / name)

        def read(model: Path = model) -> object:
            return open_encoder(str(model)).encode(["the ship left"])

        for path in sorted(each for each in model.rglob("*") if each.suffix in kinds):
            kind = path.relative_to(model)
            # With modules around it only what it alone has not.
            if name != "modules" or not (folder / "transformer" / kind).exists():
                yield Target(f"model, {name}/{kind.as_posix()}", path, path.read_bytes(), read)


def _static(folder: Path) -> None:
    import numpy as np
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder.mkdir(parents=True)
    vocabulary = {word: n for n, word in enumerate(["[UNK]", "the", "ship", "left"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file({"embedding.weight": np.ones((4, 6), np.float32)}, folder / "model.safetensors")
    kind = "sentence_transformers.sentence_transformer.modules.StaticEmbedding"
    modules = [{"idx": 0, "name": "0", "path": "", "type": kind}]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")


def _transformer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder.mkdir(parents=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "ship", "left"]
    tokenizer = Tokenizer(models.WordPiece({w: n for n, w in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=16
    )
    wrapped.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    BertModel(config).save_pretrained(folder)


def _modules(folder: Path) -> None:
    _transformer(folder)
    (folder / "1_Pooling").mkdir()
    module = "sentence_transformers.models"
    written: dict[str, object] = {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": f"{module}.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{module}.Pooling"},
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": 16, "do_lower_case": False},
        "config_sentence_transformers.json": {"similarity_fn_name": "cosine", "prompts": {}},
    }
    for name, content in written.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def stage_files(folder: Path) -> Iterator[Target]:
    """Files of a run's stages, with bytes changed and sizes kept."""
    from firth.check.build import open_items
    from firth.corpus.corpus import Corpus
    from firth.corpus.stats import corpus_stats
    from firth.corpus.tokenizer import open_tokenizer
    from firth.index.index import Index
    from firth.origin.origin import Origin
    from firth.pipeline import bring_up_to_date
    from firth.report.recorded import training_curves
    from firth.reuse.duplicates import duplicates
    from firth.run.config import Config
    from firth.scale.scale import Scale, Scorer
    from firth.surrogate.distill import Distilled
    from firth.surrogate.fast import StaticEncoder
    from firth.surrogate.teacher import Teacher

    texts = folder.with_name("texts")
    texts.mkdir(parents=True)
    words = ["ship", "harbour", "wave", "sailor", "storm", "sail", "captain", "tide", "sea", "bay"]
    for number in range(12):
        said = [f"The {words[(number + n) % 10]} met the {words[n * 3 % 10]}." for n in range(9)]
        (texts / f"{number}.txt").write_text(" ".join(said), encoding="utf-8")
    settings = {
        "corpus": {"inputs": [str(texts)]},
        "context": {"bag": {"dimensions": 8, "epochs": 1, "batch": 16}},
        "surrogate": {"dimensions": 8},
    }
    run = Run.create(folder, Config.parse(settings, "fuzz.py"))
    # Not in this process, which is forked: threads are not.
    if (pid := os.fork()) == 0:
        bring_up_to_date(run)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0

    def corpus() -> object:
        parts = Corpus.open(folder), Corpus.held_out(folder)
        read = [(p.texts(range(len(p))), p.document_ids(), p.context(1)) for p in parts]
        return read, corpus_stats(folder)

    def search() -> object:
        found = Index.open(folder)
        return found.nearest(found.encode(["the ship"]), 3), found.words.best("a ship", 3)

    def origin() -> object:
        found = Origin.open(folder).explain("The ship met the storm.", "A sailor.")
        return found, training_curves(run)

    def teacher() -> object:
        found = Teacher.open(run)
        return found.similarities(found.texts[:3])

    def surrogate() -> object:
        found = StaticEncoder.open(folder / "surrogate").encode(["the ship"])
        return found, Distilled.open(run), training_curves(run)

    readers: dict[str, Callable[[], object]] = {
        "corpus": corpus,
        "corpus/duplicates.jsonl": lambda: duplicates(folder, unit="documents", kind="exact"),
        "index": search,
        "context": origin,
        "origin": origin,
        "themes": origin,
        "tokenizer": lambda: open_tokenizer(folder).encode("the ship").ids,
        "check": lambda: open_items(folder),
        "scale": lambda: [Scale.open(folder, one).describe(0.5) for one in Scorer],
        "teacher": teacher,
        "surrogate": surrogate,
    }
    yield from own_files(run, readers)


def own_files(run: Run, readers: Mapping[str, Callable[[], object]]) -> Iterator[Target]:
    """Every file of some stages, which keeps its size: others are named without being opened."""
    for path in sorted(each for each in run.path.rglob("*") if each.is_file()):
        name = path.relative_to(run.path).as_posix()
        read = readers.get(name) or readers.get(name.partition("/")[0])
        if read and path.name != "manifest.json" and path.stat().st_size:
            yield Target(name, path, path.read_bytes(), read, own=True, same_size=True)


# Runs


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise `TimeoutError` in what takes longer."""

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def outcome(target: Target, content: bytes) -> str:
    """What reading a file of this content comes to. Raises what is a failure."""
    from firth.run.stage import handed_damage

    target.path.write_bytes(content)
    try:
        with at_most(SECONDS):
            target.read()
        return "read"
    except FirthError:
        return "one message"
    except Exception:
        if not (target.own and handed_damage()):
            raise
        return "named as damaged"


def fuzz(target: Target, inputs: int, seed: int) -> Counter[str]:
    """Read so many changed files; outcome → how often. Raises what is a failure."""
    outcomes: Counter[str] = Counter()
    before = _memory()

    @seeded(seed)
    @settings(max_examples=inputs, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(changed(target.content, target.same_size))
    def one(content: bytes) -> None:
        outcomes[outcome(target, content)] += 1

    target.path.write_bytes(target.content)
    target.read()  # the premise
    try:
        one()
    finally:
        target.path.write_bytes(target.content)
    _bounded(before)
    return outcomes


def guided(
    target: Target, inputs: int, seed: int, tell: Callable[[dict[str, Any]], NoReturn]
) -> NoReturn:
    """`fuzz` by atheris, which never comes back: `tell` is to end the process."""
    import atheris

    target.path.write_bytes(target.content)
    target.read()  # the premise, and what it imports
    before, outcomes = _memory(), Counter[str]()
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and str(each.__module__).startswith("firth."):
            atheris.instrument_func(each)

    def one(content: bytes) -> None:
        if target.same_size:
            size = len(target.content)
            content = content[:size] + target.content[len(content) :]
        try:
            outcomes[outcome(target, content)] += 1
            _bounded(before)
        except BaseException as error:  # noqa: BLE001
            tell(failure(error))
        if outcomes.total() >= inputs:
            tell({"outcomes": dict(outcomes)})

    with tempfile.TemporaryDirectory() as seeds:
        (Path(seeds) / "whole").write_bytes(target.content)
        longest = max(2 * len(target.content), 4096)
        options = (
            "-verbosity=0",
            "-timeout=0",
            "-rss_limit_mb=0",
            f"-seed={seed}",
            f"-max_len={longest}",
        )
        atheris.Setup(["fuzz", *options, f"-artifact_prefix={seeds}/", seeds], one)
        atheris.Fuzz()
    raise AssertionError("atheris came back")


def _bounded(before: int) -> None:
    if (more := _memory() - before) > MORE_MEMORY:
        raise MemoryError(f"{more >> 20} MiB more")


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def failure(error: BaseException) -> dict[str, Any]:
    """What is told of it."""
    error.__notes__ = [note[:300] for note in getattr(error, "__notes__", ())]
    return {"failure": "".join(traceback.format_exception(error))[-3000:]}


def apart(target: Target, inputs: int, seed: int, by_atheris: bool) -> dict[str, Any]:
    """`fuzz`, or `guided`, in a process of its own; what it found."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        # Room for what libraries reserve, and an end for what asks for all there is.
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 4 * MORE_MEMORY, resource.RLIM_INFINITY))

        def tell(found: dict[str, Any]) -> NoReturn:
            os.write(writing, json.dumps(found).encode()[:60_000])
            os._exit(0)

        try:
            if by_atheris:
                guided(target, inputs, seed, tell)
            tell({"outcomes": dict(fuzz(target, inputs, seed))})
        except BaseException as error:  # noqa: BLE001
            tell(failure(error))
    os.close(writing)
    _, status, used = os.wait4(pid, 0)
    told = os.read(reading, 1 << 16)
    os.close(reading)
    target.path.write_bytes(target.content)  # what else is read beside it is to be whole
    found = (
        json.loads(told) if told else {"failure": f"ended with {os.waitstatus_to_exitcode(status)}"}
    )
    return {"target": target.name, "seconds": used.ru_utime + used.ru_stime, **found}


def main() -> None:
    """Fuzz what is named, or all; status 1 where anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("targets", nargs="*", help="Parts of names.")
    parser.add_argument("--inputs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--guided", action="store_true", help="By atheris.")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    folder, rows = Path(tempfile.mkdtemp()).resolve(), []
    os.environ["FIRTH_CACHE"] = str(folder / "cache")
    from firth.run import progress

    progress.set_quiet(True)
    for target in targets(folder):
        if asked.targets and not any(part in target.name for part in asked.targets):
            continue
        row = apart(target, asked.inputs, asked.seed, asked.guided)
        rows.append(row)
        told = ", ".join(f"{n:,} {name}" for name, n in sorted(row.get("outcomes", {}).items()))
        say(f"{row['target']:34} {row['seconds']:6.1f} s  {told or row['failure']}")
    shutil.rmtree(folder)
    if asked.out:
        asked.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    sys.exit(any("failure" in row for row in rows))


if __name__ == "__main__":
    main()
