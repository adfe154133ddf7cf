"""Languages: rank correlation with human ratings in nine languages, by what was learned from.

usage: python benchmarks/languages.py --data-dir DIR --runs FOLDER [--encoder MODEL]

`DIR/corpora/LANGUAGE_*.jsonl.gz` are documents, and `DIR/eval/SET/pairs.tsv` are SemRel2024 and
translations of STSb. Runs are built in `FOLDER`, and used again where they are there. `MODEL` is
measured alone and under the scorer of each run, in a table of its own. `--mixed` records that of
corpora of two languages, of which one is English, from `DIR/../corpora` and `DIR/../eval`.
"""

import argparse
import gzip
import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import zscore

from accuracy import ALONE, Alone
from figures import Cell, record
from firth.corpus.build import build_corpus
from firth.encoders.pretrained import build_pretrained
from firth.encoders.words import build_words
from firth.evaluation.baselines import open_baseline
from firth.evaluation.bootstrap import estimate
from firth.evaluation.evaluate import Evaluation, evaluate
from firth.evaluation.questions import build_questions
from firth.run.errors import require
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.scorer.scorer import SENTENCES, Scorer
from firth.text.types import Floats, PairScorer, TextPair

NGRAMS, SCORER = "n-grams of stems", "scorer"
BEST, BETTER = "best n-grams", "better of both"
PLAIN = "2 to 4"
SIZES_OF_NGRAMS = {"1": (1, 1), "1 to 2": (1, 2), PLAIN: (2, 4), "3 to 5": (3, 5)}
"""Characters of the n-grams of the simple rivals."""
OVER = {"multilingual-e5-small": "e5-small", "use-multilingual": "use"}
"""Encoders that packages bring, and their short names."""
READ_BY_USE = ("arb", "deu", "fra", "zho")
LANGUAGES = {
    "afr": ("Afrikaans", "afr", "0.07M words, talks"),
    "amh": ("Amharic", "amh", "2.3M, news"),
    "arb": ("Arabic", "arb", "1.8M, news"),
    "hau": ("Hausa", "hau", "0.8M, news"),
    "hin": ("Hindi", "hin", "1.3M, software help, literature"),
    "tel": ("Telugu", "tel", "0.6M, old literature, talks"),
    "deu": ("German", "stsb-de", "3.0M, novels, news"),
    "fra": ("French", "stsb-fr", "3.4M, novels, news"),
    "zho": ("Chinese", "stsb-zh", "3M characters, software help"),
}
SIZES = {"0.05M words": 50_000, "0.8M": 800_000, "all": 10**9}
GROWN = ("hau", "deu")
OWN, FREQUENT, SINGLE = "each by its own", "all by the most frequent", "that language alone"
"""How the texts of a corpus of two languages are read, and a corpus of one of both."""
MIXED = {
    "de+fr": {
        "German": ("corpora/deu_10kgnad_test", "eval/stsb-de"),
        "French": ("corpora/fra_masakhanews", "eval/stsb-fr"),
    },
    "en+hi": {
        "English": ("../corpora/news_onestop", "../eval/STSb"),
        "Hindi": ("corpora/hin_ltrc_literature", "eval/hin"),
    },
}
Rows = dict[str, list[Cell]]
Shown = Sequence[str | tuple[str, str]]
COMMAND = "python benchmarks/languages.py --data-dir DATA --runs RUNS"
DATA = "SemRel2024 and machine translations of STSb; {split} splits: {sizes}"


class CharNgrams:
    """Tf-idf of character n-grams within words, with the idf of the set itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return cosines, (n,)."""
        text = require("sklearn.feature_extraction.text", "reproduce", "this baseline")
        sizes = SIZES_OF_NGRAMS[self.name]
        table = text.TfidfVectorizer(analyzer="char_wb", ngram_range=sizes, sublinear_tf=True)
        rows = table.fit_transform([side for pair in zip(*pairs, strict=True) for side in pair])
        products: Floats = np.asarray(rows[: len(pairs)].multiply(rows[len(pairs) :]).sum(axis=1))
        return products.ravel()


def main() -> None:
    """Build, measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--split", default="test")
    parser.add_argument("--encoder", choices=OVER, help="record the table over an encoder alone")
    parser.add_argument("--mixed", action="store_true", help="the table of two languages alone")
    given = parser.parse_args()
    given.runs.mkdir(exist_ok=True)
    if given.mixed:
        mixed(given)
        return
    if given.encoder:
        over(given)
        return
    done = {code: measured(given, code) for code in LANGUAGES}
    for code, one in done.items():
        print(code, *(f"{name} {one.find(name, one.sets[0].data.id)}" for name in one.models))
    if given.split != "test":
        return
    data = DATA.format(split="test", sizes=_sizes(done))
    best = {code: best_of(one, SIZES_OF_NGRAMS) for code, one in done.items()}
    rows: Rows = {LANGUAGES[code][0]: [LANGUAGES[code][2]] for code in done}
    shown: Shown = [SCORER, (SCORER, BEST), (ALONE, BEST)]
    _record("languages", ["learned from"], rows, shown, done, data, {BEST: best})
    mixed(given)
    grown(given.data_dir, given.runs)


def best_of(done: Evaluation, names: Collection[str]) -> str:
    """Return which of some systems is the best on the set itself."""
    return max(names, key=lambda name: done.find(name, done.sets[0].data.id).value or 0.0)


def measured(given: argparse.Namespace, code: str) -> Evaluation:
    """Build the run of a language from all its text, and evaluate it with the baselines."""
    files = sorted((given.data_dir / "corpora").glob(f"{code}_*.jsonl.gz"))
    return evaluated(opened(files, given.runs / code), given.data_dir, code, given.split)


def opened(files: Sequence[Path], run: Path, language: str = "auto") -> dict[str, PairScorer]:
    """Build a run, and open its scorer and the baselines."""
    if not run.is_dir():
        settings = parse_settings({"corpus": {"language": language}}, "benchmark")
        build_corpus(Run.create(run, settings), [str(file) for file in files])
    build_words(Run.open(run))
    scorer = Scorer.open(run)
    return {
        **{name: CharNgrams(name) for name in SIZES_OF_NGRAMS},
        NGRAMS: open_baseline("ngrams", run),
        SCORER: scorer,
        ALONE: Alone(scorer.similarities),
    }


def over(given: argparse.Namespace) -> None:
    """Record the text, an encoder, and the scorer over it, with its vectors as they are."""
    model, short = given.encoder, OVER[given.encoder]
    both, plain = f"scorer over {short}", "z-sum"
    done, better = dict[str, Evaluation](), dict[str, str]()
    for code in READ_BY_USE if short == "use" else LANGUAGES:
        copy = given.runs / f"{code}-{short}"
        if not copy.is_dir():
            shutil.copytree(given.runs / code, copy)
        varied = Run.open(copy).changed({"encoder": {"model": model}})
        for stage in (build_words, build_questions, build_pretrained):
            stage(varied)
        over_encoder = Scorer.open(varied)
        scorers: dict[str, PairScorer] = {
            SCORER: Scorer.open(given.runs / code),
            both: over_encoder,
            short: Alone(over_encoder.components[SENTENCES].similarities),
            PLAIN: CharNgrams(PLAIN),
        }
        one = done[code] = evaluated(scorers, given.data_dir, code, given.split)
        scores = one.sets[0].scores
        scores[plain] = zscore(scores[short]) + zscore(scores[PLAIN])
        better[code] = best_of(one, (SCORER, short))
        print(code, *(f"{name} {one.find(name, one.sets[0].data.id)}" for name in one.models))
    data = DATA.format(split=given.split, sizes=_sizes(done))
    shown: Shown = [both, (both, BETTER), (both, plain)]
    name = f"languages-over-{short}"
    _record(name, [], {}, shown, done, data, {BETTER: better}, f"{COMMAND} --encoder {model}")


def mixed(given: argparse.Namespace) -> None:
    """Record the accuracy in each of two languages of a corpus, by how its texts are read."""
    done: dict[str, Evaluation] = {}
    for languages, parts in MIXED.items():
        files = {t: given.data_dir / f"{corpus}.jsonl.gz" for t, (corpus, _) in parts.items()}
        first = languages.split("+")[0]
        named = {OWN: (languages, "auto"), FREQUENT: (f"{languages}-as-{first}", first)}
        both = {
            name: opened([*files.values()], given.runs / folder, language)[SCORER]
            for name, (folder, language) in named.items()
        }
        for title, (_, pairs) in parts.items():
            alone = opened([files[title]], given.runs / f"{title}-alone")[SCORER]
            path = given.data_dir / pairs / "pairs.tsv"
            done[title] = evaluate({**both, SINGLE: alone}, [f"{path}:{given.split}"])
            print(title, *(f"{n} {done[title].find(n, done[title].sets[0].data.id)}" for n in both))
    shown: Shown = [OWN, (OWN, FREQUENT), (OWN, SINGLE)]
    sizes = ", ".join(f"{title} {len(one.sets[0].data.rows):,}" for title, one in done.items())
    data = DATA.format(split=given.split, sizes=sizes)
    _record("languages-mixed", [], {}, shown, done, data, command=f"{COMMAND} --mixed")


def evaluated(
    scorers: Mapping[str, PairScorer], data_dir: Path, code: str, split: str
) -> Evaluation:
    """Evaluate on a split of the set of a language."""
    return evaluate(scorers, [f"{data_dir / 'eval' / LANGUAGES[code][1] / 'pairs.tsv'}:{split}"])


def sampled(files: Sequence[Path], words: int, path: Path) -> Path:
    """Write random documents of some files until they have so many words, and return the path."""
    read = [gzip.decompress(file.read_bytes()).decode() for file in files]
    lines = [line for text in read for line in text.split("\n") if line]
    kept, total = [], 0
    for place in np.random.default_rng(13).permutation(len(lines)):
        kept.append(lines[place])
        total += len(json.loads(lines[place])["text"].split())
        if total >= words:
            break
    path.write_text("\n".join(kept), encoding="utf-8")
    return path


def grown(data_dir: Path, runs: Path) -> None:
    """Record the accuracy by the size of the corpus, on development splits."""
    rows: Rows = {}
    done: dict[str, Evaluation] = {}
    for code in GROWN:
        files = sorted((data_dir / "corpora").glob(f"{code}_*.jsonl.gz"))
        for heading, words in SIZES.items():
            name = code if heading == "all" else f"{code}-{words}"
            file = sampled(files, words, runs / f"{name}.jsonl")
            scorers = opened([file], runs / name)
            one = done[name] = evaluated(scorers, data_dir, code, "dev")
            for system in (NGRAMS, SCORER):
                row = rows.setdefault(f"{LANGUAGES[code][0]}: {system}", [])
                row.append(one.find(system, one.sets[0].data.id))
    data = DATA.format(split="development", sizes=_sizes({code: done[code] for code in GROWN}))
    record("languages-sizes", ["", *SIZES], rows, command=COMMAND, data=data)


def _record(
    name: str,
    headings: Sequence[str],
    rows: Rows,
    shown: Shown,
    done: Mapping[str, Evaluation],
    data: str,
    chosen: Mapping[str, Mapping[str, str]] | None = None,
    command: str = COMMAND,
) -> None:
    """Record systems, or differences of two, of each evaluation, and their means.

    `chosen` says which system a name such as `BEST` is in each evaluation.
    """
    columns = [" - ".join(one) if isinstance(one, tuple) else one for one in shown]
    wanted = [one if isinstance(one, tuple) else (one,) for one in shown]
    samples = {
        code: [
            one.sets[0].sample(
                [(chosen or {}).get(name, {}).get(code, name) for name in names],
                one.sets[0].data.metrics[0],
                one.seed,
            )
            for names in wanted
        ]
        for code, one in done.items()
    }
    titles = {code: LANGUAGES[code][0] if code in LANGUAGES else code for code in done}
    for code, each in samples.items():
        rows.setdefault(titles[code], []).extend(map(estimate, each))
    means = [estimate(list(each)) for each in zip(*samples.values(), strict=True)]
    rows["mean"] = [*(None for _ in headings), *means]
    record(name, ["", *headings, *columns], rows, command=command, data=data)


def _sizes(done: Mapping[str, Evaluation]) -> str:
    return ", ".join(f"{LANGUAGES[c][0]} {len(one.sets[0].data.rows):,}" for c, one in done.items())


if __name__ == "__main__":
    main()
