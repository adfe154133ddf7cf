"""Batches of what waits, each gets its own; and long work, which ends with who asked for it."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncGenerator, Sequence

import numpy as np
import pytest

from firth.index.encoder import Vectors
from firth.run.progress import track
from firth.serve.bounds import Load
from firth.serve.desk import Batcher, Desk
from firth.serve.problems import Problem


def lengths(texts: Sequence[str]) -> Vectors:
    return np.array([[len(text), 1.0] for text in texts], np.float32)


def test_requests_that_wait_are_encoded_together() -> None:
    """What comes during a batch is the next one, up to its size; each answer is as alone."""
    sizes: list[int] = []
    go = threading.Event()

    def encode(texts: Sequence[str]) -> Vectors:
        go.wait(20)
        return lengths(texts)

    async def ask() -> list[Vectors]:
        batcher = Batcher(Desk(Load(batch=4)), encode, sizes.append)
        asked = [["a" * n] * (1 + n % 2) for n in range(1, 9)]
        tasks = [asyncio.create_task(batcher.encode(texts)) for texts in asked]
        await asyncio.sleep(0)
        go.set()
        found = await asyncio.gather(*tasks)
        for texts, vectors in zip(asked, found, strict=True):
            np.testing.assert_array_equal(vectors, lengths(texts))
        return found

    assert len(asyncio.run(ask())) == 8
    assert sum(sizes) == 12
    assert max(sizes) <= 4
    assert len(sizes) < 8  # the premise: some went together


def test_a_request_larger_than_a_batch_goes_alone() -> None:
    """Its texts are not torn apart."""
    sizes: list[int] = []

    async def ask() -> Vectors:
        return await Batcher(Desk(Load(batch=2)), lengths, sizes.append).encode(["a"] * 5)

    assert len(asyncio.run(ask())) == 5
    assert sizes == [5]


def test_an_error_reaches_those_who_asked_and_no_others() -> None:
    """The batch fails, the next does not; who was cancelled costs nothing."""

    def encode(texts: Sequence[str]) -> Vectors:
        if "bad" in texts:
            raise ValueError("bad")
        return lengths(texts)

    async def ask() -> None:
        batcher = Batcher(Desk(Load(batch=1)), encode)
        bad, good, gone = (
            asyncio.create_task(batcher.encode([text])) for text in ("bad", "good", "gone")
        )
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(ValueError, match="bad"):
            await bad
        assert len(await good) == 1
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert len(await batcher.encode(["again"])) == 1

    asyncio.run(ask())


def test_who_goes_away_ends_the_work() -> None:
    """Long work stops at its next step, there is room for other such work, and no complaint."""
    done: list[int] = []
    complaints: list[str] = []

    def work() -> str:
        for step in track(range(400), "Steps"):
            done.append(step)
            time.sleep(0.01)
        return "all"

    async def ask() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, told: complaints.append(told["message"]))
        desk = Desk(Load())
        answers = desk.tell(work)
        assert isinstance(answers, AsyncGenerator)
        assert "progress" in await anext(answers)
        await answers.aclose()
        for _ in range(100):
            await asyncio.sleep(0.02)
            gc.collect()
            try:
                assert [line async for line in desk.tell(lambda: "next")] == [{"result": "next"}]
                break
            except Problem:
                continue
        else:
            pytest.fail("no room")

    asyncio.run(ask())
    assert 0 < len(done) < 400
    assert complaints == []
