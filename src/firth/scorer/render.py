"""Explanations as text, HTML and JSON, all from the rows of an explanation.

A page is one HTML file without scripts or addresses, for light and dark screens. The report and
the web app show the same articles with the same style sheet.
"""

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.run.console import escaped, wrapped
from firth.run.errors import InputError
from firth.run.outputs import write_file
from firth.text.words import spans

if TYPE_CHECKING:
    from firth.scorer.explanation import ContextShare, Explanation, Row, Word

_PARTS = {
    "words": "Aligned words",
    "topics": "Shared subject",
    "contexts": "Contexts",
    "equal": "Equal texts",
}
_TABLE = (
    "<p>{{ heading }}</p><table><tr>{% for c in columns %}<th>{{ c }}</th>{% endfor %}</tr>"
    "{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>"
    "{% endfor %}</table>"
)
_RESEMBLED = "Sentences of the corpus that both resemble:"
_SHOWN = 3
_STRONGEST = 0.6
"""Opacity of the background of the word with the largest contribution."""
_LABEL = 34
_SMALL, _SHARE = 0.01, 0.03
"""Evidence below these amounts, of a score and as a share of it, is left out of sentences."""


# --- Text --------------------------------------------------------------------------------------


def sentences(explanation: "Explanation") -> str:
    """Return an explanation in plain sentences."""
    e = explanation
    said = [f"Similarity {e.score:.2f}."]
    if e.knowledge != "both":
        said.append(_without_knowledge(e))
    if e.knowledge != "none":
        least = _SHARE * abs(e.score)
        matches = [each for each in e.word_matches if each.contribution >= least][:4]
        if matches:
            listed = ", ".join(f"{each} ({each.contribution:.2f})" for each in matches)
            said.append(f"Aligned words: {listed}.")
        if topics := [each for each in e.topics if each.contribution >= max(_SMALL, least)][:2]:
            listed = "; ".join(f"{each.name()} ({each.contribution:.2f})" for each in topics)
            said.append(f"Shared topics: {listed}.")
        said += [
            f"Only in sentence {side}: {', '.join(left)}."
            for side, left in enumerate(e.unmatched, start=1)
            if left
        ]
    if cautions := e.cautions:
        said.append(f"Caution: {'; '.join(cautions)}.")
    return " ".join(said)


def resembled(e: "Explanation") -> tuple["ContextShare", ...]:
    """Return the corpus sentences that are shown as resembling both texts."""
    return () if "contexts" in e.parts or e.knowledge == "none" else e.contexts[:_SHOWN]


def _without_knowledge(e: "Explanation") -> str:
    unknown = f" ({', '.join(e.unknown[:5])})" if e.unknown else ""
    if e.text1 == e.text2:
        return "The texts are equal."
    if e.knowledge == "spelling":
        return f"The corpus knows little of these texts{unknown}: the score compares spelling."
    return f"A text has no content word that the corpus knows{unknown}: the score says nothing."


def lines(explanation: "Explanation") -> str:
    """Return an explanation as lines of text: both texts, the sentences, and one line per row."""
    e = explanation
    shown = [f"1: {e.text1}", f"2: {e.text2}", "", e.text]
    if resembled(e):
        shown += ["", _RESEMBLED, *(f"  {each.text} ({each.source})" for each in resembled(e))]
    shown += ["", e.equation]
    by_part: dict[str, list[Row]] = {}
    for row in e.rows:
        by_part.setdefault(row.part, []).append(row)
    for name, rows in by_part.items():
        whole = math.fsum(row.contribution for row in rows)
        shown += ["", f"{_PARTS.get(name, name):<{_LABEL + 4}}{whole:+.3f}"]
        for row in rows:
            percent = f"{100 * row.contribution / e.score:7.0f} %" if abs(e.score) > _SMALL else ""
            label = row.label if len(row.label) <= _LABEL else f"{row.label[: _LABEL - 1]}…"
            shown.append(f"  {label:<{_LABEL + 2}}{row.contribution:+.3f}{percent}")
            shown += [f"      {note}" for note in row.notes[:2]]
    return wrapped(escaped("\n".join(shown)))


# --- HTML --------------------------------------------------------------------------------------


@cache
def style() -> str:
    """Return the style sheet of explanations and of pages around them."""
    return _file("style.css")


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def template(text: str, **options: Any) -> Any:
    """Return a template in which texts are escaped; those in `Markup` are HTML.

    Characters that act on a reader, as by changing the reading order, are spelled out.
    """
    from jinja2 import Environment

    def plain(value: object) -> object:
        return escaped(value) if type(value) is str else value

    return Environment(autoescape=True, finalize=plain, **options).from_string(text)


@cache
def _template() -> Any:
    return template(_file("explanation.html"))


def html(explanations: Sequence["Explanation"], title: str | None = None) -> str:
    """Return explanations as a page with a title, which needs no other file.

    Without a title they are articles for a page that has the style sheet `style()`.
    """
    text: str = _template().render(
        explanations=explanations,
        title=title,
        style=style(),
        titles=_PARTS,
        pieces=_pieces,
        resembled=resembled,
        resembled_title=_RESEMBLED,
    )
    return text


def notebook(article: str) -> str:
    """Return HTML with the style sheet in front, for the output of a notebook."""
    return f"<style>{style()}</style>{article}"


def html_table(heading: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a heading and a table as HTML; every text is escaped."""
    text: str = template(_TABLE).render(heading=heading, columns=columns, rows=rows)
    return notebook(text)


def _pieces(e: "Explanation", side: int) -> list[tuple[str, "Word | None", str, float]]:
    """Cut a text into pieces: text, word or None, numbers of word matches, opacity behind it."""
    text, words = (e.text1, e.words1) if side == 0 else (e.text2, e.words2)
    known = {_plain(word.text): word for word in words}
    largest = max((abs(w.contribution or 0.0) for w in (*e.words1, *e.words2)), default=0.0)
    numbers: dict[str, list[str]] = {}
    for number, match in enumerate(e.word_matches, start=1):
        numbers.setdefault(_plain((match.word1, match.word2)[side]), []).append(str(number))
    pieces: list[tuple[str, Word | None, str, float]] = []
    last = 0
    for start, end in spans(text):
        if _plain(text[start : end + 2]).endswith("n't"):  # `spans` sees two words
            end += 2
        word = known.get(_plain(text[start:end]))
        if word is not None and start >= last:  # pairs of characters overlap
            strength = _STRONGEST * abs(word.contribution or 0.0) / largest if largest else 0.0
            matches = ",".join(numbers.get(_plain(word.text), ()))
            pieces.append((text[last:start], None, "", 0.0))
            pieces.append((text[start:end], word, matches, strength))
            last = end
    return [*pieces, (text[last:], None, "", 0.0)]


def _plain(word: str) -> str:
    return word.lower().replace("\u2019", "'")


# --- Files -------------------------------------------------------------------------------------


def save(explanations: Sequence["Explanation"], path: Path, force: bool = False) -> Path:
    """Write explanations to a file; its extension (.html, .json or .txt) chooses the form."""
    match path.suffix.lower():
        case ".html" | ".htm":
            text = html(explanations, "Explanations")
        case ".json":
            values = [each.as_dict() for each in explanations]
            text = json.dumps(values[0] if len(values) == 1 else values, indent=2) + "\n"
        case ".txt":
            text = "\n\n\n".join(map(lines, explanations)) + "\n"
        case other:
            raise InputError(
                f"{path}: got the extension {other!r}; expected .html, .json or .txt, "
                "which chooses the form of the explanation"
            )
    write_file(path, text, force)
    return path
