"""What a fine-tuned model's cosines mean, read again."""

import json
from pathlib import Path

import pytest

from firth.finetune.calibration import FILE, Line, as_dict, read_calibration
from firth.run.errors import InputError

LINE = Line(4.0, 0.5, 0.0, 5.0, n=30, error=0.7, constant_error=1.2)


def test_it_is_read_again(tmp_path: Path) -> None:
    """Equal to what was written."""
    (tmp_path / FILE).write_text(json.dumps(as_dict(LINE)), encoding="utf-8")
    assert read_calibration(tmp_path) == LINE


@pytest.mark.parametrize(
    "said",
    [
        [],
        None,
        {},
        {"kind": []},
        {"kind": "score"},
        as_dict(LINE) | {"kind": "other"},
        as_dict(LINE) | {"slope": "steep"},
    ],
)
def test_what_is_none_is_one_message(tmp_path: Path, said: object) -> None:
    """Whatever JSON the file holds."""
    (tmp_path / FILE).write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(InputError, match="not that of firth finetune"):
        read_calibration(tmp_path)
