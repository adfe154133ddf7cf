"""The preset `paper` the whole way, at tiny sizes: additive Eq. 1, three plain generators, raw
cosines as labels, a Siamese encoder."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from firth.corpus.build import build_corpus
from firth.corpus.tokenizer import build_tokenizer
from firth.harvest.harvest import harvest, read_pairs
from firth.harvest.splits import SPLITS
from firth.paper.coherence import COHERENCE
from firth.paper.coherence.build import ADDITIVE, train_coherence
from firth.paper.coherence.coherence import Coherence
from firth.paper.generation import GENERATOR
from firth.paper.generation.open import open_generator
from firth.paper.generation.protocol import Role
from firth.paper.generation.seq2seq import Job, Seq2Seq
from firth.paper.generation.transformer import Packed
from firth.paper.origin import PaperOrigin
from firth.pipeline import bring_up_to_date
from firth.run import progress
from firth.run.config import Config
from firth.run.files import read_json
from firth.run.presets import Preset
from firth.run.run import Run
from firth.surrogate import SURROGATE
from firth.surrogate.calibration import LabelMap
from firth.surrogate.report import LABELS

SIZES = {
    "tokenizer": {"vocabulary": 400},
    "retrieve": {"chunks": 50, "features_log2": 12},
    "coherence": {"hidden": 8, "embedding": 8, "batch": 16, "steps": 6, "held_out": 0.2},
    "generator": {"layers": 1, "width": 16, "heads": 2, "feedforward": 32, "steps": 4,
                  "batch_tokens": 512, "warmup": 2, "held_out": 0.2},
    "paper": {"contexts": 4, "shortlist": 6},
    "harvest": {"pairs": 60, "shard_pairs": 12, "cluster": 3, "train": 0.6, "dev": 0.2},
    "surrogate": {"epochs": 1},
}  # fmt: skip


@pytest.fixture(scope="module")
def printed(tiny_folder: Path, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run by the preset, smaller in sizes alone, with a BERT in the place of RoBERTa."""
    config = Config().changed(Preset.PAPER.settings, "test").changed(SIZES, "test")
    here = {"corpus": {"inputs": [str(tiny_folder)]}, "surrogate": {"base": str(tiny_bert)}}
    run = Run(tmp_path_factory.mktemp("printed") / "run", config.changed(here, "test"))
    bring_up_to_date(run)
    return run


def test_contexts_have_one_order_for_all_sentences(printed: Run) -> None:
    """Eq. 1 as printed: what the warning says."""
    coherence = Coherence.open(printed)
    sentences = ["The ship reached the harbour.", "The judge praised the jury."]
    positions = np.arange(1, 60)
    scores = coherence.rank_scores(coherence.encode(sentences), positions)
    one, two = scores - scores.mean(axis=1, keepdims=True)
    assert np.ptp(one) > 1e-6, "premise: contexts differ"
    assert one == pytest.approx(two, abs=1e-5)


@pytest.mark.parametrize("interaction", ["additive", "bilinear"])
def test_the_choice_is_warned_of(
    printed: Run, interaction: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Training the additive form says that it cannot rank; the other says nothing of it."""
    changes = {"coherence": {"interaction": interaction, "steps": 1}, "origin": {"method": "paper"}}
    run = Run(tmp_path / "run", printed.config.changed(changes, "test"))
    build_corpus(run)
    build_tokenizer(run)
    progress.set_quiet(False)
    train_coherence(run)
    progress.set_quiet(True)
    assert (ADDITIVE in capsys.readouterr().err) == (interaction == "additive")
    assert run.has(COHERENCE)


def test_three_generators_without_a_pointer(printed: Run) -> None:
    """Three files, none with a pointer; after any beginning one distribution, the softmax alone."""
    folder = printed.folder(GENERATOR)
    stored = [load_file(folder / f"{role.name.lower()}.safetensors") for role in Role]
    assert not any("pointer" in key or key == "sentinel" for one in stored for key in one)
    found = open_generator(printed)
    assert isinstance(found, Seq2Seq)
    models = {id(model) for model in found._models.values()}
    assert len(models) == 3
    model = found._models[Role.LEFT]
    given = ((Role.SENTENCE, (30, 31, 30)), (Role.RIGHT, (50,)))
    jobs = [Job((token,), Role.LEFT, given) for token in range(model.shape.vocabulary)]
    scores = found.score(jobs, Role.LEFT)
    assert np.exp(scores).sum() == pytest.approx(1, abs=1e-4)
    read = Packed.of([(5, 6)], [Role.RIGHT], torch.device("cpu"))
    assert len(model.read(read)) == model.shape.layers, "keys and values, and no pointer's"


def test_labels_are_the_raw_cosines_to_the_last_bit(printed: Run) -> None:
    """What the harvest holds is what Eq. 4 gives in float64: no two labels become one, as they
    would in float32, and the labels of the Surrogate are these."""
    origin = PaperOrigin.open(printed)
    assert printed.config.paper.measure.value == "cosine"
    rows = [row for split in SPLITS for row in read_pairs(printed, split).to_pylist()]
    stored = np.array([row["score"] for row in rows])
    assert stored.min() > 0.9, "premise: raw cosines lie near 1"
    profiles = list(origin.profiles([(row["sentence1"], row["sentence2"]) for row in rows]))
    weights, measure = origin.config.weights, origin.config.measure
    again = np.array([profile.similarity(weights, measure) for profile in profiles])
    assert stored == pytest.approx(again, abs=1e-6)
    distinct = len(np.unique(stored))
    assert harvest(printed).summary["scores"]["all"]["distinct"] == distinct
    assert len(np.unique(stored.astype(np.float32))) < distinct, "premise: float32 loses some"
    labels = LabelMap.model_validate(read_json(printed.folder(SURROGATE) / LABELS))
    assert labels.apply(stored).tolist() == stored.tolist()
