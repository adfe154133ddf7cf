"""Fair shares for clients: whose turn it is, and who may come in. A client is an address."""

import ipaddress
from collections import Counter, deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
_PREFIX = 64
"""Bits of an IPv6 address that name a client, who may take any address below."""


def client_of(address: str) -> str:
    """Return the client of an address.

    Example:
        >>> client_of("10.0.0.7"), client_of("2001:db8::7")
        ('10.0.0.7', '2001:db8::/64')
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if known.version == 4:
        return address
    return str(ipaddress.ip_network((int(known), _PREFIX), strict=False))


class Turns(Generic[T]):
    """Waiting work, of which that of the client who has used least time is next.

    It is start-time fair queueing (Goyal, Vin & Cheng 1996): a client who comes, or comes back,
    begins at the time of who is served then, and saves nothing up. At most `most` items wait or are
    in progress.
    """

    def __init__(self, most: int) -> None:
        self._most, self._now = most, 0.0
        self._used: dict[str, float] = {}
        self._waiting: dict[str, deque[T]] = {}
        self._running: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return the number of items that wait or are in progress."""
        return sum(map(len, self._waiting.values())) + self._running.total()

    def add(self, client: str, item: T) -> T | None:
        """Add an item. Return the one that is sent away, if there are too many.

        It is the last of the client who has most of them.
        """
        self._used[client] = max(self._used.get(client, 0.0), self._now)
        self._waiting.setdefault(client, deque()).append(item)
        if len(self) <= self._most:
            return None
        largest = max(self._waiting, key=lambda name: (self._count(name), name == client))
        last = self._waiting[largest][-1]
        self.remove(largest, last)
        return last

    def _count(self, client: str) -> int:
        return len(self._waiting[client]) + self._running[client]

    def next(self, fits: Callable[[T], bool] = lambda _: True) -> tuple[str, T] | None:
        """Return the client whose turn it is and its first item, which is in progress then.

        Clients whose first item does not fit are passed over. None is left where none fits.
        """
        for client in sorted(self._waiting, key=self._used.__getitem__):
            item = self._waiting[client][0]
            if fits(item):
                self._now = max(self._now, self._used[client])
                self.remove(client, item)
                self._running[client] += 1
                return client, item
        return None

    def end(self, client: str, seconds: float) -> None:
        """Note that an item in progress has ended, and what it used."""
        self._used[client] = self._used.get(client, self._now) + seconds
        self._running -= Counter([client])
        busy = {*self._waiting, *self._running}
        self._used = {name: t for name, t in self._used.items() if t > self._now or name in busy}

    def remove(self, client: str, item: T) -> None:
        """Forget an item that waits; one that does not is ignored."""
        waiting = self._waiting.get(client, deque())
        if item in waiting:
            waiting.remove(item)
            if not waiting:
                del self._waiting[client]


class Seats:
    """Connections at a time: a client may have half of those that others leave, so all never go."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    @property
    def is_full(self) -> bool:
        """Whether nobody may come in."""
        return self._taken.total() >= self._most

    def take(self, client: str) -> bool:
        """Take a seat; return whether the client gets one."""
        mine = self._taken[client]
        others = self._taken.total() - mine
        if self.is_full or mine >= max(1, (self._most - others) // 2):
            return False
        self._taken[client] += 1
        return True

    def leave(self, client: str) -> None:
        """Give a seat back."""
        self._taken -= Counter([client])
