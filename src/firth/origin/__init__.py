"""Origin: context sets, context fit (Eq. 3), similarity (Eq. 4) and its explanation."""
