"""Which model is better here, without labels: questions made from held-out documents."""

from firth.run.stage import Stage

CHECK = Stage("check", "firth check MODEL... --run", libraries=("pyarrow",))
