"""What would stop a whole run later, found before any work starts, all at once."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from firth.corpus.inputs import resolve_inputs
from firth.evaluate.task import find_task
from firth.run.config import Config
from firth.run.errors import ConfigError, FirthError


def check(config: Config, source: str) -> None:
    """Look at everything the configuration names outside itself.

    Args:
        config: What is to be run.
        source: Where it comes from, for the message.

    Raises:
        ConfigError: Every input, file and folder that is not there, and every unknown task.
    """
    problems = []
    if not config.corpus.inputs:
        problems.append("corpus.inputs: got none; expected files, folders, globs or hub:NAME")
    questions: list[Callable[[], object]] = [
        partial(find_task, name) for name in config.evaluate.tasks
    ]
    if config.corpus.inputs:
        questions.insert(0, partial(resolve_inputs, config.corpus.inputs))
    for question in questions:
        try:
            question()
        except FirthError as error:
            problems.append(str(error).replace("\n", "\n  "))
    problems += [
        f"harvest.blocklist: {name}: no such file"
        for name in config.harvest.blocklist
        if not Path(name).is_file()
    ]
    data_dir = config.evaluate.data_dir
    if data_dir and not Path(data_dir).is_dir():
        problems.append(f"evaluate.data_dir: {data_dir}: no such folder")
    if problems:
        raise ConfigError(source, problems)
