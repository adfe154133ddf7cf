"""The questionnaire as a CSV for crowd platforms: a row a question, with the texts in it."""

from collections.abc import Iterator
from pathlib import Path

from firth.relatedness.bws.files import write_rows
from firth.relatedness.bws.records import Tuple
from firth.relatedness.questionnaire.plan import Questionnaire


def write_crowd(path: Path, questionnaire: Questionnaire) -> int:
    """Write a row a tuple, in the order in which they are to be asked, and return how many.

    Columns: `tuple`; for each place k `itemK` (the id) and its texts (`itemK_text`, or
    `itemK_text1`, `itemK_text2`, … where items have several); `gold` (`true` or `false`),
    `gold_best`, `gold_worst` (ids, empty unless gold). Gold questions stand at every
    `gold_every`-th row, as long as there are any; what is left of them comes at the end.

    Raises:
        InputError: The file cannot be written.
    """
    width = len(questionnaire.tuples[0].items)
    texts = max(len(item.texts) for item in questionnaire.items.values())
    names = ["text"] if texts == 1 else [f"text{number}" for number in range(1, texts + 1)]
    header = ["tuple"]
    for place in range(1, width + 1):
        header += [f"item{place}", *(f"item{place}_{name}" for name in names)]
    rows = [_row(one, questionnaire, texts) for one in _in_order(questionnaire)]
    write_rows(path, [*header, "gold", "gold_best", "gold_worst"], rows)
    return len(rows)


def _in_order(questionnaire: Questionnaire) -> Iterator[Tuple]:
    gold = [one for one in questionnaire.tuples if one.id in questionnaire.gold]
    others = [one for one in questionnaire.tuples if one.id not in questionnaire.gold]
    for number, one in enumerate(others, start=1):
        yield one
        if gold and number % (questionnaire.rules.gold_every - 1) == 0:
            yield gold.pop(0)
    yield from gold


def _row(one: Tuple, questionnaire: Questionnaire, texts: int) -> list[str]:
    cells = [one.id]
    for name in one.items:
        item = questionnaire.items[name]
        cells += [name, *item.texts, *[""] * (texts - len(item.texts))]
    gold = questionnaire.gold.get(one.id)
    return [*cells, *(("false", "", "") if gold is None else ("true", gold.best, gold.worst))]
