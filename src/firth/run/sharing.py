"""Several processes that share a training, as torchrun or `accelerate launch` starts them.

All are given the same command. The first builds: it alone holds the run's lock, writes, keeps
Adam's moments and looks at the model. The others do the same in a folder that goes, and learn from
their share of each step, batches or parts of one (`firth.run.parts`): their gradients go to the
first, its weights to them. So a run has the same bytes however many share it, but for the order in
which gradients are added.
"""

import atexit
import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")


def size() -> int:
    """How many processes there are, this one included."""
    return int(os.environ["WORLD_SIZE"]) if "RANK" in os.environ else 1


def rank() -> int:
    """Which one this is; 0 is the one that builds."""
    return int(os.environ["RANK"]) if size() > 1 else 0


def tell(value: T) -> T:
    """What the first process has for this value; the others wait for it."""
    if size() == 1:
        return value
    from accelerate.utils import broadcast_object_list

    _connected()
    (found,) = broadcast_object_list([value])
    return found  # type: ignore[no-any-return]


def gather(mine: Mapping[int, T]) -> dict[int, T]:
    """What all processes have, by number."""
    from accelerate.utils import gather_object

    _connected()
    return dict(gather_object([*mine.items()]))


def give(vector: "Tensor") -> None:
    """Overwrite a vector with that of the first process."""
    import torch.distributed as group

    _connected()
    group.broadcast(vector, 0)


def add(vector: "Tensor") -> None:
    """Let the first process have the sum of all vectors, in place of its own."""
    import torch.distributed as group

    _connected()
    group.reduce(vector, 0)


@cache
def _connected() -> Any:
    from accelerate import PartialState

    from firth.run.precision import device

    state = PartialState(cpu=device().type == "cpu")
    atexit.register(state.destroy_process_group)
    return state
