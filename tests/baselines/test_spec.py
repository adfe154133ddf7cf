"""Specs of baselines: what is written is what is understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.baselines.spec import Spec
from firth.run.errors import InputError

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
VALUES = st.none() | st.text(st.characters(blacklist_characters="+@"), min_size=1, max_size=8)


@given(
    NAMES,
    st.dictionaries(NAMES, VALUES, max_size=3),
    st.none() | st.text(min_size=1, max_size=12),
)
def test_a_spec_survives_being_written(
    name: str, options: dict[str, str | None], source: str | None
) -> None:
    """Parsing what `str` gives returns the same spec, whatever the source holds."""
    spec = Spec(name, options, source)
    assert Spec.parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("baseline:a+", "nothing there"),
        ("baseline:a++b", "nothing there"),
        ("baseline:a+b=", "nothing there"),
        ("baseline:a+=b", "nothing there"),
        ("baseline:a+b+b", "given twice"),
        ("baseline:a@", "nothing after @"),
    ],
)
def test_half_written_specs_are_refused(text: str, message: str) -> None:
    """Nothing is dropped silently."""
    with pytest.raises(InputError, match=message):
        Spec.parse(text)


def test_options_that_exclude_each_other() -> None:
    """One of a family, or the default."""
    assert Spec.parse("baseline:a").one_of("mean", "mean", "max") == "mean"
    assert Spec.parse("baseline:a+max").one_of("mean", "mean", "max") == "max"
    with pytest.raises(InputError, match=r"\+mean and \+max exclude"):
        Spec.parse("baseline:a+max+mean").one_of("mean", "mean", "max")
