"""What a Transformer's training holds of the memory that it freed.

    python benchmarks/training_memory.py [--steps 100] [--layers 3] [--out FILE]

Layers of SmolLM2-135M's shape with random weights are trained (`firth.run.training`, bfloat16
autocast) on batches of 128 made-up sentences of 20 to 90 tokens, as a Surrogate of layers is: as it
is, without giving freed memory back, and with batches in four parts (`firth.run.parts`). Each in a
process of its own: the memory of its own (RssAnon) at the end of the last step, the most at the end
of any, the most the system ever counted (VmHWM), and seconds of processor. Linux with glibc.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WAYS = {"given back": 1, "kept": 1, "in four parts": 4}
"""Parts of a batch, by way."""


def memory() -> dict[str, int]:
    """Bytes of this process: its own now, and the most that was counted."""
    lines = Path("/proc/self/status").read_text().splitlines()
    figures = dict(line.split(":", 1) for line in lines if ":" in line)
    return {name: 1024 * int(figures[name].split()[0]) for name in ("RssAnon", "VmHWM")}


def measure(way: str, steps: int, layers: int) -> dict[str, float]:
    """Train in this process."""
    import torch
    import transformers

    from firth.run import training
    from firth.run.parts import in_parts

    if way == "kept":
        training._TRIM_STEPS = steps + 1
    torch.manual_seed(13)
    hub: Any = transformers  # mypy: parts of it are untyped
    config = hub.LlamaConfig(
        vocab_size=49_152, hidden_size=576, intermediate_size=1_536, num_hidden_layers=layers,
        num_attention_heads=9, num_key_value_heads=3, attn_implementation="eager",
    )  # fmt: skip
    model = hub.LlamaModel(config)
    model.get_input_embeddings().weight.requires_grad_(False)
    held: list[int] = []

    def batch_at(number: int) -> torch.Tensor:
        held.append(memory()["RssAnon"])
        made = torch.Generator().manual_seed(number)
        length = int(torch.randint(20, 91, (), generator=made))
        return torch.randint(0, config.vocab_size, (128, length), generator=made)

    def loss_of(tokens: torch.Tensor) -> torch.Tensor:
        def vectors(some: slice) -> torch.Tensor:
            states: torch.Tensor = model(input_ids=tokens[some], use_cache=False).last_hidden_state
            return states.float().mean(dim=1)

        return in_parts(vectors, len(tokens), WAYS[way]).square().mean()

    schedule = training.Schedule(
        steps, 3e-5, steps // 10, checkpoint_steps=steps, seed=13, bfloat16=True, parts=WAYS[way]
    )
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        training.train(model, batch_at, loss_of, schedule, Path(folder), way)
    found = memory()
    return {
        "at the end": found["RssAnon"],
        "most after a step": max(held),
        "most": found["VmHWM"],
        "processor": time.process_time() - started,
    }


def main() -> None:
    """Each way in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        found = measure(given.way, given.steps, given.layers)
        given.out.write_text(json.dumps(found), encoding="utf-8")
        return
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS:
            place = Path(folder) / "found.json"
            size = ["--steps", str(given.steps), "--layers", str(given.layers)]
            command = [sys.executable, __file__, "--way", way, *size, "--out", str(place)]
            subprocess.run(command, check=True)
            one = results[way] = json.loads(place.read_text(encoding="utf-8"))
            told = ", ".join(
                f"{name} {value / 2**20:,.0f} MiB"
                for name, value in one.items()
                if name != "processor"
            )
            print(f"{way:14} {told}, {one['processor']:,.0f} s of processor")
    if given.out:
        given.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
