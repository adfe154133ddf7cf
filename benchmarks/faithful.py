"""Are the reasons the reasons? Take away what they name, and see how far the score falls.

Of each pair, the words that are no stop words are put in order: by what `firth explain` says hangs
on them; by whether the themes it tells of name them; where sentence vectors are sums of words, by
what each word itself adds in the themes told of; by the fall of the score without each alone
(leave-one-out, as txtai's `explain`); of transformers, by integrated gradients; and at random. Then
the first tenth, fifth, third, half of them are taken out of both texts (comprehensiveness: a
faithful order lets the score fall far), or alone are left with the stop words (sufficiency: it
falls little); DeYoung et al. 2020.

Of a static encoder the integrated Jacobians of Moeller et al. (2023) are constant, and their token
pairs are those of `explain`: `--check` compares the two, by numeric integration along their path.
Of a transformer they are not. What a token of one text adds with all tokens of the other is its
part in a product with the other's whole vector (Eq. 5, summed over j), so that one gradient a step
does; references are padding in the places of all tokens but the special ones.

    python benchmarks/faithful.py PAIRS.tsv --run RUN [--model MODEL] [--pairs 300] [--steps 32]
        [--seed 13] [--check]

PAIRS.tsv has columns sentence1, sentence2, split; its pairs of split `dev` are sampled.
"""

import argparse
import csv
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.context import CONTEXT
from firth.lexical.arrays import Floats
from firth.lexical.scorer import Explainer, TextPair
from firth.lexical.word_space import WordSpace
from firth.lexical.words import spans, stems, without
from firth.origin.ensemble import EnsembleOrigin
from firth.origin.origin import Origin
from firth.origin.reasons import Reasons
from firth.run.progress import track
from firth.run.run import Run
from firth.run.seeds import derive_seed

if TYPE_CHECKING:
    from firth.surrogate.reasons import EncoderReasons

SHARES = (0.1, 0.2, 0.33, 0.5)
ORDERS, RESAMPLES = 5, 2_000
"""Random orders of each pair; bootstrap samples."""
Place = tuple[int, str]
"""A word of a pair: which text, which stem."""


class Words:
    """Takes words out of texts by their stems."""

    def __init__(self, space: WordSpace) -> None:
        self.space = space

    def telling(self, found: Reasons) -> list[Place]:
        """The words of both texts that are no stop words."""
        return [
            (side, stem)
            for side, (text, words) in enumerate(
                ((found.sentence1, found.words1), (found.sentence2, found.words2))
            )
            for stem, word in zip(self.space.stems(text), words, strict=True)
            if not word.empty
        ]

    def amounts(self, found: Reasons) -> list[float]:
        """What hangs on each of `telling`."""
        words = (*found.words1, *found.words2)
        return [word.added or 0.0 for word in words if not word.empty]

    def without(self, pair: TextPair, out: Sequence[Place]) -> TextPair:
        """A pair without some of its words."""
        gone = set(out)
        shorter = []
        for side, text in enumerate(pair):
            places = spans(text)
            of = stems([text[a:b].lower() for a, b in places], self.space.bag.stemmer)
            cut = [p for p, stem in zip(places, of, strict=True) if (side, stem) in gone]
            shorter.append(without(text, cut))
        return shorter[0], shorter[1]


def by_amount(amounts: Sequence[float], rng: np.random.Generator) -> list[int]:
    """Places, the largest amount first; those of equal amounts at random."""
    ties = rng.random(len(amounts)).tolist()
    return sorted(range(len(amounts)), key=lambda i: (-amounts[i], ties[i]))


def named_by_themes(words: Words, found: Reasons, telling: Sequence[Place]) -> list[float]:
    """What the themes add that name a word, or whose contexts have it."""
    amounts = dict.fromkeys(telling, 0.0)
    for theme in found.themes:
        said = " ".join((*theme.theme.words, *(c.sentence for c in theme.contexts)))
        there = set(words.space.stems(said))
        for place in telling:
            if place[1] in there:
                amounts[place] += theme.added
    return list(amounts.values())


def carried_by_themes(found: Reasons) -> list[float] | None:
    """What each of the words itself adds in the themes told of; None where there is no such sum."""
    if not all(share.by1 for share in found.themes):
        return None
    words, amounts = (*found.words1, *found.words2), np.zeros(len(found.words1 + found.words2))
    for share in found.themes:
        amounts += (*share.by1, *share.by2)
    return [float(a) for a, word in zip(amounts, words, strict=True) if not word.empty]


class IntegratedGradients:
    """What tokens add to the product of two texts' vectors, by integrated Jacobians."""

    def __init__(self, explainer: "EncoderReasons", steps: int) -> None:
        self._explainer, self._steps = explainer, steps
        self._first: Any = explainer._encoder[0]
        self._tokenizer: Any = explainer._encoder.tokenizer
        self.missing: list[float] = []

    def amounts(self, found: Reasons) -> list[float]:
        """What hangs on each word that is no stop word; `missing` gets what the sum is off by."""
        import torch

        read = [self._read(text) for text in (found.sentence1, found.sentence2)]
        with torch.no_grad():
            ends = [self._pooled(torch.stack((start, end)), mask) for start, end, mask, _ in read]
        moved = [(end[1] - end[0]).detach() for end in ends]
        listed: list[float] = []
        for side, (start, end, mask, tokens) in enumerate(read):
            path = torch.linspace(0, 1, self._steps + 1)[1:] - 0.5 / self._steps
            points = start + path[:, None, None] * (end - start)
            points.requires_grad_(True)
            product = self._pooled(points, mask) @ moved[1 - side]
            (gradient,) = torch.autograd.grad(product.sum(), points)
            added = ((end - start) * gradient.mean(dim=0)).sum(dim=1)
            whole = float(moved[0] @ moved[1])
            self.missing.append(abs(float(added.sum()) - whole) / max(abs(whole), 1e-9))
            known = (found.words1, found.words2)[side]
            amounts = self._by_word((found.sentence1, found.sentence2)[side], added, tokens)
            listed += [a for a, word in zip(amounts, known, strict=True) if not word.empty]
        return listed

    def _read(self, text: str) -> tuple[Any, Any, Any, list[tuple[int, int]]]:
        """Embeddings of the reference and of the text, (tokens, d); mask; where tokens stand."""
        import torch

        read = self._tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        table = self._first.auto_model.get_input_embeddings()
        ids = torch.tensor(read["input_ids"])
        special = torch.tensor(read["special_tokens_mask"], dtype=torch.bool)
        padding = torch.full_like(ids, self._tokenizer.pad_token_id)
        with torch.no_grad():
            end, start = table(ids), table(torch.where(special, ids, padding))
        return start, end, torch.ones(1, len(ids), dtype=torch.long), read["offset_mapping"]

    def _pooled(self, embeddings: Any, mask: Any) -> Any:
        """Means of the last states, (n, d)."""
        masks = mask.expand(len(embeddings), -1)
        states = self._first.auto_model(inputs_embeds=embeddings, attention_mask=masks)
        return states.last_hidden_state.mean(dim=1)

    def _by_word(self, text: str, added: Any, tokens: list[tuple[int, int]]) -> list[float]:
        numbers, where = self._explainer._spans(text)
        amounts = [0.0] * len(numbers)
        for amount, (start, end) in zip(added.tolist(), tokens, strict=True):
            for (first, last), stem in where:
                if first <= start < end <= last:
                    amounts[numbers[stem]] += amount
        return amounts


def falls(
    explainer: Explainer, words: Words, found: Sequence[Reasons], orders: Sequence[Sequence[Place]]
) -> tuple[Floats, Floats]:
    """How far scores fall without the first shares of words, and with them alone: (n, shares)."""
    gone, kept = [], []
    for each, order in zip(found, orders, strict=True):
        pair = each.sentence1, each.sentence2
        for share in SHARES:
            first = math.ceil(share * len(order))
            gone.append(words.without(pair, order[:first]))
            kept.append(words.without(pair, order[first:]))
    scores = np.array([each.similarity for each in found])[:, None]
    shape = len(found), len(SHARES)
    return (
        scores - explainer.similarities(gone).reshape(shape),
        scores - explainer.similarities(kept).reshape(shape),
    )


def measured(
    explainer: Explainer, words: Words, pairs: Sequence[TextPair], seed: int, steps: int
) -> Iterator[tuple[str, Floats, Floats]]:
    """Name of an order, and its falls; gradients are integrated in `steps`."""
    found = [each for each in explainer.explanations(pairs) if isinstance(each, Reasons)]
    telling = [words.telling(each) for each in found]
    found = [each for each, some in zip(found, telling, strict=True) if some]
    telling = [some for some in telling if some]
    asked = [
        words.without((each.sentence1, each.sentence2), [place])
        for each, some in zip(found, telling, strict=True)
        for place in some
    ]
    alone = iter(explainer.similarities(asked).tolist())
    left_out = [
        [each.similarity - next(alone) for _ in some]
        for each, some in zip(found, telling, strict=True)
    ]
    amounts: dict[str, list[list[float]]] = {
        "explain, by word": [words.amounts(each) for each in found],
        "explain, themes' words": [
            named_by_themes(words, each, some) for each, some in zip(found, telling, strict=True)
        ],
        "leave-one-out": left_out,
    }
    carried = [carried_by_themes(each) for each in found]
    if None not in carried:
        amounts["themes told of, what words add"] = [each for each in carried if each is not None]
    if not isinstance(explainer, EnsembleOrigin) and explainer._static is None:  # type: ignore[attr-defined]
        gradients = IntegratedGradients(explainer, steps)  # type: ignore[arg-type]
        started = perf_counter()
        amounts["integrated gradients"] = [
            gradients.amounts(each) for each in track(found, "Integrating", len(found))
        ]
        seconds = perf_counter() - started
        print(f"integrated gradients: {len(found)} pairs in {seconds:.0f} s, sums off by "
              f"{np.median(gradients.missing):.1%} (median)", flush=True)  # fmt: skip
    for name, each in amounts.items():
        rng = np.random.default_rng(derive_seed(seed, "ties", name))
        orders = [
            [some[i] for i in by_amount(values, rng)]
            for some, values in zip(telling, each, strict=True)
        ]
        yield name, *falls(explainer, words, found, orders)
    rng = np.random.default_rng(derive_seed(seed, "orders"))
    random = [
        falls(
            explainer,
            words,
            found,
            [[some[i] for i in rng.permutation(len(some))] for some in telling],
        )
        for _ in range(ORDERS)
    ]
    yield "random", np.mean([r[0] for r in random], axis=0), np.mean([r[1] for r in random], axis=0)


def interval(values: Floats, seed: int) -> str:
    """Mean and 95 % bootstrap interval over pairs."""
    rng = np.random.default_rng(derive_seed(seed, "bootstrap"))
    means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{values.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def table(
    explainer: Explainer, words: Words, pairs: Sequence[TextPair], seed: int, steps: int
) -> None:
    """Print both measures, and each order against random."""
    found = list(measured(explainer, words, pairs, seed, steps))
    random = found[-1]
    for which, name in (
        (1, "comprehensiveness (more is better)"),
        (2, "sufficiency (less is better)"),
    ):
        print(f"\n| {name} | {' | '.join(f'{s:.0%}' for s in SHARES)} | mean | against random |")
        print("|---|" + "---|" * (len(SHARES) + 2))
        for each in found:
            values: Floats = each[which]  # type: ignore[assignment]
            base: Floats = random[which]  # type: ignore[assignment]
            means = " | ".join(f"{value:.3f}" for value in values.mean(axis=0))
            against = interval((values - base).mean(axis=1), seed) if each is not random else ""
            print(f"| {each[0]} | {means} | {values.mean():.3f} | {against} |")


def largest_difference(explainer: "EncoderReasons", pairs: Sequence[TextPair]) -> float:
    """Between what hangs on words and the sums of Moeller's token pairs, of a static encoder.

    Their attribution of tokens i, j is x_i' J_a' J_b y_j, J the Jacobian of the sentence vector
    integrated from a reference of zeros (Eq. 5); the vector is the mean before it is scaled, and
    both lengths divide the product.
    """
    import torch

    module: Any = explainer._encoder[0]
    table, tokenizer = module.embedding, module.tokenizer
    jacobian_of: Any = torch.autograd.functional.jacobian  # mypy: untyped
    worst = 0.0
    for found in explainer.explanations(pairs):
        sides = []
        for text in (found.sentence1, found.sentence2):
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            known = [i for i in ids if i != table.padding_idx]
            sides.append(table.weight.detach()[known].double())
        pooled: Callable[[torch.Tensor], torch.Tensor] = lambda x: x.mean(dim=0)  # noqa: E731
        integrated = []
        for x in sides:
            steps = [jacobian_of(pooled, x * (k + 0.5) / 4) for k in range(4)]
            jacobian = torch.stack(steps).mean(dim=0)  # (d, tokens, d)
            integrated.append(torch.einsum("otd,td->to", jacobian, x))
        lengths = [float(pooled(x).norm()) for x in sides]
        pair = (integrated[0] @ integrated[1].T / math.prod(lengths)).numpy()
        words = sum(w.added or 0.0 for w in (*found.words1, *found.words2))
        worst = max(worst, abs(float(pair.sum()) - found.similarity), abs(pair.sum() - words))
    return worst


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tsv", type=Path)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--model")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--steps", type=int, default=32, help="of integrated gradients")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with options.tsv.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    dev = [(row["sentence1"], row["sentence2"]) for row in rows if row["split"] == "dev"]
    rng = np.random.default_rng(derive_seed(options.seed, "pairs"))
    chosen = rng.choice(len(dev), size=min(options.pairs, len(dev)), replace=False)
    pairs = [dev[i] for i in np.sort(chosen)]
    words = Words(WordSpace.load(Run.open(options.run).folder(CONTEXT)))
    explainer = Origin.open(options.run)
    if options.model:
        from firth.surrogate.reasons import EncoderReasons

        explainer = encoder = EncoderReasons.open(options.run, options.model)
        if options.check:
            print(f"largest difference: {largest_difference(encoder, pairs[:20]):.2e}")
            return
    table(explainer, words, pairs, options.seed, options.steps)


if __name__ == "__main__":
    main()
