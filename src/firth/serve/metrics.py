"""Counts of a service in Prometheus' text format.

The format is a few lines of text, and there is one process: prometheus-client would bring a
registry that all of a process shares.
"""

from collections import Counter
from collections.abc import Iterator

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """What was answered, and in which time."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, Counter[float]] = {}
        self._seconds: dict[str, float] = {}
        self._batches, self._texts = 0, 0

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count an answer.

        Args:
            path: As the service names it, so that there are few.
            status: Of HTTP.
            seconds: From request to answer.
        """
        self._answers[path, status] += 1
        self._seconds[path] = self._seconds.get(path, 0.0) + seconds
        times = self._times.setdefault(path, Counter())
        for most in _SECONDS:
            times[most] += seconds <= most

    def encoded(self, texts: int) -> None:
        """Count a batch of so many texts."""
        self._batches += 1
        self._texts += texts

    def text(self, under_way: int) -> str:
        """All of it, for Prometheus; with how many requests are under way."""
        return "".join(f"{line}\n" for line in self._lines(under_way))

    def _lines(self, under_way: int) -> Iterator[str]:
        yield from _head("firth_requests_total", "counter", "Requests that were answered.")
        for (path, status), count in sorted(self._answers.items()):
            yield f'firth_requests_total{{path="{path}",status="{status}"}} {count}'
        name = "firth_request_seconds"
        yield from _head(name, "histogram", "Seconds from request to answer.")
        for path, times in sorted(self._times.items()):
            count = sum(n for (of, _), n in self._answers.items() if of == path)
            for most in _SECONDS:
                yield f'{name}_bucket{{path="{path}",le="{most:g}"}} {times[most]}'
            yield f'{name}_bucket{{path="{path}",le="+Inf"}} {count}'
            yield f'{name}_sum{{path="{path}"}} {self._seconds[path]:.6f}'
            yield f'{name}_count{{path="{path}"}} {count}'
        yield from _head("firth_requests_under_way", "gauge", "Requests that wait or are answered.")
        yield f"firth_requests_under_way {under_way}"
        yield from _head("firth_batches_total", "counter", "Batches that were encoded.")
        yield f"firth_batches_total {self._batches}"
        yield from _head("firth_encoded_texts_total", "counter", "Texts that were encoded.")
        yield f"firth_encoded_texts_total {self._texts}"


def _head(name: str, kind: str, told: str) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"
