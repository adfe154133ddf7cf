"""Fair shares: turns compared with what each client used, and seats with a simple count."""

from collections import Counter, deque

from hypothesis import given
from hypothesis import strategies as st

from firth.serve.turns import Seats, Turns, client_of

CLIENTS = st.sampled_from(["a", "b", "c"])


def test_a_client_is_an_address_or_a_network() -> None:
    """Whoever has a network of IPv6 has all of its addresses."""
    assert client_of("10.0.0.1") != client_of("10.0.0.2")
    assert client_of("2001:db8::1") == client_of("2001:db8::ffff:1") != client_of("2001:db9::1")
    assert client_of("") == ""


@given(st.lists(st.tuples(CLIENTS, st.floats(0.001, 1.0)), min_size=1, max_size=60))
def test_clients_that_wait_get_equal_time(items: list[tuple[str, float]]) -> None:
    """Of two that wait all the time, none gets more than one item of each beyond the other.

    Items of a client come in its order, and all come.
    """
    turns, queues = Turns[tuple[str, float]](1_000), dict[str, deque[tuple[str, float]]]()
    for item in items:
        assert turns.add(item[0], item) is None
        queues.setdefault(item[0], deque()).append(item)
    used = dict.fromkeys(queues, 0.0)
    longest = max(seconds for _, seconds in items)
    while turn := turns.next():
        client, item = turn
        assert item is queues[client].popleft()
        for other, queue in queues.items():
            if queue:
                assert used[client] <= used[other] + 1e-9, "who used less comes first"
        used[client] += item[1]
        turns.end(client, item[1])
        waiting = [used[name] for name, queue in queues.items() if queue]
        if waiting:
            assert max(waiting) - min(waiting) <= longest + 1e-9
    assert not any(queues.values())
    assert len(turns) == 0


def test_who_comes_is_next() -> None:
    """However much another client has sent; and nobody saves time up by waiting."""
    turns = Turns[int](100)
    for number in range(50):
        turns.add("greedy", number)
    for number in range(10):
        assert turns.next() == ("greedy", number)
        turns.end("greedy", 1.0)
    turns.add("new", 100)
    turns.add("new", 101)
    assert turns.next() == ("new", 100)
    turns.end("new", 1.5)
    assert turns.next() == ("greedy", 10)
    turns.end("greedy", 1.0)
    assert turns.next() == ("new", 101)


@given(st.lists(CLIENTS, max_size=60), st.integers(1, 8))
def test_who_has_most_is_sent_away(clients: list[str], most: int) -> None:
    """There are never more than `most`; the last item of the client that has most goes."""
    turns, model = Turns[int](most), Counter[str]()
    for number, client in enumerate(clients):
        away = turns.add(client, number)
        model[client] += 1
        if away is None:
            assert model.total() <= most
        else:
            largest = clients[away]
            assert model[largest] == max(model.values())
            model[largest] -= 1
        assert len(turns) == model.total() <= most


def test_an_item_that_does_not_fit_is_passed_over() -> None:
    """The next client's first item is taken; none is where nothing fits."""
    turns = Turns[int](10)
    turns.add("a", 1)
    turns.add("b", 2)
    assert turns.next(lambda item: item == 2) == ("b", 2)
    assert turns.next(lambda item: item == 2) is None
    turns.remove("a", 1)
    assert turns.next() is None


@given(st.lists(st.tuples(st.booleans(), CLIENTS), max_size=80), st.integers(2, 12))
def test_seats(moves: list[tuple[bool, str]], most: int) -> None:
    """A client that takes all it gets leaves a seat for another, and what is given back is free."""
    seats, taken = Seats(most), Counter[str]()
    for comes, client in moves:
        if comes:
            others = taken.total() - taken[client]
            got = seats.take(client)
            assert got == (taken.total() < most and taken[client] < max(1, (most - others) // 2))
            taken[client] += got
        elif taken[client]:
            seats.leave(client)
            taken[client] -= 1
        assert seats.is_full == (taken.total() == most)
    greedy = Seats(64)
    while greedy.take("greedy"):
        pass
    assert greedy.take("another")
