"""An engine is `map`, of work: in order, as room comes, opened once if there is a shard at all."""

from collections.abc import Callable, Iterator

from firth.run.engine import HERE


class Doubling:
    """Counts how often it is opened."""

    def __init__(self) -> None:
        self.opened = 0

    def open(self) -> Callable[[int], int]:
        self.opened += 1
        return lambda shard: 2 * shard


def test_this_process_is_an_engine() -> None:
    """One shard after the other; none is taken before it is asked for."""
    taken: list[int] = []

    def shards() -> Iterator[int]:
        for shard in range(4):
            taken.append(shard)
            yield shard

    work = Doubling()
    made = HERE.map(work, shards())
    assert (next(made), taken, work.opened) == (0, [0], 1)
    assert list(made) == [2, 4, 6]
    assert work.opened == 1


def test_nothing_is_opened_for_nothing() -> None:
    """Models that nobody asks stay closed."""
    work = Doubling()
    assert list(HERE.map(work, [])) == []
    assert work.opened == 0
