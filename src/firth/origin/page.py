"""Reasons as a page of HTML: one file, no script, nothing from elsewhere; light and dark.

It looks as the page of `firth serve` does: both are drawn with one style sheet.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources

from firth.origin.evidence import ThemeShare, Word, named, percent_of
from firth.run.screen import escaped

REST = "rest"
_NAMES = {
    "words": "Words that meet",
    "themes": "Themes",
    "numbers": "Numbers that differ",
    "equal": "Equal texts",
    REST: "Rest",
}
_WORD = re.compile(r"\w+(?:['\u2019]t\b)?")
_STRONGEST = 0.6
"""Of the ground of the word on which most hangs, in [0, 1]."""
_SHOWN_CONTEXTS = 3


@cache
def style() -> str:
    """The style sheet; a page with it needs no file beside it."""
    return resources.files("firth").joinpath("serve/static/style.css").read_text(encoding="utf-8")


def document(title: str, articles: Iterable[str]) -> str:
    """A page of articles, which are HTML already."""
    inside = "".join(f"<article>{each}</article>\n" for each in articles)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{safe(title)}</title><style>{style()}</style></head><body>\n"
        f"<h1>{safe(title)}</h1>\n{inside}</body></html>\n"
    )


def coloured(
    sentence: str, words: Sequence[Word], met: Mapping[str, Sequence[int]], most: float
) -> str:
    """The text, its words on a ground as strong as what hangs on them; dots under what is left.

    Args:
        sentence: The text.
        words: Its words.
        met: Word, as `plain` has it → numbers of the meetings that it has part in.
        most: The largest amount that hangs on a word.
    """
    known = {plain(word.text): word for word in words}
    done, last = "", 0
    for match in _WORD.finditer(sentence):
        word = known.get(plain(match[0]))
        if word is None:
            continue
        added = word.added or 0.0
        kinds = {
            "less": added < 0,
            "alone": not (word.met or word.empty),
            "unknown": not word.known,
        }
        kind = " ".join(name for name, holds in kinds.items() if holds)
        about = "" if word.added is None else f' title="{added:+.3f}"'
        strength = _STRONGEST * abs(added) / most if most else 0.0
        numbers = ",".join(str(number) for number in met.get(plain(word.text), ()))
        done += safe(sentence[last : match.start()])
        done += (
            f'<mark class="{kind}"{about} style="--strength: {strength:.2f}">{safe(match[0])}'
            f"{f'<sup>{numbers}</sup>' if numbers else ''}</mark>"
        )
        last = match.end()
    return f'<p class="text" dir="auto">{done}{safe(sentence[last:])}</p>'


def plain(word: str) -> str:
    """A word as it is looked up."""
    return word.lower().replace("\u2019", "'")


def stacked(parts: Mapping[str, float]) -> str:
    """What a score is the sum of, as one bar with its legend: name of a part → amount."""
    whole = math.fsum(map(abs, parts.values())) or 1.0
    bars = "".join(
        f'<i class="{safe(name)}{" less" if added < 0 else ""}" '
        f'style="--size: {100 * abs(added) / whole:.2f}"></i>'
        for name, added in parts.items()
    )
    keys = "".join(
        f'<li class="{safe(name)}"><i class="key"></i>{safe(_NAMES.get(name, name))} '
        f"{added:+.3f}</li>"
        for name, added in parts.items()
    )
    return f'<div class="stack" aria-hidden="true">{bars}</div><ul class="legend">{keys}</ul>'


def theme_inside(share: ThemeShare, by: Sequence[str]) -> str:
    """What unfolds below a theme: the words it is by, and the corpus sentences behind it."""
    lines = [
        f'<span dir="auto">{safe(each.sentence)}</span> ({safe(each.document)}) {each.added:+.3f}'
        for each in share.contexts[:_SHOWN_CONTEXTS]
    ] or [f'<span dir="auto">{safe(text)}</span>' for text in share.theme.typical[:1]]
    words = f"<p>By {safe(', '.join(by))}.</p>" if by else ""
    return f"{words}<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"


def theme_alone(share: ThemeShare) -> str:
    """A theme of one text: its words, and a typical sentence."""
    typical = "".join(
        f'<br><span class="soft small">{safe(text)}</span>' for text in share.theme.typical[:1]
    )
    return f"<li>{safe(named(share.theme, 4))}{typical}</li>"


def amounts(title: str, rows: Sequence[tuple[str, float, str]], rest: float, score: float) -> str:
    """Amounts and their rest, in per cent of a score: label and what unfolds below, in HTML."""
    lines = []
    for label, added, inside in [*rows, (REST, rest, "")]:
        percent = percent_of(score, added)
        told = "" if percent is None else f"{percent:.0f} %"
        cells = (
            f'<span>{label}</span><span class="number">{added:+.3f}</span>'
            f'<span class="number soft">{told}</span><i class="bar{" less" * (added < 0)}" '
            f'style="--size: {min(100.0, abs(percent or 0.0)):.1f}"></i>'
        )
        if inside:
            line = f'<details><summary class="row">{cells}</summary><div class="inside small">'
            lines.append(f"<li>{line}{inside}</div></details></li>")
        else:
            lines.append(f'<li class="row">{cells}</li>')
    return f'<h3>{safe(title)}</h3><ul class="amounts">{"".join(lines)}</ul>'


def safe(text: str) -> str:
    """A text that is neither markup nor acts on a reader."""
    return escape(escaped(text))
