"""The description and the service agree: schemathesis asks what it allows, and what it does not."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient

from firth.serve.app import Service
from firth.serve.bounds import Load
from firth.serve.endpoints import ASKED
from firth.serve.opened import Opened
from firth.serve.schemas import Nothing


@pytest.fixture(scope="module")
def described(opened: Opened) -> Any:
    """The description, as schemathesis reads it from the application."""
    service = Service(opened, Load(long_seconds=20), is_ours=lambda _: True)
    return schemathesis.openapi.from_asgi("/openapi.json", service.app())


# Conditions on fields that are not kept, components without a weight: the schema allows, the run
# does not have them, and 422 says so.
UNKNOWN = [positive_data_acceptance]
CASES = [
    (one.method, one.path.replace(":path", ""), mode)
    for one in ASKED
    for mode in GenerationMode
    if one.takes is not Nothing or mode is GenerationMode.POSITIVE
]


@pytest.mark.parametrize(("method", "path", "mode"), [*CASES, ("GET", "/metrics", CASES[0][2])])
def test_schemathesis_finds_nothing(
    described: Any, method: str, path: str, mode: GenerationMode
) -> None:
    """No server error, no answer that is not described, nothing accepted that is not allowed."""

    @given(case=described[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=5, derandomize=True, database=None,
        suppress_health_check=[*HealthCheck],
    )  # fmt: skip
    def ask(case: Any) -> None:
        case.call_and_validate(excluded_checks=UNKNOWN)

    ask()


def test_the_description_names_every_endpoint(client: TestClient) -> None:
    """The premise: what can be asked is described, and the names within lead somewhere."""
    found = client.get("/openapi.json").json()
    assert set(found["paths"]) == {
        *(one.path.replace(":path", "") for one in ASKED), "/metrics",
    }  # fmt: skip
    named = {one["operationId"] for path in found["paths"].values() for one in path.values()}
    assert len(named) == len(found["paths"])

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set[str]()
            return own.union(*map(references, value.values()))
        return set[str]().union(*map(references, value)) if isinstance(value, list) else set()

    known = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert references(found) <= known
    assert len(references(found)) > 20
