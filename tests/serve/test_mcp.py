"""Tools of an assistant, asked by the client of the official package."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import firth
from firth.serve.mcp import TOOLS

mcp = pytest.importorskip("mcp")


def test_an_assistant_gets_what_the_model_answers(toy_folder: Path) -> None:
    """The command lists four tools that change nothing, with bounds; errors say what to do."""
    asked: dict[str, dict[str, Any]] = {
        "search": {"query": "ship", "top": 3},
        "differences": {"text1": "The ship left on May 1.", "text2": "The ship left on May 2."},
        "match": {"left": [f"A ship of {n} tons left." for n in range(24)]},
        "calibrate": {"false_match_rate": 0.05, "scores": [0.5]},
    }
    answers = {}

    async def ask() -> None:
        arguments = ["-m", "firth", "mcp", "--run", str(toy_folder)]
        server = mcp.StdioServerParameters(
            command=sys.executable, args=arguments, env=dict(os.environ)
        )
        async with mcp.stdio_client(server) as streams, mcp.ClientSession(*streams) as session:
            await session.initialize()
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert set(tools) == set(asked) == {function.__name__ for function in TOOLS}
            assert all(tool.annotations.read_only_hint for tool in tools.values())
            assert tools["search"].input_schema["properties"]["top"]["maximum"] == 100
            for name, fields in asked.items():
                answers[name] = (await session.call_tool(name, fields)).structured_content
            wrong = await session.call_tool("search", {"query": "ship", "where": "color = 1"})
            assert wrong.is_error
            assert "color" in wrong.content[0].text

    asyncio.run(ask())
    model = firth.load(toy_folder, quiet=True)
    hits = [hit.text for hit in model.search("ship", top=3)]
    assert [hit["text"] for hit in answers["search"]["hits"]] == hits
    assert answers["differences"]["differ"]
    assert len(answers["match"]["items"]) == 24
    threshold = model.calibration.threshold(false_match_rate=0.05)
    assert answers["calibrate"]["threshold"] == threshold
