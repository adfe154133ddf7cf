"""A run that other processes change is served, and used by a loaded model, as it is."""

import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.error import HTTPError

import pytest
from tests.conftest import TOY_SETTINGS, toy_documents
from tests.serve.conftest import running
from tests.serve.test_api import A, B, ask, problem

import firth
from firth.model import Model
from firth.pipeline.opened import Opened
from firth.pipeline.stages import STAGES
from firth.run.errors import ChangedError
from firth.run.stage import Stage
from firth.search.index import INDEX
from firth.serve import workers
from firth.serve.guard import Problem

WRITER = """
import json, sys
import firth
model = firth.load(sys.argv[1], quiet=True)
for line in sys.stdin:
    call, given = json.loads(line)
    getattr(model, call)(given)
    print("done", flush=True)
"""
Documents = dict[str, int]
"""Id → version of the document, which its text names."""


@contextmanager
def another_process(run: Path) -> Iterator[Any]:
    """Yield a function that has another process add or remove, and waits until it is done."""
    command = [sys.executable, "-c", WRITER, str(run)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def change(call: str, given: Any) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps([call, given]) + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"

        yield change
        assert process.stdin is not None
        process.stdin.close()


def record(id: str, version: int) -> dict[str, str]:
    """Return a document that says its id and version."""
    return {"id": id, "text": f"The zebra of the keeper {id} is number v{version} of the zoo."}


def test_each_answer_is_of_one_state_of_the_documents(toy_copy: Path) -> None:
    """Next to a process that adds, replaces and removes, nobody is told an older or a mixed state.

    The service and a loaded model are compared with a dictionary. A document that is not indexed
    yet may be missing from hits that say so.
    """
    states, done = list[Documents]([{}]), [0]  # after each change, and how many are done
    rng, problems = random.Random(5), list[str]()
    ended, asked, sent_away = threading.Event(), [0, 0], [0]
    loaded = firth.load(toy_copy, quiet=True)

    def versions(texts: list[tuple[str, str]]) -> Documents:
        return {id: int(text.split(" v")[1].split()[0]) for id, text in texts if "zebra" in text}

    def hits_of(found: Any) -> tuple[Documents, str]:
        rows = [(hit["document"], hit["text"]) for hit in found["hits"]]
        return versions(rows), found["unindexed"]

    def check(reader: int, question: Any) -> None:
        while not ended.is_set():
            first = done[0]
            try:
                found, missing = question()
            except (HTTPError, ChangedError) as error:
                status = error.code if isinstance(error, HTTPError) else 503
                sent_away[0] += 1
                if status != 503:
                    problems.append(str(error))
                continue
            asked[reader] += 1
            if not any(
                found.items() <= state.items() if missing else found == state
                for state in states[first:]
            ):
                problems.append(f"{found} ({missing}) is none of {states[first:]}")

    with running(toy_copy) as address, another_process(toy_copy) as change:
        body = {"query": "zebra", "top": 100, "unit": "document"}
        readers = [
            threading.Thread(
                target=check, args=(0, lambda: hits_of(ask(address, "/api/search", body)))
            ),
            threading.Thread(
                target=check,
                args=(
                    1,
                    lambda: hits_of(loaded.search("zebra", top=100, unit="document").as_dict()),
                ),
            ),
        ]
        for reader in readers:
            reader.start()
        for version in range(1, 25):
            state = dict(states[-1])
            if state and rng.random() < 0.3:
                gone = rng.sample(sorted(state), rng.randint(1, len(state)))
                call: tuple[str, Any] = "remove", gone
                for id in gone:
                    del state[id]
            else:
                new = {f"z{rng.randint(0, 5)}" for _ in range(3)}
                call = "add", [record(id, version) for id in sorted(new)]
                state |= dict.fromkeys(new, version)
            states.append(state)
            change(*call)
            done[0] += 1
            for id in (f"z{n}" for n in range(6)):  # Nothing changes now: all is exact.
                if id in state:
                    [known] = ask(address, "/api/document", {"id": id})["sentences"]
                    assert versions([(id, known)]) == {id: state[id]}
                else:
                    assert problem(address, "/api/document", {"id": id})[0] == 404
            assert hits_of(ask(address, "/api/search", body)) == (state, "")
            assert ask(address, "/api/run", {})["documents"] == 40 + len(state)
            listed = ask(address, "/api/documents", {"query": "z"})["documents"]
            assert {known["id"] for known in listed} == set(state)
        ended.set()
        for reader in readers:
            reader.join()
    assert problems == []
    assert min(asked) > 10, "premise"
    assert sent_away[0] <= sum(asked) / 10


def test_a_build_of_another_process_is_used_when_it_is_done(
    toy_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a build changes no answer but the documents; a whole one changes all of them."""
    model, late = (firth.load(toy_copy, quiet=True) for _ in range(2))
    before = model.similarity(A, B), model.explain(A, B).score, len(model.encode(A))
    assert model.search("zebra").unknown == ("zebra",)
    records = [*toy_documents(50), record("z0", 1)]
    settings = {**TOY_SETTINGS, "static": {"dimensions": 16}}

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setitem(cast(dict[Stage, Any], STAGES), INDEX, stop)
        with pytest.raises(KeyboardInterrupt):
            firth.build(records, toy_copy, settings=settings, quiet=True)
    assert (model.similarity(A, B), model.explain(A, B).score, len(model.encode(A))) == before
    hits = model.search("ship storm")
    assert hits
    assert hits.unindexed == "11 documents"
    with pytest.raises(ChangedError):  # Its encoder was not open before.
        late.encode(A)
    firth.build(records, toy_copy, settings=settings, quiet=True)
    new = firth.load(toy_copy, quiet=True)
    assert len(model.encode(A)) == 16
    assert model.similarity(A, B) == new.similarity(A, B)
    assert model.search("zebra").as_dict() == new.search("zebra").as_dict()
    assert model.search("zebra")[0].document == "z0"


def test_an_answer_is_asked_for_once_more(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a second change it is an error, which a service sends as 503."""
    failures = [2]

    def search(self: Opened) -> Any:
        if failures[0]:
            failures[0] -= 1
            raise ChangedError("the run was changed. Try again")
        return original.func(self)

    original = Opened.__dict__["search"]
    monkeypatch.setattr(Opened, "search", property(search))
    model = Model(firth.load(toy_folder).run, quiet=True)
    with pytest.raises(ChangedError):
        model.search("ship")
    failures[0] = 1
    assert model.search("ship")
    for name, value in {"model": model, "limits": workers.Limits(), "begun": 0}.items():
        monkeypatch.setattr(workers._state, name, value, raising=False)
    body = json.dumps({"query": "ship"}).encode()
    failures[0] = 2
    replies = [workers._answer("search", body) for _ in range(2)]
    assert [isinstance(reply, Problem) and reply.status for reply in replies] == [503, False]


def test_a_service_has_all_documents_of_a_text(toy_copy: Path) -> None:
    """Each has its page, and a hit names the others; one is left when the other goes."""
    model = firth.load(toy_copy, quiet=True)
    text = "The zebra of the keeper sleeps. Its stable is dry."
    model.add([{"id": id, "title": f"Zebra {id}", "text": text} for id in ("one", "two")])
    with running(toy_copy) as address:
        assert ask(address, "/api/run", {})["documents"] == 42
        assert "42 documents" in repr(model)
        listed = ask(address, "/api/documents", {"query": "zebra"})["documents"]
        assert [(each["title"], each["sentences"]) for each in listed] == [
            ("Zebra one", 2), ("Zebra two", 2),
        ]  # fmt: skip
        hit = ask(address, "/api/search", {"query": "dry stable of a zebra"})["hits"][0]
        assert (hit["document"], hit["also"], hit["page"]) == ("one", ["two"], 0)
        copy = ask(address, "/api/document", {"id": "two"})
        assert (copy["title"], copy["also"], len(copy["sentences"])) == ("Zebra two", ["one"], 2)
        model.remove(["one"])
        hit = ask(address, "/api/search", {"query": "dry stable of a zebra"})["hits"][0]
        assert (hit["document"], hit["also"]) == ("two", [])
