"""Reasons on the screen: plain sentences first, then what they rest on, in per cent and bars."""

import shutil
import textwrap
from collections.abc import Sequence

from firth.origin.evidence import (
    NUMBERS,
    THEMES,
    WORDS,
    Knowledge,
    ThemeShare,
    both,
    named,
    percent_of,
)
from firth.origin.reasons import Reasons
from firth.run.screen import say, say_styled

_BAR, _LABEL = 20, 34
_STYLES = {True: "green", False: "red"}


def show_reasons(found: Reasons, top: int, meaning: str = "") -> None:
    """Print a score, what it is the sum of, and what has no counterpart.

    Args:
        found: The reasons.
        top: Themes and words of each part to show.
        meaning: Of the score, in words; "" if it is not known.
    """
    width = min(shutil.get_terminal_size().columns, 100)
    for number, sentence in (("1: ", found.sentence1), ("2: ", found.sentence2)):
        _wrapped(sentence, width, number, "bold")
    say()
    _wrapped(found.told, width)
    say()
    _wrapped(found.summary, width, style="bold")
    if meaning:
        _wrapped(meaning, width, style="dim")
    if found.knowledge is Knowledge.NONE:
        return
    for name, part in found.parts.items():
        say()
        say_styled(
            (_HEADS.get(name, "Equal texts").ljust(_LABEL), "bold"), *_amount(found, part.added)
        )
        if name == NUMBERS:  # which, the sentence above has said
            continue
        listed = 0.0
        if name == THEMES:
            for share in found.themes[:top]:
                listed += share.added
                _row(found, _head(share), share.added)
                if words := found.carried(share):
                    _wrapped(f"by {', '.join(words)}", width, " " * 6)
                if share.contexts:
                    context = share.contexts[0]
                    _wrapped(f"{context.sentence} ({context.document})", width, " " * 6, "dim")
        elif name == WORDS:
            for meeting in found.meetings[:top]:
                listed += meeting.added
                _row(found, both(meeting), meeting.added)
        _row(found, "rest", part.added - listed)
    if WORDS not in found.parts and found.words1:
        _by_word(found, top)
    _show_alone(found.alone1, "first", width)
    _show_alone(found.alone2, "second", width)


_HEADS = {
    THEMES: "Where both would stand",
    WORDS: "Words that meet",
    NUMBERS: "Numbers that differ",
}


def _head(share: ThemeShare) -> str:
    """As many of a theme's words as there is room for."""
    heads = [named(share.theme, count) for count in (4, 3, 2, 1)]
    return next((head for head in heads if len(head) <= _LABEL - 3), heads[-1])


def _by_word(found: Reasons, top: int) -> None:
    """The same score again, by the words it hangs on, where these are no part beside the others."""
    hanging = [
        (f"{word.text} ({side})", word.added)
        for side, words in ((1, found.words1), (2, found.words2))
        for word in words
        if word.added is not None and not word.empty
    ]
    shown = sorted(hanging, key=lambda each: -abs(each[1]))[: 2 * top]
    say()
    how = "by word" if found.exact else "how far it falls without the word"
    say_styled((f"The same score, {how}", "bold"))
    for label, added in shown:
        _row(found, label, added)
    if found.exact:
        _row(found, "rest", found.similarity - sum(added for _, added in shown))


def _show_alone(shares: Sequence[ThemeShare], which: str, width: int) -> None:
    if shares:
        say()
        say_styled((f"Only the {which} would stand where", "bold"))
        for share in shares:
            _wrapped(named(share.theme, 4), width, "  ")
            for typical in share.theme.typical[:1]:
                _wrapped(typical, width, " " * 6, "dim")


def _row(found: Reasons, label: str, added: float) -> None:
    if len(label) > _LABEL - 3:
        label = label[: _LABEL - 4].rstrip() + "…"
    say_styled((f"  {label}".ljust(_LABEL), ""), *_amount(found, added))


def _amount(found: Reasons, added: float) -> list[tuple[str, str]]:
    """An amount, its share of the score, and a bar as long as that."""
    percent = percent_of(found.similarity, added)
    spans = [(f"{added:+.3f}", "")]
    if percent is not None:
        bar = "█" * min(_BAR, round(abs(percent) * _BAR / 100))
        spans += [(f" {percent:4.0f} % ", ""), (bar, _STYLES[percent >= 0])]
    return spans


def _wrapped(text: str, width: int, first: str = "", style: str = "") -> None:
    indent = " " * len(first)
    for line in textwrap.wrap(text, width, initial_indent=first, subsequent_indent=indent) or [
        first
    ]:
        say_styled((line, style))
