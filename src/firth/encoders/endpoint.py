"""An encoder behind an address that speaks as OpenAI's embeddings do, such as Ollama or vLLM.

Its name is the address and the model, as `http://localhost:11434/v1#nomic-embed-text`. It is
contacted where a run that names it encodes texts. Every vector is kept in the cache of the user, so
that no text is sent twice, though a process was killed.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from http.client import HTTPException
from threading import Lock
from time import sleep
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np

from firth.encoders.encoder import PretrainedEncoder
from firth.encoders.kinds import EncoderKind
from firth.run.console import Progress, note
from firth.run.errors import InputError
from firth.run.files import cache_folder
from firth.text.types import Singles

KEY = "FIRTH_API_KEY"
"""Variable with the key that is sent to an address."""
_BATCH, _TOGETHER = 32, 4
"""Texts of a request, which every known server takes; and requests under way."""
_TIMEOUT, _TRIES, _WAIT, _LONGEST_WAIT = 120.0, 6, 0.5, 120.0
"""Seconds of a request; tries; seconds before the second try, which double; and most of them."""
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which a request is sent again."""
_MOST_BYTES = 64 << 20
_NO_VECTORS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What is raised where an answer is not as expected: also for numbers that are too large, and for
lists in lists without end."""
_EXAMPLE = "http://localhost:11434/v1#nomic-embed-text"
_PATIENCE = 120.0
"""Seconds to wait for the lock of the cache."""
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"


class EndpointEncoder(PretrainedEncoder):
    """Encodes texts by a model behind an address; a text without characters gets zeros."""

    fast = True  # Its vectors are kept where they outlive the process.

    def __init__(self, name: str) -> None:
        (self._address, self.name), self._has_answered = _parts(name), False
        self._cache, self.dimensions = _Cache(name), 0
        self.dimensions = self.raw(["a"]).shape[1]

    def raw(self, texts: Sequence[str]) -> Singles:
        """Return vectors of n texts as the model gives them, (n, dimensions)."""
        distinct = dict.fromkeys(text for text in texts if text.strip())
        vectors = self._cache.read(distinct)
        with Progress(len(distinct), f"Encoding with {self.name}") as bar:
            bar.advance(len(vectors))
            for batch, rows in self._answers([text for text in distinct if text not in vectors]):
                answers = dict(zip(batch, rows, strict=True))
                self._cache.write(answers)
                vectors |= answers
                bar.advance(len(batch))
        width = self.dimensions or next((len(row) for row in vectors.values()), 0)
        nothing = np.zeros(width, np.float32)
        all_rows = [vectors.get(text, nothing) for text in texts]
        return np.array(all_rows, np.float32).reshape(len(texts), width)

    def _answers(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[str], Singles]]:
        """Yield texts and the vectors that the model gives them, batch by batch."""
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        with ThreadPoolExecutor(_TOGETHER) as pool:
            for start in range(0, len(batches), _TOGETHER):
                group = batches[start : start + _TOGETHER]
                yield from zip(group, pool.map(self._ask, group), strict=True)

    def _ask(self, texts: Sequence[str]) -> Singles:
        """Return the vectors of one request, (n, d); raise `InputError` for any other answer."""
        body = {"model": self.name, "input": list(texts), "encoding_format": "float"}
        answer = self._sent(json.dumps(body).encode())
        try:
            rows = json.loads(answer)["data"]
            places = [int(row.get("index", place)) for place, row in enumerate(rows)]
            vectors = np.array([row["embedding"] for row in rows], np.float32)
        except _NO_VECTORS as error:
            raise self._refused(f"its answer holds no vectors: {_message(answer)}") from error
        if sorted(places) != list(range(len(texts))):
            raise self._refused(f"its answer holds {len(rows):,} vectors for {len(texts):,} texts")
        width = vectors.shape[1] if vectors.ndim == 2 else 0
        if not width or width != (self.dimensions or width):
            expected = f"({len(texts)}, {self.dimensions or 'd'})"
            raise self._refused(f"its vectors have the shape {vectors.shape}, not {expected}")
        if not np.isfinite(vectors).all():
            raise self._refused("its vectors hold NaN or infinity")
        return vectors[np.argsort(places)]

    def _sent(self, body: bytes) -> bytes:
        """Return the answer to a request, which is sent again where that may help."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key := os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {key}"
        request = Request(self._address, body, headers)
        for tried in range(_TRIES):
            wait = _WAIT * 2**tried
            try:
                with _OPENER.open(request, timeout=_TIMEOUT) as response:
                    answer: bytes = response.read(_MOST_BYTES + 1)
                if len(answer) > _MOST_BYTES:
                    raise self._refused(f"its answer has more than {_MOST_BYTES >> 20} MB")
                self._has_answered = True
                return answer
            except HTTPError as error:
                problem = f"it answered {error.code} ({_message(error.read(_MOST_BYTES))})"
                if error.code in (401, 403):
                    problem += f". Put the key of the service into the variable {KEY}"
                wait = max(wait, _seconds(error.headers.get("Retry-After")))
                may_help = error.code in _AGAIN and wait <= _LONGEST_WAIT
            except (OSError, HTTPException) as error:  # `URLError` is one.
                reason = getattr(error, "reason", error)
                problem = f"it cannot be reached ({reason})"
                may_help = self._has_answered or isinstance(reason, TimeoutError)
            if not may_help or tried == _TRIES - 1:
                raise self._refused(problem)
            note(f"{self._address}: {problem}. It is asked again in {wait:.1f} s")
            sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _refused(self, problem: str) -> InputError:
        return InputError(
            f"{self._address} (model {self.name}): {problem}. Expected a service of embeddings as "
            f"OpenAI's: --encoder {_EXAMPLE}"
        )


class _Cache:
    """The vectors of a model by text, in a database that outlives the process."""

    def __init__(self, model: str) -> None:
        self._model, self._lock = model, Lock()
        path = cache_folder() / "endpoints.db"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._store = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
            self._store.execute("PRAGMA journal_mode = WAL")
            self._store.execute("PRAGMA synchronous = NORMAL")
            with self._store:
                self._store.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"{path}: no vectors can be kept here ({error}). Remove the file, or name another "
                "folder: FIRTH_CACHE"
            ) from error

    def read(self, texts: Iterable[str]) -> dict[str, Singles]:
        """Return the vectors of those texts that it has."""
        query = "SELECT vector FROM vectors WHERE key = ?"
        with self._lock:
            rows = {
                text: self._store.execute(query, [self._key(text)]).fetchone() for text in texts
            }
        return {text: np.frombuffer(row[0], np.float32) for text, row in rows.items() if row}

    def write(self, vectors: Mapping[str, Singles]) -> None:
        """Keep vectors; a kill does not lose them once this returns."""
        rows = [
            (self._key(text), row.astype(np.float32).tobytes()) for text, row in vectors.items()
        ]
        with self._lock, self._store:
            self._store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _key(self, text: str) -> bytes:
        named = f"{self._model}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(named, digest_size=20).digest()


def _parts(name: str) -> tuple[str, str]:
    """Return the address that is asked, and the model; raise `InputError` where a part is wrong."""
    parts = urlsplit(name)
    if not parts.hostname or not parts.fragment or "@" in parts.netloc:
        raise InputError(
            f"{name}: expected an address and a model, as {_EXAMPLE}; a key goes into the variable "
            f"{KEY}"
        )
    path = f"{parts.path.rstrip('/')}/embeddings"
    return urlunsplit(parts._replace(path=path, fragment="")), parts.fragment


def _message(answer: bytes) -> str:
    """Return the message of an answer, or its beginning, in one line."""
    text = answer.decode("utf-8", "replace")
    try:
        error = json.loads(text)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except _NO_VECTORS:
        pass
    return " ".join(text.split())[:200] or "an empty answer"


def _seconds(header: str | None) -> float:
    """Return the seconds that the header Retry-After asks to wait; 0 where it has no number."""
    with suppress(TypeError, ValueError):
        return float(header or 0)
    return 0.0


class _NoRedirect(HTTPRedirectHandler):
    """Refuses to follow an answer to another address, which would get texts and key."""

    def redirect_request(self, *_: Any) -> None:
        """Return that there is no other request."""


_OPENER = build_opener(_NoRedirect)


KIND = EncoderKind(
    name="endpoint",
    recognizes=lambda name: name.startswith(("http://", "https://")) and bool(_parts(name)),
    open=lambda encoder, _: EndpointEncoder(encoder.name),
)
