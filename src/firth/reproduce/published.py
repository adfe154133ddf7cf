"""Figures as printed by Yuan & Zhang, "CBOS", Table I: Pearson on 20 sets of STS 2012 to 2015."""

from collections.abc import Mapping

SYSTEMS: Mapping[str, str] = {
    "skip-gram": "skip-gram",
    "cbow": "CBOW",
    "skip-thought": "skip-thought",
    "siamese-cbow": "Siamese CBOW",
    "cbos": "CBOS",
}
"""Our baseline → the name in Table I, in the order of its columns."""

# fmt: off
_PRINTED: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("sts12", "MSRpar"): (0.3740, 0.3419, 0.0560, 0.4379, 0.4530),
    ("sts12", "MSRvid"): (0.5213, 0.5099, 0.5807, 0.4522, 0.7254),
    ("sts12", "OnWN"): (0.6040, 0.6320, 0.6045, 0.6444, 0.6443),
    ("sts12", "SMTeuroparl"): (0.3071, 0.3976, 0.4203, 0.4503, 0.4599),
    ("sts12", "SMTnews"): (0.4487, 0.4462, 0.3911, 0.3902, 0.3967),
    ("sts13", "FNWN"): (0.3480, 0.2736, 0.3124, 0.2322, 0.3857),
    ("sts13", "OnWN"): (0.4745, 0.5165, 0.2418, 0.4985, 0.6347),
    ("sts13", "SMT"): (0.1838, 0.2494, 0.3378, 0.3312, 0.3118),
    ("sts13", "headlines"): (0.5935, 0.5730, 0.3861, 0.6534, 0.6486),
    ("sts14", "OnWN"): (0.5848, 0.6068, 0.4682, 0.6073, 0.7245),
    ("sts14", "deft-forum"): (0.3193, 0.3339, 0.3736, 0.4082, 0.4764),
    ("sts14", "deft-news"): (0.5906, 0.5737, 0.4617, 0.5913, 0.6269),
    ("sts14", "headlines"): (0.5790, 0.5455, 0.4031, 0.6364, 0.6453),
    ("sts14", "images"): (0.5131, 0.5056, 0.4257, 0.6497, 0.7722),
    ("sts14", "tweet-news"): (0.6336, 0.6897, 0.5138, 0.7315, 0.7233),
    ("sts15", "answers-forums"): (0.1892, 0.1767, 0.2784, 0.2181, 0.3226),
    ("sts15", "answers-students"): (0.3233, 0.3344, 0.2661, 0.3671, 0.3458),
    ("sts15", "belief"): (0.2435, 0.3277, 0.4584, 0.4769, 0.5282),
    ("sts15", "headlines"): (0.1875, 0.1806, 0.1248, 0.2151, 0.2186),
    ("sts15", "images"): (0.2454, 0.2292, 0.2100, 0.2560, 0.2829),
}
# fmt: on

SETS: tuple[tuple[str, str], ...] = tuple(_PRINTED)
"""(task, subtask) of the 20 sets, in the order of Table I."""

TABLE1: Mapping[str, Mapping[tuple[str, str], float]] = {
    name: {key: round(100 * figures[place], 2) for key, figures in _PRINTED.items()}
    for place, name in enumerate(SYSTEMS)
}
"""Baseline → (task, subtask) → Pearson in percent, as printed."""
