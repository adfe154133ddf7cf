"""Whether the hub can be reached, asked before minutes are spent on retries."""

import os
import socket
from urllib.parse import urlsplit

_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_YES = {"1", "true", "yes", "on"}


def hub_is_reachable() -> bool:
    """Whether asking the hub makes sense: its name resolves, or a proxy or offline mode is set.

    Without this check, a machine without a network would wait through minutes of retries.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in _YES or any(map(os.environ.get, _PROXIES)):
        return True
    from huggingface_hub import constants

    try:
        socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True
