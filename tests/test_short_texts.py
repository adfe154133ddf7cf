"""Documents of one sentence: what needs no neighbours takes the place of what does."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import tiny_documents

from firth.baselines.ngrams import NgramTfIdf
from firth.context import CONTEXT
from firth.corpus.statistics import fit_idf_on_run
from firth.origin import ORIGIN
from firth.origin.origin import Origin
from firth.pipeline import bring_up_to_date
from firth.run import progress
from firth.run.config import Config
from firth.run.run import CONFIG, Run
from firth.search.search import Search
from firth.surrogate import SURROGATE


def test_the_whole_way_on_documents_of_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything is built, what was done instead is said, and Origin is not worse than plain words:
    but for the alignment it is tf-idf of n-grams, to the number."""
    running = " ".join(text for _, text in tiny_documents())
    texts = sorted({" ".join(line.split()) for line in running.split(".") if line.strip()})
    with (tmp_path / "alone.jsonl").open("w") as file:
        file.writelines(json.dumps({"text": f"{text}."}) + "\n" for text in texts)
    settings = {
        "corpus": {"inputs": [str(tmp_path / "alone.jsonl")]},
        "tokenizer": {"vocabulary": 400},
        "context": {"bag": {"dimensions": 8}},
        "surrogate": {"dimensions": 16, "epochs": 1},
        "scale": {"pairs": 200, "origin_pairs": 100},
    }
    run = Run.create(tmp_path / "run", Config.parse(settings, CONFIG))
    progress.set_quiet(False)
    built = bring_up_to_date(run)
    shown = capsys.readouterr().err
    assert run.manifest(CONTEXT).summary["words"]["pairs"]["neighbours"] == 0  # the premise
    assert SURROGATE.name in built
    assert "texts stand alone" in shown
    assert "sentences without a neighbour" in shown
    assert "no held-out sentence has a next one" in shown
    assert not run.manifest(ORIGIN).summary["changed"]
    assert "nothing learned of words: the default" in shown
    pairs = list(zip(texts, reversed(texts), strict=True))
    scores = Origin.open(run, weights={"sentences": 1, "words": 0}).similarities(pairs)
    plain = NgramTfIdf(fit_idf_on_run(run)).similarities(pairs)
    np.testing.assert_allclose(scores, plain, atol=1e-9)
    assert Origin.open(run).similarity(texts[0], texts[0]) == pytest.approx(1.0)
    assert Search.open(run).search(texts[0], top=1)[0].text == f"{texts[0]}."
