"""Options of the ablations: read as typed, and all problems named at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.paper.settings import Weights
from firth.reproduce.options import Options, all_ones, parse_size, parse_weights
from firth.reproduce.registry import EXPERIMENTS, reproduce
from firth.run.errors import ConfigError, InputError


@given(st.integers(1, 10**9), st.integers(1, 10**12))
def test_sizes_are_read_back(size: int, whole: int) -> None:
    """A plain number is itself, whatever the whole; 100 % is the whole; units multiply."""
    assert parse_size(str(size), whole) == size
    assert parse_size("100%", whole) == whole
    assert parse_size(f"{size}k", whole) == 1_000 * size


@pytest.mark.parametrize("text", ["", "0", "-3", "x", "10x", "nan", "inf", "101%", "%", "K"])
def test_what_is_no_size(text: str) -> None:
    """Neither zero, nor below, nor more than all, nor words."""
    with pytest.raises(ValueError, match="expected a number above 0"):
        parse_size(text, 1_000)


def test_weights_stand_in_the_order_of_eq_3() -> None:
    """λ1 … λ4: discriminative, sentence, left, right."""
    assert parse_weights("1,2,3,0.5") == Weights(coherence=1, sentence=2, left=3, right=0.5)
    assert Options().weights(Weights(left=7)) == all_ones()
    assert Options(lambdas="run").weights(Weights(left=7)) == Weights(left=7)
    for wrong in ("1,1,1", "1,1,1,x", "0,0,0,0", "1,1,1,-1", "1;1;1;1"):
        with pytest.raises(ValueError, match="expected `run`"):
            parse_weights(wrong)


def test_all_problems_come_at_once() -> None:
    """One error names every option that cannot be used, and what the experiment takes."""
    wrong = Options(pairs=3, sizes=("4", "many"), contexts=0, lambdas="1,1", gguf_file="a.gguf")
    with pytest.raises(ConfigError) as caught:
        wrong.check("table6", EXPERIMENTS["table6"].takes)
    assert len(caught.value.problems) == 6, "five here, and `contexts` is out of range besides"
    text = str(caught.value)
    for expected in ("table6 takes no --contexts", "--pairs: got 3", "'many'", "--lambdas"):
        assert expected in text
    Options().check("table6", EXPERIMENTS["table6"].takes)


def test_options_are_looked_at_before_the_run() -> None:
    """A wrong option is named although there is no run; a right one leads on to the run."""
    with pytest.raises(ConfigError, match="cbos-k takes no --contexts"):
        reproduce("cbos-k", "no-run", options=Options(contexts=3))
    with pytest.raises(InputError, match="not a run"):
        reproduce("table8", "no-run", options=Options(contexts=3))
