"""Two documents side by side: what is planted is found; scores are shares and symmetric."""

from pathlib import Path

import pytest

from firth.reuse.compare import compare_documents, kind_of
from firth.reuse.kinds import Kind, Order
from firth.run.errors import InputError
from firth.run.screen import escaped

A = [
    "The ship reached the harbour of the old town at night.",
    "The judge praised the young jury.",
    "Nobody knew why the farmer had left the barn open.",
]
B = [
    "Many things were said.",
    "That the farmer had left the barn open, nobody knew why.",
    "At last the ship reached the harbour of the old town.",
]
MODEL = "baseline:dice"


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize(("a", "b"), [(A, B), (A, A), (A, []), (A, B[:1]), (B[:1] * 3, B)])
def test_scores_are_shares_and_symmetric(a: list[str], b: list[str], order: Order) -> None:
    """All in [0, 1]; the other way round, the same the other way round."""
    one = compare_documents(a, b, model=MODEL, threshold=0.4, order=order)
    two = compare_documents(b, a, model=MODEL, threshold=0.4, order=order)
    shares = (one.score, one.coverage_a, one.coverage_b, one.reused_a, one.reused_b)
    assert all(0 <= share <= 1 for share in shares)
    assert one.score == pytest.approx(two.score)
    assert (one.coverage_a, one.reused_a) == (two.coverage_b, two.reused_b)
    assert one.coverage_a >= one.reused_a


@pytest.mark.parametrize("order", Order)
def test_a_document_is_all_in_itself(order: Order) -> None:
    """Coverage and score are 1, and every sentence meets itself word for word."""
    found = compare_documents(A, A, model=MODEL, threshold=0.9, order=order)
    assert found.score == found.coverage_a == found.coverage_b == 1
    assert [(match.a, match.b, match.kind) for match in found.matches] == [
        ((n,), (n,), Kind.EXACT) for n in (1, 2, 3)
    ]


def test_what_moved_is_found_and_spans_with_it() -> None:
    """Both planted sentences, in free order; the run of equal words is named with its sentences."""
    found = compare_documents(A, B, model=MODEL, threshold=0.6)
    assert [(match.a, match.b) for match in found.matches] == [((1,), (3,)), ((3,), (2,))]
    assert {(span.text, span.a, span.b) for span in found.reuses} == {
        ("the ship reached the harbour of the old town", 1, 3),
        ("the farmer had left the barn open", 3, 2),
    }
    kept = compare_documents(A, B, model=MODEL, threshold=0.6, order="kept")
    assert len(kept.matches) == 1
    assert kept.score < found.score


def test_the_table_fits_the_screen() -> None:
    """80 columns, whatever the texts and names are."""
    long = [" ".join([text] * 5) for text in A]
    found = compare_documents(long, [*long, *B], model=MODEL, threshold=0.3)
    assert max(map(len, escaped(found.text()).splitlines())) <= 80
    assert found.as_dict()["matches"][0]["a"] == (1,)


def test_documents_of_a_run_and_files(tiny_run: Path, tiny_folder: Path) -> None:
    """By id or as a file, a document of a run is the same; the run's Surrogate is asked."""
    files = sorted(tiny_folder.iterdir())[:2]
    ids = [f"tiny-texts/{path.name}" for path in files]
    one = compare_documents(ids[0], ids[1], tiny_run)
    two = compare_documents(files[0], files[1], tiny_run)
    assert (one.score, one.threshold, one.matches) == (two.score, two.threshold, two.matches)
    assert ([one.a, one.b], two.a) == (ids, files[0].name)
    assert one.rate == 0.001
    same = compare_documents(ids[0], ids[0], tiny_run)
    assert same.score == same.coverage_a == 1


def test_origin_can_be_asked(tiny_run: Path) -> None:
    """The same documents, by another measure."""
    found = compare_documents(A[:2], B[:2], tiny_run, origin=True, threshold=0.99)
    assert found.model.startswith("Origin")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"a": "nowhere.txt", "model": MODEL}, "no such file"),
        ({"a": A}, "expected a run"),
        ({"a": A, "model": MODEL, "rate": 2.0}, "between 0 and 1"),
    ],
)
def test_what_cannot_be_done_is_said(options: dict[str, object], said: str) -> None:
    """Before any work."""
    with pytest.raises(InputError, match=said):
        compare_documents(**{"b": B, **options})  # type: ignore[arg-type]


def test_files_of_many_documents_are_refused(tmp_path: Path) -> None:
    """With what to do instead."""
    (tmp_path / "two.jsonl").write_text('{"text": "It rained."}\n{"text": "It snowed."}\n')
    with pytest.raises(InputError, match="holds 2 documents"):
        compare_documents(tmp_path / "two.jsonl", A, model=MODEL, threshold=0.5)


def test_an_unknown_document_is_named(tiny_run: Path) -> None:
    """With one that there is."""
    with pytest.raises(InputError, match=r"neither a file nor a document of .*, such as"):
        compare_documents("nothing", A, tiny_run)


def test_kinds_are_told_by_words() -> None:
    """As `firth leakage` tells them."""
    assert kind_of("The cat sat.", "the cat sat") is Kind.EXACT
    near = "one two three four five six seven eight nine ten"
    assert kind_of(near, f"{near} eleven") is Kind.NEAR
    assert kind_of(near, "something else") is Kind.REWORDED
    assert kind_of("one", "two") is Kind.REWORDED
