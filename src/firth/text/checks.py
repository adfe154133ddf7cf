"""What is a text, and what is not."""

from collections.abc import Iterable, Mapping, Sequence

from firth.run.errors import InputError


def checked(pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Return the pairs; an `InputError` names the first item that is not two texts."""
    for number, pair in enumerate(pairs):
        # A string is a sequence of strings too, so it is refused by type.
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InputError(f"pair {number}: got {pair!r:.80}; expected two texts")
        for side in pair:
            checked_text(side, f"pair {number}", "two texts")
    return pairs


def checked_text(text: object, where: str, expected: str = "a text") -> str:
    """Return a text; an `InputError` says what came at a place instead.

    Half of a pair of surrogates is no character, and has no UTF-8 form.
    """
    if not isinstance(text, str):
        raise InputError(f"{where}: got {text!r:.80}; expected {expected}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{where}: the text has half of a character (a lone surrogate) at {error.start}; "
                "expected whole characters. text.encode('utf-8', 'replace').decode() replaces it"
            ) from None
    return text


def checked_texts(texts: object, where: str) -> list[str]:
    """Return a list of texts; an `InputError` names what is no text, and refuses a single one."""
    is_table = isinstance(texts, Mapping) or hasattr(texts, "columns")
    if isinstance(texts, str | bytes) or is_table or not isinstance(texts, Iterable):
        raise InputError(f"{where}: got {texts!r:.80}; expected a list of texts")
    return [checked_text(text, f"{where}, text {n}") for n, text in enumerate(texts)]
