"""A component that another package registers goes through the whole main job."""

import subprocess
import sys
from pathlib import Path

SOURCE = """
from firth.scorer.parts import Part
import numpy as np


class Lengths:
    def similarities(self, pairs):
        return np.array([min(map(len, pair)) / max(1, *map(len, pair)) for pair in pairs])

    def evidence(self, pairs):
        for similarity in self.similarities(pairs).tolist():
            yield (Part(name="lengths", contribution=similarity),)


def open_lengths(run):
    return Lengths()
"""
JOB = """
import sys
import firth

folder, texts = sys.argv[1:]
rows = [line.split("\\t") for line in open(texts, encoding="utf-8").read().splitlines()]
documents = [{"id": name, "text": text} for name, text in rows]
weights = {"scorer.weights.lengths": 0.5, "words": {"min_count": 2, "dimensions": 12}}
model = firth.build(documents, folder, settings=weights)
a, b = "The ship reached the harbour.", "A sailor left the harbour in a storm."
found = model.explain(a, b)
expected = 0.25 * len(a) / len(b)
assert abs(found.parts["lengths"].contribution - expected) < 1e-9, found.parts
assert "equal" not in found.parts
assert abs(sum(row.contribution for row in found.rows) - model.similarity(a, b)) < 1e-9
assert len(model.search("harbour storm", top=2)) == 2
model.duplicates()
plain = firth.load(folder)
assert plain.similarity(a, b) == model.similarity(a, b)
try:
    firth.build(None, folder, settings={"scorer.weights.nothing": 1.0}).similarity(a, b)
except firth.run.errors.FirthError as error:
    assert "nothing" in str(error) and "lengths" in str(error), error
else:
    raise AssertionError("an unknown component was accepted")
"""


def test_a_registered_component_goes_through_everything(tmp_path: Path) -> None:
    """build → explain → search → duplicates, by one file and one registration."""
    from .conftest import sentences

    package = tmp_path / "site"
    (package / "lengths_plugin-1.dist-info").mkdir(parents=True)
    (package / "lengths_plugin.py").write_text(SOURCE)
    record = package / "lengths_plugin-1.dist-info"
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: lengths-plugin\nVersion: 1\n")
    (record / "entry_points.txt").write_text(
        "[firth.components]\nlengths = lengths_plugin:open_lengths\n"
    )
    by_document: dict[str, list[str]] = {}
    for name, text in sentences(400):
        by_document.setdefault(name, []).append(text)
    rows = [f"{name}\t{' '.join(texts)}" for name, texts in by_document.items()]
    (tmp_path / "texts.tsv").write_text("\n".join(rows))
    code = f"import sys; sys.path.insert(0, {str(package)!r}); import firth.run.errors\n{JOB}"
    command = [sys.executable, "-c", code, str(tmp_path / "run"), str(tmp_path / "texts.tsv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
