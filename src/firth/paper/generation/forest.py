"""Segments of text that continue one another: each distinct one is read once.

Every log-likelihood that a left-to-right model is asked for is that of a *segment* given the
segments before it, back to the start of the text. Segments with a common beginning form a tree, as
in a prefix cache: a left context is the parent of all sentences tried in it, a sentence the parent
of all right contexts tried after it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

ROOT = 0
"""The node of the start-of-text token."""

Tokens = tuple[int, ...]


class Forest:
    """Distinct segments, each with its parent; node 0 holds the start-of-text token.

    Args:
        start: The token that begins every text.

    Example:
        >>> forest = Forest(start=1)
        >>> left = forest.add(ROOT, (5, 6))
        >>> forest.add(left, (7,)) == forest.add(left, (7,))
        True
    """

    def __init__(self, start: int) -> None:
        self.tokens: list[Tokens] = [(start,)]
        self.parents: list[int] = [-1]
        self.wanted: list[bool] = [False]
        self._found: dict[tuple[int, Tokens], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, parent: int, tokens: Tokens, *, wanted: bool = True) -> int:
        """The node of `tokens` after `parent`, made if there is none.

        Args:
            parent: Node that the segment continues.
            tokens: The segment; it may be empty, and then has log-likelihood 0.
            wanted: Whether its log-likelihood is asked for, or it is only read.
        """
        node = self._found.setdefault((parent, tokens), len(self.tokens))
        if node == len(self.tokens):
            self.tokens.append(tokens)
            self.parents.append(parent)
            self.wanted.append(wanted)
        elif wanted:
            self.wanted[node] = True
        return node

    def path(self, node: int) -> list[int]:
        """The nodes from the root to `node`, both included."""
        path = []
        while node >= 0:
            path.append(node)
            node = self.parents[node]
        return path[::-1]

    def preorder(self) -> Iterator[int]:
        """All nodes, parents before children, each subtree without a break."""
        children: list[list[int]] = [[] for _ in self.tokens]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(node)
        stack = [ROOT]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(children[node]))


@dataclass(frozen=True)
class Part:
    """A part of a forest small enough to be read at once.

    Attributes:
        nodes: Nodes of the part, parents before children, closed under taking parents.
        scored: For each of them, whether this part is the one that gives its log-likelihood.
    """

    nodes: Sequence[int]
    scored: Sequence[bool]


def split(forest: Forest, budget: int) -> Iterator[Part]:
    """Cut a forest in parts of at most `budget` tokens.

    Ancestors needed in several parts are read again in each. A part exceeds the budget only where
    one path from the root does.
    """
    sizes = [len(tokens) for tokens in forest.tokens]
    nodes: dict[int, bool] = {}
    used = 0
    for node in forest.preorder():
        missing = [n for n in forest.path(node) if n not in nodes]
        cost = sum(sizes[n] for n in missing)
        if used + cost > budget and any(nodes.values()):
            yield Part(list(nodes), list(nodes.values()))
            nodes, used = {}, 0
            missing = forest.path(node)
            cost = sum(sizes[n] for n in missing)
        for n in missing:
            nodes[n] = n == node and forest.wanted[n]
        used += cost
    if any(nodes.values()):
        yield Part(list(nodes), list(nodes.values()))
