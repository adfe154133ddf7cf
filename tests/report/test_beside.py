"""When a model helps: what is right where tf-idf is wrong, and the other way round."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import find_task
from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair
from firth.report.beside import beside

N = 40


class Known:
    """Gives the scores it was made with."""

    name = "known"

    def __init__(self, scores: Sequence[float]) -> None:
        self._scores = np.array(scores, np.float64)

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """The scores, whatever the pairs."""
        assert len(pairs) == len(self._scores)
        return self._scores


def rated(n: int = N) -> EvaluationSet:
    """Pairs that are rated 0, 1, 2, …"""
    rows = tuple(Row((f"one {i}", f"two {i}"), float(i)) for i in range(n))
    return EvaluationSet(find_task("sts-b")[0], "dev", rows, "made up")


def test_who_is_right_is_listed_and_counted() -> None:
    """A model that agrees with people helps where tf-idf does not, and nowhere hurts."""
    turned = [float(N - i) for i in range(N)]
    found = beside(rated(), Known([10.0 * i for i in range(N)]), Known(turned), 3, seed=5)
    assert (found.nearer, found.farther) == (N, 0)
    assert "Origin beats tf-idf" in found.verdict
    assert found.hurt == ()
    ends = {0, 1, N - 2, N - 1}
    assert {each.sentence1 for each in found.helped} <= {f"one {number}" for number in ends}
    assert all(each.rated == each.model for each in found.helped)


@settings(max_examples=15)
@given(st.lists(st.floats(0, 1), min_size=2 * N, max_size=2 * N))
def test_turned_round_it_tells_the_same(scores: list[float]) -> None:
    """What the one has right and the other wrong, changes sides with them; scales do not matter."""
    data, one, two = rated(), scores[:N], scores[N:]
    found = beside(data, Known(one), Known(two), 5, seed=5)
    turned = beside(data, Known(two), Known(one), 5, seed=5)
    assert (found.nearer, found.farther) == (turned.farther, turned.nearer)
    assert [each.sentence1 for each in found.helped] == [each.sentence1 for each in turned.hurt]
    assert found.nearer + found.farther <= N
