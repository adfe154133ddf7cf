"""Reasons as a page of HTML: one file, no script, nothing from elsewhere; light and dark."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from firth.origin.evidence import ThemeShare, Word, named, percent_of
from firth.run.screen import escaped

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #667; --line: #d8dde3;
  --more: 46, 125, 80; --less: 190, 60, 50; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --paper: #15181c; --faint: #9aa3ad;
  --line: #343a42; --more: 96, 190, 130; --less: 235, 110, 100; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
article { border-bottom: 1px solid var(--line); padding: 1rem 0; }
.text { font-size: 1.1rem; margin: .2rem 0; } .faint { color: var(--faint); font-size: .9rem; }
mark { color: inherit; border-radius: .2rem; padding: 0 .1rem; }
mark.alone { text-decoration: underline dotted var(--faint); }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; font-weight: 600; }
td, th { padding: .2rem .4rem; vertical-align: top; text-align: left; font-weight: normal; }
td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.b { width: 8rem; } i.bar { display: block; height: .7rem; margin-top: .4rem;
  border-radius: .2rem; background: rgb(var(--more)); } i.less { background: rgb(var(--less)); }
"""
_WORD = re.compile(r"\w+(?:['\u2019]t\b)?")


def document(title: str, articles: Iterable[str]) -> str:
    """A page of articles, which are HTML already."""
    inside = "".join(f"<article>{each}</article>\n" for each in articles)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{safe(title)}</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>{safe(title)}</h1>\n{inside}</body></html>\n"
    )


def coloured(sentence: str, words: Sequence[Word], most: float) -> str:
    """The text, its words on a ground as strong as what hangs on them; dots under what is left."""
    known = {word.text.lower().replace("\u2019", "'"): word for word in words}
    done, last = "", 0
    for match in _WORD.finditer(sentence):
        word = known.get(match[0].lower().replace("\u2019", "'"))
        if word is None:
            continue
        added = word.added or 0.0
        kind = "more" if added >= 0 else "less"
        ground = f"rgba(var(--{kind}), {0.6 * abs(added) / most if most else 0:.2f})"
        alone = "" if word.met or word.empty else ' class="alone"'
        about = "" if word.added is None else f' title="{added:+.3f}"'
        done += safe(sentence[last : match.start()])
        done += f'<mark{alone}{about} style="background: {ground}">{safe(match[0])}</mark>'
        last = match.end()
    return done + safe(sentence[last:])


def drawn_theme(share: ThemeShare) -> str:
    """The words of a theme, and a sentence of it."""
    shown = [f"{each.sentence} ({each.document})" for each in share.contexts[:1]]
    lines = "".join(
        f'<br><span class="faint">{safe(line)}</span>' for line in shown or share.theme.typical[:1]
    )
    return f"{safe(named(share.theme, 5))}{lines}"


def table(title: str, rows: Sequence[tuple[str, float]], rest: float, score: float) -> str:
    """Amounts, each a label in HTML and what it adds, and their rest, in per cent of a score."""
    cells = []
    for label, added in [*rows, ("rest", rest)]:
        percent = percent_of(score, added)
        told = "" if percent is None else f"{percent:.0f} %"
        kind = "bar" if added >= 0 else "bar less"
        wide = min(100.0, abs(percent or 0.0))
        cells.append(
            f'<tr><th scope="row">{label}</th>'
            f'<td class="n">{added:+.3f}</td><td class="n">{told}</td>'
            f'<td class="b"><i class="{kind}" style="width: {wide:.0f}%"></i></td></tr>'
        )
    return f"<table><caption>{safe(title)}</caption>{''.join(cells)}</table>"


def safe(text: str) -> str:
    """A text that is neither markup nor acts on a reader."""
    return escape(escaped(text))
