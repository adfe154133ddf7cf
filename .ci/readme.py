"""Run the `$ ` lines of README's console blocks and its Python blocks, in order, in a folder.

usage: readme.py FOLDER    (a clone; what the commands make is left there)
"""

import re
import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
text = (folder / "README.md").read_text(encoding="utf-8")
for kind, block in re.findall(r"^```(console|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
    if kind == "python":
        commands = [[sys.executable, "-c", block]]
    else:
        lines = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        commands = [["bash", "-euo", "pipefail", "-c", line] for line in lines]
    for command in commands:
        sys.stdout.write(f"$ {command[-1].strip()}\n")
        sys.stdout.flush()
        subprocess.run(command, cwd=folder, check=True)
