"""What a stage did, in sentences; its manifest has the same by keys, which `--json` prints."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from firth.check import CHECK
from firth.context import ADAPT, CONTEXT, THEMES
from firth.corpus import ADDED, CORPUS, TOKENIZER
from firth.evaluate import EVALUATION
from firth.harvest import HARVEST
from firth.index import ADDED_INDEX, INDEX
from firth.origin import ORIGIN
from firth.origin.blend import Blend
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
from firth.run.screen import plural
from firth.scale import SCALE
from firth.surrogate import CROSS_ENCODER, SURROGATE, TEACHER

Summary = Mapping[str, Any]
_MILLION = 1_000_000


def sentences_of(stage: str, summary: Summary) -> str:
    """A stage's summary in sentences; of one that none are written for, its figures by name."""
    return " ".join(_TOLD.get(stage, _by_name)(summary))


def many(count: int, thing: str) -> str:
    """A count of things, millions in words.

    Example:
        >>> many(1, "word"), many(26_231, "document"), many(9_639_169, "word")
        ('1 word', '26,231 documents', '9.6 million words')
    """
    return plural(count, thing) if count < _MILLION else f"{count / _MILLION:.1f} million {thing}s"


def _corpus(found: Summary) -> Iterator[str]:
    yield (
        f"Read {many(found['documents'], 'document')}: {many(found['sentences'], 'sentence')}, "
        f"{many(found['words'], 'word')}."
    )
    if apart := found["held_out"]:
        more = "more document is" if apart == 1 else "more documents are"
        yield f"{apart:,} {more} kept apart, to check models by."
    if skipped := found["skipped"]:
        yield f"Skipped: {_listed(skipped)}."
    if same := found["duplicates"]:
        yield f"Left out: {many(same, 'document')} with the words of an earlier one."
    if dated := found["dated"]:
        yield f"{many(dated, 'document')} have a date."


def _added(found: Summary) -> Iterator[str]:
    yield (
        f"Beside the corpus stand {many(found['documents'], 'document')}: "
        f"{many(found['sentences'], 'sentence')}, {many(found['words'], 'word')}; "
        f"{found['new']:,} are new."
    )
    if skipped := found["skipped"]:
        yield f"Skipped: {_listed(skipped)}."


def _tokenizer(found: Summary) -> Iterator[str]:
    yield f"Learned a vocabulary of {many(found['vocabulary'], 'piece')} of words."


def _retrieve(found: Summary) -> Iterator[str]:
    yield (
        f"{many(found['chunks'], 'passage')} can be found by "
        f"{many(found['features'], 'word feature')}."
    )


def _check(found: Summary) -> Iterator[str]:
    asked = {kind: count for kind, count in found["items"].items() if count}
    yield f"Made questions of {many(found['documents'], 'document')} that were kept apart:"
    yield f"{_listed(asked) or 'none'}."


def _adapt(found: Summary) -> Iterator[str]:
    yield f"{found['encoder']}: kept {found['kept']}."
    yield from (f"{name}: {why}." for name, why in found["candidates"].items())


def _context(found: Summary) -> Iterator[str]:
    words = found["words"]
    yield (
        f"Learned {many(words['vocabulary'], 'word')} from {many(words['words'], 'word')} in "
        f"{many(words['sentences'], 'sentence')}; sentences are read by: {found['encoder']}."
    )
    if losses := found.get("losses"):
        yield f"Tuning brought its loss from {losses[0]:.3f} to {losses[-1]:.3f}."
    if kept := found.get("kept"):
        yield f"Kept {kept}."
    yield f"{many(found['contexts'], 'sentence')} serve as contexts."


def _themes(found: Summary) -> Iterator[str]:
    yield (
        f"Grouped the contexts into {many(found['themes'], 'theme')}; the largest has "
        f"{found['largest']:,}."
    )


def _origin(found: Summary) -> Iterator[str]:
    blend = Blend(found["sentences"], found["words"], found["own"])
    asked = many(found["held_out_sentences"], "held-out sentence")
    if found["changed"]:
        yield f"Scores weigh {blend}: chosen by {asked}."
    else:
        yield f"Scores weigh {blend}: the default, for {asked} gave no reason for another."


def _coherence(found: Summary) -> Iterator[str]:
    yield (
        f"Learned which sentence fits into {many(found['positions'], 'context')}, in "
        f"{found['step']:,.0f} steps, to a loss of {found['loss']:.3f}."
    )
    if "accuracy" in found:
        yield (
            f"Of held-out sentences and others in their place, {100 * found['accuracy']:.0f} % "
            "are told apart (50 % is chance)."
        )


def _generator(found: Summary) -> Iterator[str]:
    size = many(found["parameters"], "parameter")
    if "train_positions" not in found:
        yield f"Likelihoods are those of a {found['architecture']} of {size}, as it is."
        return
    yield (
        f"Trained {size} on {many(found['train_positions'], 'context')}, {found['epochs']:g} times "
        "each on average."
    )
    losses = (
        f"{name} {one['loss']:.2f} ({one['baseline']:.2f})"
        for name, one in found["held_out"].items()
    )
    yield f"Loss on held-out ones, and without the context: {', '.join(losses)}."


def _harvest(found: Summary) -> Iterator[str]:
    sizes, scores = found["pairs"], found["scores"]
    yield (f"Scored {many(sum(sizes.values()), 'pair')}: {_listed(sizes)}.")
    if dropped := found["repeated_pairs_dropped"]:
        yield f"Left out {many(dropped, 'pair')} that came twice."
    means = (f"{kind} {one['mean']:.3f} ± {one['deviation']:.3f}" for kind, one in scores.items())
    yield f"Mean scores: {', '.join(means)}."
    yield from _labels(found["labels"])


def _labels(found: Summary) -> Iterator[str]:
    """What labels are worth (`firth.harvest.labels.told`)."""
    figures = {"tf-idf": found["tfidf"], "length": found["length"]} | found["components"]
    told = (f"{name} {value:.2f}" for name, value in figures.items() if value is not None)
    yield f"Labels rank as: {', '.join(told) or 'nothing'}."
    known = {name: value for name, value in found["agreement"].items() if value is not None}
    if known:
        least = min(known, key=lambda name: known[name])
        how = "agree least" if len(known) > 1 else "agree"
        yield f"Of the parts of Origin {least} {how}: {known[least]:.2f}."
    if copies := found["near_copies"]:
        yield f"{100 * copies:.1f} % of the pairs are near copies."
    held = {name: one["both"] for name, one in found["leakage"].items() if name != "blocked"}
    if any(held.values()):
        shares = " and ".join(f"{100 * share:.0f} % of {name}" for name, share in held.items())
        yield f"Both sentences also stand in training shards in {shares}."
    yield from found["warnings"]


def _teacher(found: Summary) -> Iterator[str]:
    yield f"{found['name']} read {many(found['sentences'], 'sentence')}."


def _surrogate(found: Summary) -> Iterator[str]:
    unit = "pair" if "pairs" in found else "sentence"
    learned = many(found[f"{unit}s"]["train"], unit)
    teacher = f" {found['teacher']}" if "teacher" in found else ""
    yield f"Distilled{teacher} into a model that starts as {found['base']}, from {learned}."
    before, after = (found[name]["test"] for name in ("before", "after"))
    if after["spearman"] is not None:
        start = "" if before["spearman"] is None else f" ({before['spearman']:.3f} at the start)"
        yield (
            f"On {many(after['n'], 'pair')} kept from training it ranks as its teacher does with "
            f"a Spearman correlation of {after['spearman']:.3f}{start}."
        )
    yield from _labels(found["labels"])
    if check := found.get("check"):
        yield check
    yield from found["notes"]


def _added_index(found: Summary) -> Iterator[str]:
    yield f"Stored {many(found['sentences'], 'vector')} of documents that were added."


def _index(found: Summary) -> Iterator[str]:
    yield (
        f"Stored {many(found['sentences'], 'vector')} of {found['dimensions']:,} dimensions by "
        f"{found['model']}, {found['bytes'] / _MILLION:,.1f} MB."
    )


_SCORES = {"vectors": "Cosines", "origin": "Origin's scores"}
"""Whose they are: as sentences begin."""


def _scale(found: Summary) -> Iterator[str]:
    for scorer, one in sorted(found.items(), key=lambda item: [*_SCORES].index(item[0])):
        rates = sorted(one["rate"].items(), key=lambda item: item[1])
        told = [f"{rate} reach {score:.2f}" for rate, score in rates]
        drawn = many(one["pairs"]["random"], "random pair")
        yield f"{_SCORES[scorer]} of {drawn}: {_and(told) or 'too few to tell a rate'}."
        if judged := one["judged"]:
            yield f"Probabilities come from {many(judged, 'judged pair')}."


def _evaluation(found: Summary) -> Iterator[str]:
    for model, figures in found.items():
        told = (f"{name} {'undefined' if value is None else f'{value:.1f}'}"
                for name, value in figures.items())  # fmt: skip
        yield f"{model}: {', '.join(told)}."


def _by_name(found: Summary) -> Iterator[str]:
    yield "; ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in _flat(found))


def _listed(counts: Mapping[str, int]) -> str:
    return _and([f"{count:,} {name}" for name, count in counts.items()])


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def _flat(found: Summary, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name} ")
        else:
            yield before + name, value


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, list | tuple):
        return f"{_shown(value[0])} to {_shown(value[-1])}" if value else "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


_TOLD: dict[str, Callable[[Summary], Iterator[str]]] = {
    CORPUS.name: _corpus,
    TOKENIZER.name: _tokenizer,
    CHECK.name: _check,
    ADAPT.name: _adapt,
    RETRIEVE.name: _retrieve,
    COHERENCE.name: _coherence,
    GENERATOR.name: _generator,
    CONTEXT.name: _context,
    THEMES.name: _themes,
    ORIGIN.name: _origin,
    HARVEST.name: _harvest,
    TEACHER.name: _teacher,
    SURROGATE.name: _surrogate,
    CROSS_ENCODER.name: _surrogate,
    INDEX.name: _index,
    ADDED.name: _added,
    ADDED_INDEX.name: _added_index,
    SCALE.name: _scale,
    EVALUATION.name: _evaluation,
}
