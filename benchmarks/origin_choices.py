"""The choices behind Origin's default, measured again: bag, prompts and layers, weights.

    python benchmarks/origin_choices.py bag RUN DATA_DIR
    python benchmarks/origin_choices.py prompts RUN DATA_DIR MODEL [--gguf-file FILE]
    python benchmarks/origin_choices.py weights RUN DATA_DIR

RUN has a corpus; `weights` also needs its context stage (firth train context --run RUN). `bag`
trains the bag of words with one setting changed at a time; `prompts` compares states of an untuned
language model by prompt and layer, z-scored over sentences of the corpus; `weights` tries the
candidates of the stage `origin` on a run that is trained. Prints Spearman x 100 on STSb dev and
STS12, the only sets on which anything is chosen. What tuning a language model is worth is seen with
`firth train context --model MODEL --set context.tune.steps=0` and `firth evaluate`.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from firth.context import CONTEXT
from firth.context.bag import learn
from firth.context.encoder import unit
from firth.context.language_model import PromptStates
from firth.context.open import open_encoder
from firth.context.settings import Encoder
from firth.corpus.corpus import Corpus
from firth.corpus.statistics import fit_idf_on_run, usual_sentences
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Metric, estimate
from firth.evaluate.task import find_task
from firth.lexical.arrays import Floats
from firth.lexical.scorer import CosineScorer
from firth.lexical.word_space import WordSpace
from firth.origin.blend import DEFAULT
from firth.origin.choose import OWN, WORDS
from firth.origin.components import AlignedWords, WordProducts
from firth.run import progress
from firth.run.precision import device, number_format
from firth.run.pretrained import open_causal_lm
from firth.run.run import Run
from firth.run.section import Precision
from firth.run.seeds import derive_seed

Pairs = Sequence[tuple[str, str]]
TASKS = ("sts-b:dev", "sts12")
BAGS: Mapping[str, dict[str, Any]] = {
    "the default: by source, τ 0.07, 200 steps at least, 200-d": {},
    "batches of all sources": {"by_source": False},
    "τ 0.15": {"temperature": 0.15},
    "τ 0.04": {"temperature": 0.04},
    "τ 0.04, batches of all sources": {"temperature": 0.04, "by_source": False},
    "τ 0.02": {"temperature": 0.02},
    "1 epoch": {"epochs": 1},
    "2 epochs": {"epochs": 2},
    "batches of 256": {"batch": 256},
    "100-d": {"dimensions": 100},
    "500-d": {"dimensions": 500},
    "no stemming": {"stemmer": "none"},
}
PROMPTS = (
    'This sentence : "{}" means in one word:"',
    'The essence of the sentence "{}" is captured by the word "',
    'The sentence "{}" is about the topic of "',
    'The sentence : "{}" describes',
    'This sentence : "{}" in other words: "',
)
REFERENCES = 1_000


@dataclass(frozen=True, eq=False)
class Rated:
    """A set for choosing: its pairs and human scores."""

    pairs: Pairs
    gold: Floats

    def spearman(self, scores: npt.ArrayLike) -> float:
        """Spearman's correlation with the human scores, x 100."""
        found = estimate(Metric.SPEARMAN, self.gold, np.asarray(scores, float), seed=0, resamples=1)
        return float(found.value or 0.0)


def rated(data_dir: str) -> list[Rated]:
    """The sets of `TASKS`."""
    found = []
    for name in TASKS:
        task, split = find_task(name)
        data = load_set(task, data_dir, split)
        found.append(Rated(data.pairs, np.array([row.score for row in data.rows])))
    return found


def show(label: str, sets: Sequence[Rated], scores: Sequence[Sequence[npt.ArrayLike]]) -> None:
    """A line: for each way of scoring, the figures of each set."""
    cells = [
        " / ".join(f"{one.spearman(s):.1f}" for one, s in zip(sets, way, strict=True))
        for way in scores
    ]
    print(f"{label:<52}" + "".join(f"{cell:>14}" for cell in cells), flush=True)


def cosines(vectors: Mapping[str, Floats], pairs: Pairs) -> Floats:
    """Products of unit vectors."""
    return np.array([vectors[a] @ vectors[b] for a, b in pairs])


def texts_of(sets: Sequence[Rated]) -> list[str]:
    """Every distinct text, sorted."""
    return sorted({text for one in sets for pair in one.pairs for text in pair})


def compare_bags(run: Run, sets: Sequence[Rated]) -> None:
    """Sums of words, their alignment, and the default blend of both, for each setting."""
    print(f"{'bag':<52}{'sums':>14}{'alignment':>14}{'blend':>14}")
    for label, changes in BAGS.items():
        changed = run.config.changed({"context": {"bag": changes}}, label).context
        with tempfile.TemporaryDirectory() as scratch:
            seed = derive_seed(run.config.seed, "fit", "words")
            bag, _, _ = learn(run, changed.bag, seed, Path(scratch), label)
        space = WordSpace(bag, fit_idf_on_run(run, bag.stemmer), changed.trust)
        sums = [WordProducts.of(space, one.pairs).cosines(DEFAULT.own) for one in sets]
        aligned = [AlignedWords(space).similarities(one.pairs) for one in sets]
        show(label, sets, [sums, aligned, blended(sums, aligned, DEFAULT.words)])


def blended(sentences: Sequence[Floats], aligned: Sequence[Floats], words: float) -> list[Floats]:
    """Of each set: the first plus so much of the second."""
    return [one + words * other for one, other in zip(sentences, aligned, strict=True)]


def layer_states(states: PromptStates, texts: Sequence[str], layers: Sequence[int]) -> Floats:
    """States at the end of one prompt after some layers, shape (texts, layers, hidden size)."""
    ids = states.tokens(texts, states.longest)
    found = []
    for start in range(0, len(ids), 32):
        rows = ids[start : start + 32]
        width = max(map(len, rows))
        ends = torch.tensor([len(row) - 1 for row in rows])
        padded = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
        with torch.inference_mode(), torch.autocast(states.model.device.type, torch.bfloat16):
            hidden = states.model.base_model(
                input_ids=padded.to(states.model.device), output_hidden_states=True
            ).hidden_states
        at = [hidden[layer][torch.arange(len(rows)), ends] for layer in layers]
        found.append(torch.stack(at, dim=1).double().cpu().numpy())
    return np.concatenate(found)


def compare_prompts(run: Run, sets: Sequence[Rated], model: str, gguf_file: str | None) -> None:
    """Raw and z-scored states of each prompt after some layers."""
    where = device()
    network, tokenizer = open_causal_lm(model, gguf_file, torch.float32, where)
    count = int(network.config.num_hidden_layers)
    layers = [round(share * count) for share in (0.6, 0.75, 0.875)] + [count]
    corpus = Corpus.open(run)
    usual = usual_sentences(corpus, run.config.corpus)
    rng = np.random.default_rng(run.config.seed)
    drawn = rng.choice(len(usual), min(REFERENCES, len(usual)), False)
    references = corpus.texts(usual[np.sort(drawn)])
    texts = texts_of(sets)
    dtype = number_format(Precision.AUTO, where)
    print(f"{'prompt, layer':<52}{'raw':>14}{'z-scored':>14}")
    for prompt in PROMPTS:
        states = PromptStates(network, tokenizer, dtype, [prompt], run.config.context.max_tokens)
        known = layer_states(states, references, layers)
        found = layer_states(states, texts, layers)
        for place, layer in enumerate(layers):
            mean, deviation = known[:, place].mean(axis=0), known[:, place].std(axis=0)
            ways = []
            for vectors in (found[:, place], (found[:, place] - mean) / deviation):
                encoded = dict(zip(texts, unit(vectors), strict=True))
                ways.append([cosines(encoded, one.pairs) for one in sets])
            show(f"{prompt} {layer}"[-52:], sets, ways)


def compare_weights(run: Run, sets: Sequence[Rated]) -> None:
    """Each part alone, then the candidates of the stage `origin`, best first by the sum."""
    encoder, space = open_encoder(run), WordSpace.load(run.folder(CONTEXT))
    if encoder.kind is Encoder.BAG:
        products = [WordProducts.of(space, one.pairs) for one in sets]
        sentences = {own: [found.cosines(own) for found in products] for own in OWN}
    else:
        scorer = CosineScorer(encoder.name, encoder.encode)
        sentences = {DEFAULT.length: [scorer.similarities(one.pairs) for one in sets]}
    aligned = [AlignedWords(space).similarities(one.pairs) for one in sets]
    show("words alone", sets, [aligned])
    tried = []
    for own, cosine in sentences.items():
        show(f"sentences alone, own {own}", sets, [cosine])
        for words in WORDS:
            found = blended(cosine, aligned, words)
            whole = sum(one.spearman(values) for one, values in zip(sets, found, strict=True))
            tried.append((whole, f"sentences + {words} words, own {own}", found))
    tried.sort(key=lambda item: item[0], reverse=True)
    print(f"{len(tried)} blends, best first:")
    for _, label, found in tried[:10]:
        show(label, sets, [found])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("choice", choices=("bag", "prompts", "weights"))
    parser.add_argument("run")
    parser.add_argument("data_dir")
    parser.add_argument("model", nargs="?", help="prompts: folder or hub name")
    parser.add_argument("--gguf-file")
    given = parser.parse_args()
    if given.choice == "prompts" and given.model is None:
        parser.error("prompts needs MODEL")
    torch.set_num_threads(1)
    progress.set_quiet(True)
    run, sets = Run.open(given.run), rated(given.data_dir)
    if given.choice == "bag":
        compare_bags(run, sets)
    elif given.choice == "prompts":
        compare_prompts(run, sets, given.model, given.gguf_file)
    else:
        compare_weights(run, sets)


if __name__ == "__main__":
    main()
