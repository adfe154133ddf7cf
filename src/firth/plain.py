"""Functions on plain strings, for any encoder: what their cosines mean, and which of them match."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from firth.corpus.build import build_corpus
from firth.encoders.encoder import Encoder, PretrainedEncoder
from firth.encoders.kinds import open_encoder
from firth.encoders.static import STATIC
from firth.encoders.words import build_words
from firth.evaluation.questions import build_questions
from firth.pipeline.choice import affordable_encoder, with_chosen_encoder
from firth.pipeline.stages import build_static_encoder
from firth.run.console import silenced
from firth.run.errors import InputError
from firth.run.executor import Executor
from firth.run.run import Run
from firth.run.settings import AUTO, TEXT_ALONE, parse_settings
from firth.text.types import Floats, Singles, unit
from firth.text.words import checked_texts, languages_of_texts

if TYPE_CHECKING:
    from firth.search.calibration import Calibration
    from firth.search.match import Matches

_STRANGERS = 20
_RECOGNIZED, _MOST_NEAR = 2_000, 20_000
"""Texts of lists by which their language is recognized, at most; and of a right list of which near
misses are drawn."""


def calibrate(
    texts: Sequence[str] | Singles | Floats,
    *,
    encoder: str | Encoder | None = None,
    documents: Sequence[object] | None = None,
    unrelated: Sequence[str] | Singles | Floats | None = None,
    language: str = AUTO,
    seed: int = 13,
) -> "Calibration":
    """Return what cosines mean among some texts, for any encoder; no run is needed.

    A threshold is for the best of all: the cosine that a share of the texts without a counterpart
    reaches with its nearest. That is the cut of a vector store of these texts. Of texts, and not
    of vectors, near misses are shown, too: up to 500 are encoded beside them.

    Args:
        texts: At least 20 texts, or their vectors, (n, d), of any length.
        encoder: Folder, name or address, or anything with `encode`. By default it is chosen as
            `build` does: the best installed one that reads the language, or one that is learned
            from the texts, as with `none`.
        documents: Document of each text. Texts of one document, or of versions of one, are not
            compared; versions share rare words, which vectors do not tell. By default each text is
            one.
        unrelated: Texts, or vectors, of the same kind that cannot have a counterpart among these,
            such as those of another year: at least 20. They prove the rate, which is modelled
            otherwise.
        language: ISO 639-1. By default it is recognized.
        seed: Of everything that is drawn.

    Raises:
        InputError: Arguments do not fit together.

    Example:
        >>> import firth
        >>> known = firth.calibrate(texts, encoder="all-MiniLM-L6-v2")  # doctest: +SKIP
        >>> known.threshold(false_match_rate=0.01), known.chance(0.71)  # doctest: +SKIP
        (0.68, 0.006)
    """
    from firth.search.calibrate import draw_near, fit_matches, know_strangers, with_versions
    from firth.search.calibration import OF_WORDS, Calibration, NearMisses

    read = _texts_or_vectors(texts, "texts")
    if documents is not None and len(documents) != len(read):
        raise InputError(f"got {len(read)} texts and {len(documents)} documents; expected as many")
    others = None if unrelated is None else _texts_or_vectors(unrelated, "unrelated")
    if others is not None and (len(others) < _STRANGERS or type(others) is not type(read)):
        raise InputError(
            f"unrelated: got {len(others)}; expected at least {_STRANGERS}, texts or vectors as "
            "the others are"
        )
    owners, near, is_alone = np.arange(len(read)), NearMisses(), False
    if documents is not None:
        owners = np.unique([str(name) for name in documents], return_inverse=True)[1]
    if isinstance(read, list):
        if documents is not None:
            owners = with_versions(read, owners)
        code = _recognized([read]) if language == AUTO else language
        with opened_encoder(read, encoder, language, seed) as (opened, is_alone):
            vectors = opened.encode(read)
            near = draw_near(read, vectors, opened.encode, code, seed)
            others = opened.encode(others) if isinstance(others, list) else None
    else:
        vectors = read
    if isinstance(others, np.ndarray):
        known, unlike = know_strangers(vectors, owners, others, seed)
        # What was learned from the texts knows them better, and the second best tell just that.
        return Calibration(matches=known, near=near, notes=() if is_alone else unlike)
    notes = (OF_WORDS,) if is_alone else ()
    return Calibration(matches=fit_matches(vectors, owners, seed), near=near, notes=notes)


def _texts_or_vectors(texts: Sequence[str] | Singles | Floats, name: str) -> list[str] | Singles:
    """Return texts, at least one, or unit vectors, (n, d)."""
    if not isinstance(texts, np.ndarray) or texts.dtype.kind != "f":
        checked = checked_texts(texts, name)
        if not checked:
            raise InputError(f"{name}: expected a list of texts, at least one")
        return checked
    if np.ndim(texts) != 2:
        raise InputError(f"{name}: got shape {np.shape(texts)}; expected vectors, (n, d)")
    if not np.isfinite(texts).all():
        raise InputError(f"{name}: vectors have NaN or infinity; expected finite numbers")
    return unit(np.asarray(texts, np.float64)).astype(np.float32)


def _recognized(lists: Sequence[list[str]]) -> str:
    """Return the language of some texts of lists, or several, as `de+fr`."""
    every = 1 + sum(map(len, lists)) // _RECOGNIZED
    return languages_of_texts(text for texts in lists for text in texts[::every])


def match(
    left: Sequence[str],
    right: Sequence[str] | None = None,
    *,
    precision: float | None = None,
    false_match_rate: float | None = None,
    many_to_one: bool | None = None,
    unrelated: Sequence[str] | None = None,
    veto: bool = False,
    encoder: str | Encoder | None = None,
    left_ids: Sequence[str] | None = None,
    right_ids: Sequence[str] | None = None,
    language: str = AUTO,
    executor: Executor | None = None,
) -> "Matches":
    """Return what matches each text of a list in another one; no labels and no run are needed.

    Texts are compared by their words, by the characters of these, by an encoder, and by the sum of
    all. The similarity that finds most is taken.

    Args:
        left: Texts, at least one.
        right: Texts, at least one. By default each is matched with the others of the left list.
        precision: Share of the matches that shall be right, in (0, 1). [default: 0.9]
        false_match_rate: In its place: share of the texts without a counterpart that may get a
            match, in (0, 1).
        many_to_one: Whether several left texts may match one right text. By default that is so
            where it finds many more.
        unrelated: Texts of the same kind that cannot have a counterpart, such as those of another
            year: at least 20. They prove the rate, which is modelled otherwise.
        veto: Whether texts do not match that differ in a number, a name, a negation or the like.
        encoder: Folder, name or address, or anything with `encode`; `none` for none. By default an
            installed one that reads the language, if it encodes the lists within half a minute.
        left_ids: What the left texts are called; by default their numbers.
        right_ids: What the right texts are called; by default their numbers.
        language: ISO 639-1. By default it is recognized.
        executor: What compares, such as `firth.run.executor.Processes(4)`.

    Raises:
        InputError: A list is empty, ids are not as many as texts, a share is not in (0, 1), or
            there are two of them.

    Example:
        >>> import firth
        >>> matches = firth.match(ours, theirs, precision=0.95)  # doctest: +SKIP
        >>> print(matches.expected_false, matches[0].nearest)  # doctest: +SKIP
    """
    from firth.search.calibrate import draw_decoys
    from firth.search.calibration import check_rate
    from firth.search.match import PRECISION, Texts, match_texts

    if precision is not None and false_match_rate is not None:
        raise InputError("got precision and false_match_rate; expected one of them")
    if false_match_rate is None:
        precision = PRECISION if precision is None else precision
        check_rate(precision, "precision")
    else:
        check_rate(false_match_rate)
    lists = [
        (name, texts, ids)
        for name, texts, ids in (
            ("left", left, left_ids),
            ("right", right, right_ids),
            ("unrelated", unrelated, None),
        )
        if texts is not None
    ]
    read = [checked_texts(texts, name) for name, texts, _ in lists]
    for (name, _, ids), texts in zip(lists, read, strict=True):
        if not texts:
            raise InputError(f"{name}: expected a list of texts, at least one")
        if ids is not None and len(ids) != len(texts):
            raise InputError(f"{name}: got {len(texts)} texts and {len(ids)} ids; expected as many")
    if unrelated is not None and (right is None or len(read[-1]) < _STRANGERS):
        raise InputError(
            f"unrelated: got {len(read[-1])} texts and {len(read) - 1} lists; expected at least "
            f"{_STRANGERS}, and two lists"
        )
    if language == AUTO:
        language = _recognized(read)
    if encoder is None or encoder == AUTO:
        encoder = affordable_encoder(sum(map(len, read)), language)
    opened = None if encoder == TEXT_ALONE else open_encoder(encoder)
    sides = [
        Texts(
            texts,
            [*map(str, range(len(texts)) if ids is None else ids)],
            None if opened is None else opened.encode(texts),
        )
        for (_, _, ids), texts in zip(lists, read, strict=True)
    ]
    is_short = right is not None and _STRANGERS <= len(read[1]) <= _MOST_NEAR
    near = draw_decoys(read[1], language, seed=13)[1] if is_short else []
    return match_texts(
        sides[0],
        None if right is None else sides[1],
        precision=precision,
        rate=false_match_rate,
        many_to_one=many_to_one,
        unrelated=None if unrelated is None else sides[-1],
        near=Texts(near, near, opened.encode(near) if opened else None) if near else None,
        veto=veto,
        language=language,
        executor=executor,
    )


@contextmanager
def opened_encoder(
    texts: Sequence[str], encoder: str | Encoder | None, language: str, seed: int
) -> Iterator[tuple[PretrainedEncoder, bool]]:
    """Yield the encoder that is meant, and whether it is learned from the texts, as for `none`."""
    values = {"seed": seed, "corpus.language": language}
    if encoder is None or encoder == AUTO:
        with _run_of(texts, values) as run:
            encoder = with_chosen_encoder(run).settings.encoder.model
    if encoder != TEXT_ALONE:
        yield open_encoder(encoder), False
        return
    with _run_of(texts, values | {"corpus.held_out_fraction": 0.0}) as run:
        build_static_encoder(run)
        yield open_encoder(str(run.folder(STATIC))), True


@contextmanager
def _run_of(texts: Sequence[str], values: Mapping[str, object]) -> Iterator[Run]:
    """Yield a run of the distinct texts with their words and questions, which is then removed."""
    with TemporaryDirectory(prefix="firth-") as folder:
        run = Run.create(Path(folder) / "run", parse_settings(values, "settings"))
        distinct = dict.fromkeys(text for text in texts if text.strip())
        records = [{"id": f"{i}", "text": text} for i, text in enumerate(distinct)]
        with silenced():
            build_corpus(run, records)
            build_words(run)
            build_questions(run)
        yield run
