"""The forest of segments: what is read together, and that nothing is read twice or left out."""

from hypothesis import given
from hypothesis import strategies as st

from firth.paper.generation.language_model import ROOT, Forest

texts = st.lists(
    st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), min_size=1, max_size=3),
    max_size=12,
)


def build(chains: list[list[tuple[int, ...]]]) -> Forest:
    """A forest of chains of segments."""
    forest = Forest(start=9)
    for chain in chains:
        node = ROOT
        for tokens in chain:
            node = forest.add(node, tokens)
    return forest


def test_equal_segments_after_equal_texts_are_one_node() -> None:
    """A segment is a node of its own only after a different beginning."""
    forest = Forest(start=9)
    left, other = forest.add(ROOT, (1, 2)), forest.add(ROOT, (1,))
    assert forest.add(left, (5,)) == forest.add(left, (5,))
    assert forest.add(left, (5,)) != forest.add(other, (5,))
    assert len(forest) == 5


def test_a_segment_once_wanted_stays_wanted() -> None:
    """Adding a node again without wanting it does not take the wish back, and the reverse holds."""
    forest = Forest(start=9)
    node = forest.add(ROOT, (1,), wanted=False)
    assert not forest.wanted[node]
    forest.add(ROOT, (1,), wanted=True)
    forest.add(ROOT, (1,), wanted=False)
    assert forest.wanted[node]


@given(texts, st.integers(1, 30))
def test_parts_score_each_node_once_and_hold_their_ancestors(
    chains: list[list[tuple[int, ...]]], budget: int
) -> None:
    """For any budget: each wanted node is scored in one part, parents stand before children."""
    forest = build(chains)
    scored = []
    for part in forest.parts(budget):
        nodes = list(part)
        for i, node in enumerate(nodes):
            assert node == ROOT or forest.parents[node] in nodes[:i]
        scored += [node for node, yes in part.items() if yes]
        size = sum(len(forest.tokens[node]) for node in nodes)
        longest = max(sum(len(forest.tokens[n]) for n in forest.path(node)) for node in nodes)
        assert size <= max(budget, longest)
    assert sorted(scored) == [n for n, wanted in enumerate(forest.wanted) if wanted]
