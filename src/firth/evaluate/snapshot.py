"""Which version of a model a hub name stands for."""

from firth.run.files import fingerprint_value
from firth.run.hub import hub_is_reachable

_ORGANISATION = "sentence-transformers"
_FILES = ("modules.json", "config_sentence_transformers.json", "config.json")
_PATIENCE = 10.0
"""Seconds to wait for an answer."""


def fingerprint_snapshot(name: str) -> str | None:
    """What identifies the files behind a hub name: the commit it stands for now.

    Asked of the hub where it can be reached; else the commit in the local copy, which is what
    would be opened then. None where neither is known.
    """
    try:
        import huggingface_hub
        from huggingface_hub import constants
    except ImportError:
        return None
    # sentence-transformers looks for a bare name in its own organisation.
    repository = name if "/" in name else f"{_ORGANISATION}/{name}"
    commit: str | None = None
    if not constants.HF_HUB_OFFLINE and hub_is_reachable():
        try:
            commit = huggingface_hub.model_info(repository, timeout=_PATIENCE).sha
        except Exception:  # noqa: BLE001
            # Its HTTP library, and so its errors, differ between versions. Nothing is lost: without
            # an identity the model is scored anew, and what is wrong comes up when it is opened.
            return None
    else:
        for file in _FILES:
            try:
                path = huggingface_hub.try_to_load_from_cache(repository, file)
            except ValueError:  # not a name the hub could have
                return None
            if isinstance(path, str):
                commit = path.replace("\\", "/").split("/snapshots/")[-1].split("/")[0]
                break
    return fingerprint_value([repository, commit]) if commit else None
