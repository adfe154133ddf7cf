"""Calibration: how high the best of all scores is where nothing here says the same, or answers.

The best of thousands of scores is always high. A match is therefore compared with the best matches
of sentences without a counterpart, which their second best tell, and a hit with the first hits of
questions whose own document is hidden. Both are drawn when a run is built
(`firth.search.calibrate`), from vectors and their owners alone, so that any encoder has them.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.run.console import table
from firth.run.errors import InputError
from firth.run.files import read_arrays, read_json
from firth.run.results import Result
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import Stage
from firth.search.index import INDEX, index_encoder
from firth.text.types import Floats, Ints, Singles

CALIBRATION = Stage("calibration", 12)
SCORES, NULL = "scores.safetensors", "calibration.json"
ANSWERS, RELATED, UNLIKELY = "probably answers", "may be related", "unlikely to answer"
NOTHING = "probably nothing here answers this"
ANSWERS_AT = 0.1
"""Highest chance of a hit that probably answers."""
REFUSED, REFUSED_WRONGLY = 0.3, 0.2
"""Most of the run's questions without an answer, and of those with one, that are refused."""
_APART = 0.6
"""Least share of questions with an answer, above the median of the others, if answers show."""
FLOOR = 0.2
"""Chance above which a best match is taken for no match at all."""
UNMEASURED = 0.8
"""Least cosine of a match where nothing is known. Of pairs of STSb from here on, nine in ten are
rated at least 3 of 5."""
RATES = (0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
LEAST_SHOWN = 0.001
"""Shares below are shown as less than that."""
FEWEST = 20
"""Values, and groups of documents, below which nothing is said of matches."""
FEWEST_ASKED = 40
"""Questions below which no hit has a verdict."""
SHARES = (1.0, 0.5, 0.0)
"""Shares of their weight that cosines may have in search."""
_ANSWERING, _PART, _WIDE = 50, 20, 5.0
"""Documents that may answer a question as well as its own: so many, and one in 20, at most. The gap
after them is so many times the mean gap, at least."""
UNKNOWN = (
    f"Nothing is known of false matches: that takes {FEWEST} documents, or texts, with vectors "
    "that differ."
)
ALIKE = "Where there is no cosine, texts are so alike that even equal ones are chance."
GUESSED = 1
"""Texts beyond a threshold, by chance, below which it is a guess."""
_AHEAD = 2.5
"""Times the mean gap by which a counterpart is ahead of the next, and chance in 8 of 100 texts."""
_LEAST_GAP, _LEAST_EVIDENCE = 1e-6, 1e-3
_HIGHEST, _ROUNDS = 4, 5
_PLACES, _TOLD = 10, 0.2
"""Documents among which an answer is found, and the least gain of questions that say something."""
_CHANCES: Floats = np.geomspace(1.0, 1e-4, 200)
_MIDDLES: Floats = (np.arange(200) + 0.5) / 200
_FEW = 0.1
"""Share of texts without a counterpart below which the others are looked at."""
_DRAWN, _PLACES_KNOWN, _SURELY, _ALIKE = 10_000, 100, 0.95, 0.01
"""Draws of the bound that known strangers prove, ranks where it is drawn, how often it holds, and
the chance below which unrelated texts are said to be unlike the others."""
OF_WORDS = (
    "From text alone, a rate of 2% was 3.4% and one of 1% was 2.1% in the median of seven corpora."
)


@dataclass(frozen=True)
class MatchNull:
    """The distribution of the best cosine of a text without a counterpart among other texts.

    A text whose best is far ahead of the second has a counterpart, and is left out. That of the
    others is a gap ahead of the second best, and this gap has the distribution of twice that from
    the second to the third (Rényi 1953: where tails are exponential, j times the gap after the j-th
    highest has one distribution for all j, whatever the next is). So the best is the sum of two
    draws. Where hardly a text is left, all have a counterpart, and that is set aside. Of e times as
    many texts the best is a mean gap nearer (Gumbel 1958).

    Attributes:
        angles: Negative angles, in radians, that the best exceeds with the chances `_CHANCES`;
            ascending.
        gap: Mean gap, in radians.
        texts: Number of the others.
        drawn: Texts that it is fitted to.
    """

    angles: tuple[float, ...]
    gap: float
    texts: int
    drawn: int

    @classmethod
    def fit(cls, best: Singles, texts: int) -> "MatchNull | None":
        """Fit to the best cosine of each of n texts in each of k equal groups of others, (n, k).

        Values of -1 are of groups that have no others. `texts` is the number of all others. None:
        too few values differ.
        """
        if len(best) < FEWEST or best.shape[1] < _HIGHEST:
            return None
        highest = -np.sort(-best.astype(np.float64), axis=1)[:, :_HIGHEST]
        highest = highest[highest[:, -1] > -1]
        if len(np.unique(highest)) < FEWEST:
            return None
        angles = -np.arccos(np.clip(highest, -1.0, 1.0))
        # 1 for a text with a counterpart, which is set aside.
        ahead = np.zeros(len(angles), np.int64)
        for _ in range(_ROUNDS):
            gap = _mean_gap(_second(angles, ahead)[1])
            ahead = (angles[:, 0] - angles[:, 1] > _AHEAD * gap).astype(np.int64)
        alone = ahead == 0
        used = alone if alone.mean() >= _FEW else ~alone
        second, gaps = _second(angles[used], ahead[used])
        sums = np.sort((second[:, None] + np.quantile(gaps, _MIDDLES)).ravel())
        drawn = np.quantile(sums, 1 - _CHANCES).round(6)
        return cls(tuple(drawn.tolist()), _mean_gap(gaps), texts, len(second))

    def chance(self, cosines: npt.ArrayLike, texts: int | None = None) -> Floats:
        """Return how often a text without a counterpart has a best match this near, in (0, 1].

        Args:
            cosines: Of any shape.
            texts: Number of the others; by default that of the fit.
        """
        angles = -np.arccos(np.clip(np.asarray(cosines, np.float64), -1.0, 1.0))
        angles = angles - self._moved(texts)
        beyond = np.maximum(angles - self.angles[-1], 0.0) / self.gap
        chance: Floats = np.exp(np.interp(angles, self.angles, np.log(_CHANCES)) - beyond)
        return chance

    def threshold(self, rate: float, texts: int | None = None) -> float:
        """Return the cosine that the best match of a share `rate` of such texts reaches.

        It is at most 1. Where a cosine of 1 has a higher chance, no threshold has the rate.
        """
        angle = float(np.interp(-np.log(rate), -np.log(_CHANCES), self.angles))
        beyond = self.gap * max(float(np.log(_CHANCES[-1] / rate)), 0.0)
        return float(np.cos(min(angle + beyond + self._moved(texts), 0.0)))

    def _moved(self, texts: int | None) -> float:
        return 0.0 if texts is None else self.gap * float(np.log(max(texts, 1) / self.texts))


@dataclass(frozen=True)
class Strangers:
    """Scores of the best matches of known strangers: of texts that cannot have a counterpart.

    Another stranger's score is as likely to be anywhere among these, so that its rank is its chance
    (a conformal p-value; Bates et al. 2023). Which strangers are known is a draw without an order,
    from which a bound follows that holds for all scores at once (as in Song, Jin and Candès 2026).

    Attributes:
        scores: Ascending, (n,); at least one.
        texts: Number of the others, among which the best is looked for.
    """

    scores: Floats
    texts: int = 0

    @property
    def drawn(self) -> int:
        """How many strangers are known."""
        return len(self.scores)

    def chance(self, scores: npt.ArrayLike, texts: int | None = None) -> Floats:
        """Return how often a stranger has a best match as good, in (0, 1]; `texts` says nothing."""
        from_here = self.drawn - np.searchsorted(self.scores, np.asarray(scores) - 1e-12)
        chance: Floats = (1 + from_here) / (1 + self.drawn)
        return chance

    def threshold(self, rate: float, texts: int | None = None) -> float:
        """Return the least score that at most a share of the strangers reach.

        It is at least 1 where so few are known that no score has the rate.
        """
        more = int(rate * (self.drawn + 1) + 1e-9)
        return float(self.scores[-more]) + 1e-6 if more else max(1.0, float(self.scores[-1]))

    def cut(self, scores: Floats, precision: float | None, rate: float | None) -> float:
        """Return the least score of a match (Benjamini and Hochberg 1995), or infinity.

        Args:
            scores: Of the texts that are matched, (n,).
            precision: Share of the matches that are expected to be right, in (0, 1).
            rate: In its place, share of the texts without a counterpart that get a match.
        """
        cuts = np.unique(scores)
        matches = len(scores) - np.searchsorted(np.sort(scores), cuts)
        allowed = rate if rate is not None else (1 - (precision or 0)) * matches / len(scores)
        good = np.flatnonzero(self.chance(cuts) <= allowed)
        return float(cuts[good[0]]) if len(good) else np.inf

    def at_most_false(self, scores: npt.ArrayLike, texts: int) -> Ints:
        """Return how many matches from each score on are false at most, in 95 % all at once.

        Args:
            scores: Least scores of a match, of any shape.
            texts: Texts that are matched, of which any may be a stranger.
        """
        from_here = self.drawn - np.searchsorted(self.scores, np.asarray(scores) - 1e-12)
        return _most_unknown(self.drawn, texts)[from_here]


@lru_cache
def _most_unknown(known: int, unknown: int) -> Ints:
    """Return how many unknown strangers, at most, are above a score that 0, 1, ... known ones
    reach, (known + 1,): in 19 of 20 draws for all numbers at once, each with the same chance."""
    numbers = np.unique(np.geomspace(1, known, _PLACES_KNOWN).astype(np.int64))
    rng = np.random.default_rng(derive_seed(known, "strangers"))
    # What lies between known ones, of uniform scores, and the unknown ones in it.
    gaps = rng.gamma(np.diff(numbers, prepend=0, append=known + 1), size=(_DRAWN, len(numbers) + 1))
    before = rng.multinomial(unknown, gaps / gaps.sum(axis=1, keepdims=True)).cumsum(axis=1)[:, :-1]
    ordered = np.sort(before, axis=0)
    columns = zip(before.T, ordered.T, strict=True)
    rarest = np.min([_DRAWN - np.searchsorted(column, x) for x, column in columns], axis=0)
    beyond = np.sort(rarest)[int((1 - _SURELY) * _DRAWN)] - 1
    most = np.append(ordered[_DRAWN - 1 - beyond], unknown)
    return most[np.searchsorted(numbers, np.arange(known + 1) + 1)]


def unlike(seconds: Floats, of_strangers: Floats) -> tuple[str, ...]:
    """Return a note where the second best of strangers are unlike those of the other texts.

    Both groups have a second best by chance. Texts with a match are left out of both.
    """
    from scipy.stats import mannwhitneyu

    if not len(seconds) or not len(of_strangers):
        return ()
    test = mannwhitneyu(seconds, of_strangers)
    if test.pvalue >= _ALIKE:
        return ()
    nearer = test.statistic < len(seconds) * len(of_strangers) / 2
    verb = "nearer: the rate is too careful" if nearer else "less near: the rate is too low"
    return (f"The unrelated texts are unlike the others: their second best are {verb}.",)


def _second(angles: Floats, ahead: Ints) -> tuple[Floats, Floats]:
    """Return the second best of each row past those set aside, and twice its gap to the third."""
    rows = np.arange(len(angles))
    second = angles[rows, 1 + ahead]
    return second, 2 * (second - angles[rows, 2 + ahead])


def _mean_gap(gaps: Floats) -> float:
    return max(float(gaps.mean()), _LEAST_GAP)


@dataclass(frozen=True)
class Asked:
    """What a question of a run finds where all that answers it is hidden.

    Attributes:
        evidence: Unit → evidence of the first hit.
        answer: Evidence of the text that answers; None without one.
        ahead: Documents ahead of that text at each of `SHARES`, and by cosines alone; () without.
    """

    evidence: Mapping[str, float]
    answer: float | None = None
    ahead: tuple[int, ...] = ()


def answering(scores: Floats) -> Ints:
    """Return which of n documents answer a question as well as its own, which is not among them.

    Versions and further documents of one kind are ahead of all others. j times the gap after the
    j-th highest score has one distribution for all j (Rényi 1953). So they end at a gap that is
    far wider than the mean of the first.
    """
    order = np.argsort(-scores, kind="stable")
    most = min(_ANSWERING, len(order) // _PART)
    if most < _HIGHEST:
        return order[:0]
    gaps = -np.diff(scores[order[: most + 1]]) * np.arange(1, most + 1)
    widest = int(gaps.argmax())
    mean = float(np.median(gaps)) / np.log(2)
    return order[: widest + 1] if gaps[widest] > _WIDE * mean else order[:0]


def best_share(ahead: Sequence[Sequence[int]]) -> float:
    """Return the share of their weight that cosines get: a half where more answers are found so.

    It is 0 where cosines alone find less than half of what words find, and 1 where few questions
    can be asked, or find their answers among ten documents: titles may be names and years.

    Args:
        ahead: `Asked.ahead` of n questions, (n, 4).
    """
    places = np.array(ahead, np.float64).reshape(-1, len(SHARES) + 1)
    gains = np.where(places < _PLACES, 1 / np.log2(places + 2), 0.0).sum(axis=0)
    full, half, words, cosines = gains / max(len(ahead), 1)
    if len(ahead) < FEWEST or max(full, half, words) < _TOLD:
        return 1.0
    return 0.0 if cosines < words / 2 else 0.5 if half > full else 1.0


@dataclass(frozen=True)
class Answers:
    """Evidence of first hits, ascending: where nothing answers, and of texts that answer.

    Attributes:
        without: Of n questions, from which all that answers is hidden, (n,).
        there: The higher of that and the evidence of their answer, (m,); m may be 0.
    """

    without: Floats
    there: Floats

    def chance(self, evidence: float) -> float:
        """Return how often a question without an answer here has a first hit as good, in (0, 1]."""
        as_high = len(self._null) - np.searchsorted(self._null, evidence - 1e-9)
        return float((1 + as_high) / (1 + len(self._null)))

    @cached_property
    def _null(self) -> Floats:
        """The lower half of `without` and its mirror image: some of the rest have answers."""
        logs = np.log(np.maximum(self.without, _LEAST_EVIDENCE))
        below = logs[: (len(logs) + 1) // 2]
        return np.sort(np.exp(np.append(below, 2 * np.median(logs) - below)))

    @cached_property
    def least(self) -> float:
        """Evidence below which a hit is unlikely to answer."""
        sides = (self.without, REFUSED), (self.there, REFUSED_WRONGLY)
        fewest = len(self.without) / 2  # Few texts that go on are not like the others.
        return min(float(np.quantile(side, share)) for side, share in sides if len(side) >= fewest)

    def verdict(self, evidence: float) -> str:
        """Return in words whether a hit answers."""
        if self.chance(evidence) <= ANSWERS_AT:
            return ANSWERS
        return RELATED if evidence >= self.least else UNLIKELY

    def shares(self) -> dict[str, tuple[float | None, float]]:
        """Return verdict → shares of questions it is said of: with an answer here, and without."""
        words = [[*map(self.verdict, values)] for values in (self.there, self.without)]
        return {
            word: (words[0].count(word) / len(words[0]) if words[0] else None,
                   words[1].count(word) / len(words[1]))
            for word in (ANSWERS, RELATED, UNLIKELY)
        }  # fmt: skip


@dataclass(frozen=True)
class NearMisses:
    """Texts, and what is nearly each: its number, name and rarest word are those of others.

    Attributes:
        cosines: Of each text with what is nearly it; there may be none.
        vetoed: Whether both differ in what matters (`firth.differences`).
    """

    cosines: tuple[float, ...] = ()
    vetoed: tuple[bool, ...] = ()

    def share(self, threshold: float, veto: bool = False) -> float:
        """Return the share that reaches a threshold, in [0, 1]; with a veto, and is not vetoed."""
        rows = zip(self.cosines, self.vetoed, strict=True)
        passed = [cosine >= threshold and not (veto and differ) for cosine, differ in rows]
        return float(np.mean(passed)) if passed else 0.0


@dataclass(frozen=True, repr=False, kw_only=True)
class Calibration(Result):
    """What the scores of an encoder mean among some texts.

    Attributes:
        matches: The null of matches, or known strangers; None where too little is known.
        answers: `sentence` and `document` → what evidence says of an answer; empty without a run,
            and where fewer than `FEWEST_ASKED` questions can be asked.
        scripts: Writing systems of the documents, as Unicode names them, such as `LATIN`.
        share: Share of their weight that cosines have in search (`best_share`).
        near: Near misses of the texts.
        notes: What a reader must know.

    Example:
        >>> import firth
        >>> known = firth.calibrate(texts, encoder=model)  # doctest: +SKIP
        >>> known.threshold(false_match_rate=0.01), known.chance(0.71)  # doctest: +SKIP
    """

    matches: MatchNull | Strangers | None
    answers: Mapping[str, Answers] = field(default_factory=dict)
    scripts: frozenset[str] = frozenset()
    share: float = 1.0
    near: NearMisses = NearMisses()
    notes: tuple[str, ...] = ()

    @classmethod
    def open(cls, run: str | Path | Run) -> "Calibration":
        """Open the calibration of a run.

        Raises:
            MissingStageError: It is not built.
        """
        folder = Run.open(run).folder(CALIBRATION)
        arrays, _ = read_arrays(folder / SCORES)
        stored = read_json(folder / NULL)
        null = stored["matches"]
        matches = MatchNull(**{**null, "angles": tuple(null["angles"])}) if null else None
        units = {name.partition("-")[0] for name in arrays}
        answers = {u: Answers(arrays[f"{u}-without"], arrays[f"{u}-there"]) for u in units}
        notes = () if index_encoder(Run.open(run)) else (OF_WORDS,)
        return cls(
            matches=matches,
            answers=answers,
            scripts=frozenset(stored["scripts"]),
            share=stored["share"],
            notes=notes,
        )

    @classmethod
    def current(cls, run: Run) -> "Calibration | None":
        """Return the calibration of the run's index; None where there is none of this index."""
        if not run.has(CALIBRATION) or not run.has(INDEX):
            return None
        manifest = run.manifest(CALIBRATION)
        inputs = manifest.inputs if manifest.version == CALIBRATION.version else {}
        same = all(inputs.get(name) == digest for name, digest in run.inputs(INDEX).items())
        return cls.open(run) if same else None

    @classmethod
    def of_matches(cls, run: Run) -> "tuple[Calibration | None, str]":
        """Return the calibration of the run's index that knows of matches, or None and why."""
        calibration = cls.current(run)
        if calibration is not None and calibration.matches is not None:
            return calibration, ""
        why = UNKNOWN if calibration else "The run has no calibration. Run firth build."
        return None, f"{why} So the threshold is {UNMEASURED}."

    @property
    def proof(self) -> str:
        """Whether a rate is modelled, or proved, and by what."""
        if isinstance(self.matches, Strangers):
            return f"proved with {self.matches.drawn:,} known strangers"
        return "modelled"

    def _known(self) -> MatchNull | Strangers:
        if self.matches is None:
            raise InputError(UNKNOWN)
        return self.matches

    def chance(self, cosine: float, texts: int | None = None) -> float:
        """Return the share of texts without a counterpart whose best match is this near.

        Args:
            cosine: Of a text with the best of all others.
            texts: Number of the others; by default all that were calibrated.

        Raises:
            InputError: Too little is known.
        """
        return float(self._known().chance(cosine, texts))

    def threshold(self, false_match_rate: float, texts: int | None = None) -> float:
        """Return the cosine that the best match of this share of texts reaches by chance.

        Args:
            false_match_rate: Share of the texts without a counterpart that get a match, in (0, 1).
            texts: Number of texts among which the best is looked for; by default all.

        Raises:
            InputError: The rate is not between 0 and 1, or too little is known.
        """
        check_rate(false_match_rate)
        return self._known().threshold(false_match_rate, texts)

    def at_most_false(self, best: npt.ArrayLike, threshold: float) -> int:
        """Return how many of the texts with a match from a threshold on have a false one at most.

        It holds at 95 %, whatever the threshold. Near misses are not counted.

        Args:
            best: Cosine of each text with the best of all, (n,).
            threshold: Least cosine of a match.

        Raises:
            InputError: No strangers are known.
        """
        if not isinstance(self.matches, Strangers):
            raise InputError("no strangers are known: calibrate with unrelated=TEXTS")
        cosines = np.asarray(best, np.float64)
        matches = int((cosines >= threshold).sum())
        return min(int(self.matches.at_most_false(threshold, len(cosines))), matches)

    def threshold_of_share(
        self, best: npt.ArrayLike, share: float, texts: int | None = None
    ) -> float:
        """Return the lowest cosine from which on at most a share of the texts match by chance.

        All that are this near are matches, and not the best alone, so that texts with a counterpart
        have others by chance, too. It is 1 where no cosine has so small a share (Benjamini and
        Hochberg 1995).

        Args:
            best: Cosine of each text with the best of the others, (n,).
            share: In (0, 1).
            texts: Number of the others; by default all.
        """
        check_rate(share, "expected share of false matches")
        cosines = np.sort(np.asarray(best, np.float64))[::-1]
        false = len(cosines) * self._known().chance(cosines, texts)
        good = np.flatnonzero(false <= share * np.arange(1, len(cosines) + 1))
        return float(cosines[good[-1]]) if len(good) else 1.0

    def thresholds(self) -> dict[str, float]:
        """Return rate of false matches → least cosine; nothing where too little is known."""
        if self.matches is None:
            return {}
        return {f"{rate:g}": self.matches.threshold(rate) for rate in RATES}

    def summary(self) -> str:
        """Return what is known of false matches."""
        if self.matches is None:
            return UNKNOWN
        drawn, is_proved = self.matches.drawn, isinstance(self.matches, Strangers)
        few = "below {:.2g}% " + ("need more." if is_proved else "are guesses.")
        return (
            f"Of texts without a counterpart among {self.matches.texts:,}, so many have a match "
            f"this similar; {self.proof if is_proved else f'modelled from {drawn:,} of them'}. "
            f"Rates {few.format(100 * GUESSED / drawn)}"
            f"{f' {ALIKE}' if not is_proved and self.matches.threshold(RATES[-1]) >= 1 else ''}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return thresholds for rates of false matches, and counts, as plain values for JSON."""
        return {
            "thresholds": self.thresholds(),
            "matches": self.matches
            and {"texts": self.matches.texts, "drawn": self.matches.drawn, "proof": self.proof},
            "near_misses": {
                rate: {"all": self.near.share(cut), "not vetoed": self.near.share(cut, veto=True)}
                for rate, cut in self.thresholds().items()
                if self.near.cosines
            },
            "answers": {
                unit: {"questions": len(answers.without), "said of": answers.shares()}
                for unit, answers in self.answers.items()
            },
            "note": UNKNOWN if self.matches is None else " ".join(self.notes),
        }

    def lines(self, top: int) -> Iterator[str]:
        """Yield tables of thresholds for rates of false matches, and of verdicts on hits."""
        yield self.summary()
        yield from self.notes if self.matches else ()
        heads = ["false matches", "cosine", "near misses", "not vetoed"]
        shown, rows = 4 if self.near.cosines else 2, []
        for rate, cut in self.thresholds().items():
            near = [percent(self.near.share(cut, veto)) for veto in (False, True)]
            cosine = f"{cut:.3f}" if cut < 1 else "none"
            rows.append([f"{100 * float(rate):g} %", cosine, *near][:shown])
        if rows:
            yield from ("", table([heads[:shown], *rows]))
        if count := len(self.near.cosines):
            yield f"Near misses: {count:,} texts with the number, name and word of others."
        if answers := self.answers.get("sentence"):
            yield (
                f"\nOf {len(answers.there):,} questions of the run's own with an answer, and of "
                f"{len(answers.without):,} from which all that answers is hidden, a hit says:\n"
            )
            shares = [
                [word, "-" if there is None else percent(there), percent(without)]
                for word, (there, without) in answers.shares().items()
            ]
            yield table([["verdict", "answered", "without"], *shares])
            if np.sum(answers.there > np.median(answers.without)) < _APART * len(answers.there):
                yield "Titles and first sentences hardly find their documents: they tell little."


def percent(share: float) -> str:
    """Return a share in percent, as `4.2%`; what is not 0 is never shown as 0."""
    if 0 < share < LEAST_SHOWN:
        return f"less than {LEAST_SHOWN:.1%}"
    return f"{share:.1%}" if share else "0%"


def check_rate(rate: float, name: str = "false-match rate") -> None:
    """Raise `InputError` unless a rate is in (0, 1)."""
    if not isinstance(rate, int | float) or not 0 < rate < 1:
        raise InputError(f"{name}: got {rate!r:.80}; expected a number between 0 and 1")


def scripts_of(texts: Iterable[str], share: float = 0.0) -> frozenset[str]:
    """Return the writing systems, as `LATIN`, that have more than a share of the letters."""
    counts: dict[str, int] = {}
    for text in texts:
        for letter in filter(str.isalpha, text):
            name = unicodedata.name(letter, "").partition(" ")[0]
            counts[name] = counts.get(name, 0) + 1
    least = share * sum(counts.values())
    return frozenset(name for name, count in counts.items() if count > least)
