"""Seeds: figures depend on them, so they never change."""

import subprocess
import sys

from firth.run.seeds import derive_seed


def test_seeds_are_fixed_and_differ_by_purpose() -> None:
    """Another number or name gives another seed, the same ones the same in every process."""
    seeds = {derive_seed(*names) for names in ((13,), (14,), (13, "words"), (13, "words", 1))}
    assert len(seeds) == 4
    assert all(0 <= seed < 2**63 for seed in seeds)
    code = "from firth.run.seeds import derive_seed; print(derive_seed(13, 'words', 1))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert int(printed) == derive_seed(13, "words", 1) == 1_678_798_740_314_119_500
