"""A new model is opened first in a process that has little memory and time.

A small file can ask a library for a million layers, or for a pattern that is never matched. What
passes is remembered by its fingerprint among the user's caches, so that it is opened twice once.
"""

import os
import subprocess
from contextlib import suppress

from firth.encoders.folder import ModelKind, PretrainedFiles
from firth.run.errors import InputError
from firth.run.executor import DEVICE
from firth.run.files import cache_folder
from firth.run.limits import command_of
from firth.run.settings import EncoderSettings

PROBED = "FIRTH_PROBED"
"""Variable of a process in which models are opened at once, such as the probe itself."""
_NO_MEMORY = ("MemoryError", "alloc", "cannot map")
"""What Python, libraries and the loader of libraries say where memory ends."""
_MEMORY, _MEMORY_A_BYTE = 4 << 30, 24
"""Bytes that any model gets, and for each byte of its weights: four bits become two float32."""
_SECONDS, _SECONDS_A_GIGABYTE = 60, 120
"""Seconds of processor time. The wall-clock limit is four times as long, for slow disks."""
REFUSED = 3
"""Status of the process where firth refuses the model: its caller then refuses it too."""


def probe(place: PretrainedFiles, settings: EncoderSettings | None = None) -> None:
    """Open a model elsewhere and encode two texts with it, unless it passed before.

    A model that needs more memory or time than its size explains is refused. Another error of it is
    left to the caller, who opens it then.
    """
    if os.environ.get(PROBED) or place.kind is ModelKind.STATIC:
        return
    passed = None
    with suppress(InputError):  # Without a cache, it is probed each time.
        passed = cache_folder() / "models" / place.fingerprint
        if passed.exists():
            return
    size = sum((place.folder / name).stat().st_size for name in place.files)
    memory = _MEMORY + _MEMORY_A_BYTE * size
    seconds = _SECONDS + _SECONDS_A_GIGABYTE * size // (1 << 30)
    given = (settings or EncoderSettings()).model_dump_json()
    command = command_of("firth.encoders.kinds", "try_model", place.model, given, memory, seconds)
    environment = {**os.environ, PROBED: "1", DEVICE: "cpu", "CUDA_VISIBLE_DEVICES": ""}
    try:
        done = subprocess.run(
            command, env=environment, timeout=4 * seconds,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        status, said = done.returncode, done.stderr.decode(errors="replace").strip()
    except subprocess.TimeoutExpired:
        status, said = -1, ""
    if status < 0 or any(sign in said for sign in _NO_MEMORY):
        raise InputError(
            f"{place.model}: this model is not opened: it needs more than {memory >> 30} GB of "
            f"memory or {seconds} s, and its files have {size >> 20:,} MB. Expected a model that "
            "needs what its size explains"
        )
    if status == REFUSED:
        return
    if status:
        what = (said.splitlines() or ["no message"])[-1]
        raise InputError(f"{place.model}: cannot be opened: {what}. Expected an encoder of texts")
    if passed is not None:
        with suppress(OSError):
            passed.parent.mkdir(parents=True, exist_ok=True)
            passed.touch()
