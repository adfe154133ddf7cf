"""OpenAI's own client reads the embeddings, over a port; and metrics count what it asked."""

import re
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
import openai
import pytest

from firth.run.run import Run
from firth.serve.opened import Opened

from .conftest import A, B, running

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def address(ensemble_run: Run) -> Iterator[str]:
    with running(ensemble_run, token=TOKEN) as found:
        yield found


def client_at(address: str, key: str = TOKEN) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)


def test_the_client_gets_the_surrogates_vectors(address: str, opened: Opened) -> None:
    """As floats, in base64 (its default), of one text or of several, cut to fewer dimensions."""
    client, texts = client_at(address), [A, B, "A ship."]
    expected = opened.encoder.encode(texts)
    formats: list[Literal["float", "base64"] | openai.Omit] = [openai.omit, "float", "base64"]
    for asked in formats:
        found = client.embeddings.create(input=texts, model="surrogate", encoding_format=asked)
        vectors = [one.embedding for one in found.data]
        if asked == "base64":
            assert all(isinstance(one, str) for one in vectors)
            continue
        np.testing.assert_allclose(vectors, expected, atol=1e-6)
        assert [one.index for one in found.data] == [0, 1, 2]
        assert found.usage.total_tokens > 0
    one = client.embeddings.create(input=A, model="surrogate", dimensions=4).data[0].embedding
    assert len(one) == 4
    assert np.linalg.norm(one) == pytest.approx(1)
    np.testing.assert_allclose(one, expected[0, :4] / np.linalg.norm(expected[0, :4]), atol=1e-6)
    assert [model.id for model in client.models.list()] == ["surrogate"]


def test_the_client_understands_what_is_refused(address: str) -> None:
    """Its own exceptions: another model, texts that are none, another token."""
    client = client_at(address)
    with pytest.raises(openai.NotFoundError, match="surrogate"):
        client.embeddings.create(input=A, model="another")
    refused: list[str | list[str] | list[int] | list[list[int]]] = ["", [], [1, 2, 3], [[1], [3]]]
    for wrong in refused:
        with pytest.raises(openai.UnprocessableEntityError, match=r"input(\.\d+)?: ") as error:
            client.embeddings.create(input=wrong, model="surrogate")
        assert "constrained" not in str(error.value)
    with pytest.raises(openai.UnprocessableEntityError, match="dimensions"):
        client.embeddings.create(input=A, model="surrogate", dimensions=10_000)
    with pytest.raises(openai.AuthenticationError):
        client_at(address, "another-token").models.list()


def test_many_at_once_get_their_own(address: str, opened: Opened) -> None:
    """Thirty-two requests beside each other, the same vectors as one after the other; counted."""
    client = client_at(address)
    texts = [f"The ship {n} left the harbour." for n in range(32)]

    def ask(text: str) -> list[float]:
        return client.embeddings.create(input=text, model="surrogate").data[0].embedding

    before = counted(address)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(ask, texts))
    np.testing.assert_allclose(found, opened.encoder.encode(texts), atol=1e-6)
    after = counted(address)
    name = 'firth_requests_total{path="/v1/embeddings",status="200"}'
    assert after[name] - before.get(name, 0) == 32
    assert after["firth_encoded_texts_total"] - before["firth_encoded_texts_total"] == 32
    assert after["firth_requests_under_way"] == 0


def counted(address: str) -> dict[str, float]:
    """Name and labels → value; every line is as Prometheus reads it."""
    request = urllib.request.Request(
        f"{address}/metrics", headers={"authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    found = {}
    for line in text.splitlines():
        if line.startswith("# "):
            assert re.fullmatch(r"# (HELP|TYPE) firth_\w+ .+", line)
            continue
        name, value = line.rsplit(" ", 1)
        assert re.fullmatch(r'firth_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})?', name), line
        found[name] = float(value)
    buckets = [v for k, v in found.items() if "/v1/models" in k and "_bucket" in k]
    assert buckets == sorted(buckets)  # cumulative, as a histogram is
    return found
