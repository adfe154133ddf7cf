"""Keeping the best weights: of all looks the best, the earliest of equals, the start included."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from firth.surrogate.training import Best


@given(st.lists(st.one_of(st.none(), st.integers(-3, 3).map(float)), min_size=1, max_size=8))
def test_the_best_look_is_kept(figures: list[float | None]) -> None:
    """Weights are those of the highest figure; an undefined one is below all others."""
    model = nn.Linear(1, 1)
    values = iter(figures)

    def at(step: int) -> None:
        with torch.no_grad():
            model.weight.fill_(float(step))

    at(0)
    best = Best(model, lambda: next(values))
    for step in range(1, len(figures)):
        at(step)
        best.look(step)
    at(99)
    best.restore()
    ranked = [-99.0 if figure is None else figure for figure in figures]
    assert best.step == ranked.index(max(ranked))
    assert model.weight.item() == pytest.approx(best.step)
    assert [one["step"] for one in best.seen] == list(range(len(figures)))
    assert [one["spearman"] for one in best.seen] == figures
