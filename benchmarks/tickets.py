"""Support tickets made by rule, and the same complaints in other words: is the original found?

    python benchmarks/tickets.py make FOLDER [--tickets 10000] [--queries 1000] [--seed 13]
    firth corpus build FOLDER/tickets.jsonl --run RUN   (and so on, up to firth index)
    python benchmarks/tickets.py measure RUN FOLDER/queries.tsv [--out FILE]

A ticket is two to four sentences: a complaint about a product, what was seen, what was tried, what
is asked for. Each complaint can be told in three wholly different ways. A query tells the complaint
of one ticket in another way than the ticket does, then, each with a chance of its own, in synonyms,
with words left out, with a slip of the keys, or with its clauses the other way round. Products,
places and times are shared by many tickets, so that no single word tells which one is meant.

`measure` searches for documents, by vectors, by words, and by both together with several weights
and by reciprocal ranks (Cormack et al. 2009, k = 60). Printed is the share of queries whose ticket
comes first, and among the first ten, with 95 % intervals (Wilson); the first half of the queries is
for choosing, the second for reporting.
"""

import argparse
import json
import random
import re
from pathlib import Path

import numpy as np
from scipy.stats import norm

from firth.index.index import Index
from firth.run import progress

PRODUCTS = "Ledgerly Mailbox Scanpad Photobin Calenda Notewell Shipfast Paydesk Roomplan Datavault"
DEVICES = ["laptop", "phone", "tablet", "office computer", "work station", "home computer"]
TIMES = [
    "yesterday", "this morning", "last Monday", "the update", "the weekend", "the move to the new "
    "office", "my holiday", "the password change", "the power cut", "last month",
]  # fmt: skip
THINGS = [
    "invoices", "reports", "customer lists", "pictures", "contracts", "order forms", "time sheets",
    "address labels", "receipts", "price lists",
]  # fmt: skip
PLACES = ["Lisbon", "the warehouse", "accounting", "the front desk", "Ghent", "the second floor"]
COMPLAINTS = [
    (
        "I cannot log in to {product} on my {device} since {time}.",
        "After {time} my password is refused when I sign on to {product} from the {device}.",
        "{product} has locked me out of my account; it happens on the {device} and began with "
        "{time}.",
    ),
    (
        "The {things} of {place} do not print from {product} since {time}.",
        "No paper comes out when {place} sends {things} to the printer out of {product}, and this "
        "started after {time}.",
        "Printing {things} in {product} has failed for {place} ever since {time}.",
    ),
    (
        "{product} crashes on the {device} when I open the {things}.",
        "As soon as the {things} are loaded, {product} closes by itself on my {device}.",
        "Looking at the {things} makes {product} quit without warning on this {device}.",
    ),
    (
        "We were charged twice for {product} at {place} since {time}.",
        "Since {time} the bill of {place} shows the fee for {product} two times.",
        "{place} paid double for the {product} subscription following {time}.",
    ),
    (
        "The {things} from {place} have disappeared from {product} after {time}.",
        "Following {time}, {product} shows none of the {things} that {place} had stored.",
        "{place} is missing all its {things} in {product}; they were there before {time}.",
    ),
    (
        "{product} is very slow on my {device} when I save {things}.",
        "Storing {things} takes minutes in {product} if I work on the {device}.",
        "On the {device} I wait for ages until {product} has written the {things}.",
    ),
    (
        "Please add an account in {product} for our new colleague at {place}.",
        "A person who has just joined {place} needs access to {product}.",
        "{place} has a newcomer; could you set up a user for {product}?",
    ),
    (
        "I get no mail from {product} about {things} since {time}.",
        "The notices on {things} that {product} used to send have not arrived after {time}.",
        "Since {time} my inbox stays empty although {product} should tell me of {things}.",
    ),
]
SEEN = [
    "A red box says that something went wrong.", "The screen stays white.", "There is no message.",
    "A colleague sees the same.", "It worked well before.", "The wheel keeps turning.",
    "It happens every time.", "Only I seem to have this problem.",
]  # fmt: skip
TRIED = [
    "I have restarted the computer.", "Deleting the cache changed nothing.", "A restart as well.",
    "We have checked the cables.", "I have installed it again.", "Waiting an hour changed nothing.",
]  # fmt: skip
ASKED = [
    "Please help soon.", "Could somebody call me back?", "We need it for the end of the month.",
    "Thank you for looking into it.", "What should I do?", "Kindly let me know when it is solved.",
]  # fmt: skip
SYNONYMS = [
    ("cannot", "am unable to"), ("log in to", "enter"), ("crashes", "breaks down"), ("slow",
    "sluggish"), ("open", "call up"), ("disappeared", "vanished"), ("charged", "billed"), ("twice",
    "two times"), ("colleague", "co-worker"), ("add", "create"), ("refused", "rejected"),
    ("printer", "printing machine"), ("mail", "message"), ("began", "started"), ("bill", "invoice"),
    ("missing", "without"), ("paid", "was charged"), ("quit", "stop"), ("failed", "not worked"),
    ("pictures", "photos"), ("customer", "client"), ("laptop", "notebook"), ("phone", "mobile"),
    ("after", "following"), ("since", "from"),
]  # fmt: skip
Z = float(norm.ppf(0.975))


def fill(rng: random.Random) -> dict[str, str]:
    """Values of a ticket."""
    lists = {"product": PRODUCTS.split(), "device": DEVICES, "time": TIMES, "things": THINGS}
    return {name: rng.choice(values) for name, values in (lists | {"place": PLACES}).items()}


def capital(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def reworded(text: str, rng: random.Random) -> str:
    """The text in synonyms, with words left out, with a slip of the keys, or turned round."""
    if rng.random() < 0.7:
        for one, other in SYNONYMS:
            if rng.random() < 0.6:
                text = re.sub(rf"\b{re.escape(one)}\b", other, text)
    if rng.random() < 0.3 and ", " in text:
        first, _, second = text.rstrip(".?").partition(", ")
        text = f"{second}, {first[:1].lower()}{first[1:]}."
    words = text.split()
    if rng.random() < 0.4:
        words = [word for word in words if len(word) > 3 or rng.random() < 0.6] or words
    if rng.random() < 0.4:
        place = rng.randrange(len(words))
        if len(words[place]) > 4:
            at = rng.randrange(1, len(words[place]) - 2)
            word = words[place]
            words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return capital(" ".join(words))


def make(folder: Path, count: int, queries: int, seed: int) -> None:
    """Write tickets.jsonl and queries.tsv (query, id of its ticket) into a folder."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[tuple[int, str]] = set()
    tickets, asked = [], []
    while len(tickets) < count:
        kind, values, way = rng.randrange(len(COMPLAINTS)), fill(rng), rng.randrange(3)
        # What is said is the ticket: two that fill a way of telling alike are the same complaint.
        said = capital(COMPLAINTS[kind][0].format(**values))
        if (kind, said) in seen:
            continue
        seen.add((kind, said))
        name = f"ticket-{len(tickets):05}"
        parts = [capital(COMPLAINTS[kind][way].format(**values)), rng.choice(SEEN)]
        if rng.random() < 0.7:
            parts.append(rng.choice(TRIED))
        if rng.random() < 0.7:
            parts.append(rng.choice(ASKED))
        tickets.append({"id": name, "text": " ".join(parts)})
        other = (way + rng.randrange(1, 3)) % 3
        asked.append((reworded(capital(COMPLAINTS[kind][other].format(**values)), rng), name))
    lines = (json.dumps(ticket) + "\n" for ticket in tickets)
    (folder / "tickets.jsonl").write_text("".join(lines), encoding="utf-8")
    chosen = rng.sample(asked, min(queries, len(asked)))
    rows = (f"{query}\t{name}\n" for query, name in chosen)
    (folder / "queries.tsv").write_text("".join(rows), encoding="utf-8")


def interval(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    centre = (hits + Z**2 / 2) / (n + Z**2)
    reach = Z / (n + Z**2) * (hits * (n - hits) / n + Z**2 / 4) ** 0.5
    return centre - reach, centre + reach


def measure(run: Path, queries: Path, out: Path | None) -> None:
    """Rank the documents for each query in every way, and print how often its own comes first."""
    index = Index.open(run)
    rows = [line.split("\t") for line in queries.read_text(encoding="utf-8").splitlines()]
    ids = {name: d for d, name in enumerate(index.library.document_ids())}
    starts = index.library.document_bounds[:-1]
    stored = index.vectors[0 : len(index)].astype(np.float32)
    everything = np.arange(len(index))
    ranks: dict[str, list[int]] = {}
    for query, name in rows:
        target = ids[name]
        cosines = stored @ index.encode([query])[0]
        words = index.words.scores(query, everything)
        ways = {"vectors": cosines, "words": words}
        for weight in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            ways[f"sum, {weight:g} of vectors"] = weight * cosines + (1 - weight) * words
            z = (cosines - cosines.mean()) / cosines.std()
            y = (words - words.mean()) / (words.std() or 1.0)
            ways[f"sum of z-scores, {weight:g} of vectors"] = weight * z + (1 - weight) * y
        reciprocal = np.zeros(len(starts))
        for scores in (cosines, words):
            best = np.maximum.reduceat(scores, starts)
            reciprocal += 1 / (60 + 1 + (-best).argsort().argsort())
        documents = {way: np.maximum.reduceat(scores, starts) for way, scores in ways.items()}
        documents["reciprocal ranks"] = reciprocal
        for way, scores in documents.items():
            # Equals share their places: the ticket stands in the middle of them.
            above = int((scores > scores[target]).sum())
            level = int((scores == scores[target]).sum()) - 1
            ranks.setdefault(way, []).append(above + level // 2 + (level % 2))
    found = {}
    half = len(rows) // 2
    for way, places in ranks.items():
        line = {}
        for name, part in (("choosing", places[:half]), ("reporting", places[half:])):
            first = sum(place == 0 for place in part)
            low, high = interval(first, len(part))
            ten = sum(place < 10 for place in part) / len(part)
            line[name] = {"first": first / len(part), "low": low, "high": high, "ten": ten}
        found[way] = line
        one, two = line["choosing"], line["reporting"]
        print(
            f"{way:<34} {100 * one['first']:5.1f}   {100 * two['first']:5.1f} "
            f"({100 * two['low']:.1f} to {100 * two['high']:.1f})   ten: {100 * two['ten']:.1f}"
        )
    if out:
        out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Make, or measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("folder", type=Path)
    making.add_argument("--tickets", type=int, default=10_000)
    making.add_argument("--queries", type=int, default=1_000)
    making.add_argument("--seed", type=int, default=13)
    measuring = commands.add_parser("measure")
    measuring.add_argument("run", type=Path)
    measuring.add_argument("queries", type=Path)
    measuring.add_argument("--out", type=Path)
    given = parser.parse_args()
    progress.set_quiet(True)
    if given.command == "make":
        make(given.folder, given.tickets, given.queries, given.seed)
    else:
        measure(given.run, given.queries, given.out)


if __name__ == "__main__":
    main()
