"""Sets of other kinds: relatedness, arguments, sections of an article, news texts."""

from firth.evaluate.definition import (
    ALL,
    HubSet,
    Kind,
    LocalFile,
    Original,
    OriginalFiles,
    Published,
    Task,
)
from firth.evaluate.metrics import Metric

STR_2021 = Task(
    name="str-2021",
    title="STR-2021",
    kind=Kind.PAIRS,
    metrics=(Metric.SPEARMAN,),
    splits={
        ALL: Published.of(
            {
                "Formality": 1000,
                "Goodreads": 1000,
                "ParaNMT": 750,
                "SNLI": 750,
                "STS": 250,
                "Stance": 750,
                "Wikipedia": 1000,
            }
        )
    },
    default=(ALL,),
    files=(LocalFile("STR-2021/pairs.tsv"),),
    hub=HubSet("SemRel/SemRel2024", {ALL: "train"}, config="eng", columns={"score": "label"}),
    score_range=(0, 1),
    licence="research only, not to be redistributed",
    source="Abdalla, Vishnubhotla & Mohammad 2021",
    original=OriginalFiles(Original.STR, ("STR-2021", "STR")),
)

AFS = Task(
    name="afs",
    title="Argument Facet Similarity",
    kind=Kind.PAIRS,
    metrics=(Metric.SPEARMAN, Metric.PEARSON),
    splits={ALL: Published.of({"death_penalty": 2000, "gay_marriage": 2000, "gun_control": 2000})},
    default=(ALL,),
    files=(LocalFile("AFS/pairs.tsv"),),
    hub=None,
    score_range=(0, 5),
    licence="see the page of its authors",
    source="Misra, Ecker & Walker, SIGDIAL 2016",
    original=OriginalFiles(Original.AFS, ("AFS", "ArgumentFacetSimilarity")),
)

WIKI_SECTIONS = Task(
    name="wiki-sections",
    title="Wikipedia Sections",
    kind=Kind.TRIPLETS,
    metrics=(Metric.ACCURACY,),
    splits={"train": Published(1_779_417), "dev": Published(220_400), "test": Published(222_957)},
    default=("test",),
    files=(
        LocalFile("WikiSections/triplets.tsv"),
        LocalFile(
            "WikiSections-substitute/triplets.tsv",
            note="a substitute made by the same recipe from other articles: "
            "not comparable with published figures",
        ),
    ),
    hub=HubSet(
        "sentence-transformers/wikipedia-sections",
        {"train": "train", "dev": "validation", "test": "test"},
        config="triplet",
    ),
    score_range=(0, 1),
    licence="CC BY-SA 3.0",
    source="Ein Dor et al., ACL 2018",
)

LEE = Task(
    name="lee",
    title="Lee & Pincombe news texts",
    kind=Kind.PAIRS,
    metrics=(Metric.PEARSON, Metric.SPEARMAN),
    splits={ALL: Published(1225)},
    default=(ALL,),
    files=(),
    hub=None,
    score_range=(0, 1),
    licence="bundled with gensim, for research",
    source="Lee, Pincombe & Welsh, CogSci 2005",
)
