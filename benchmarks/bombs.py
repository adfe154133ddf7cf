"""Small files that become much: what `firth corpus build` makes of each, and what it costs.

    python benchmarks/bombs.py WORK [--only NAME …] [--out FILE]

A line of 1 GiB, packed by gzip and by Zstandard; a Parquet column that says one value of 100 MiB
ten times; HTML with a million open tags, and with a tag of five million attributes; PDF with one
page of twenty million lines (0.8 GB of drawing), and with a million pages that are one and the
same. Beside each, in the same folder, lies a good document, which has to be read. Of each command:
seconds of processor, and the most memory of any of its processes (ru_maxrss), with what an ordinary
file of text takes, which is the first row. Status 1 where a good document is lost.
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from multiprocessing import Process
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from firth.corpus.corpus import Corpus
from firth.run.screen import say

_MIB = 1 << 20


def ordinary(path: Path) -> None:
    """A sentence."""
    path.write_text("A sentence.")


def packed_line(path: Path) -> None:
    """A line of 1 GiB."""
    with gzip.open(path, "wb") if path.suffix == ".gz" else zstandard.open(path, "wb") as file:
        for _ in range(1024):
            file.write(b"x" * _MIB)


def said_again(path: Path) -> None:
    """One value, ten times."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 10, pa.int32()), ["x" * 100 * _MIB])
    pq.write_table(pa.table({"text": column}), path)


def open_tags(path: Path) -> None:
    """Blocks in blocks."""
    path.write_text("<div>" * 1_000_000 + "A sentence.")


def attributes(path: Path) -> None:
    """One tag."""
    path.write_text("<p " + "a=b " * 5_000_000 + ">A sentence.</p>")


def one_page(path: Path) -> None:
    """Much drawing on it."""
    path.write_bytes(pdf(b"BT /F1 12 Tf 72 700 Td (A sentence.) Tj ET\n" * 20_000_000, 1))


def many_pages(path: Path) -> None:
    """The same one."""
    path.write_bytes(pdf(b"BT /F1 12 Tf 72 700 Td (A sentence.) Tj ET\n", 1_000_000))


def pdf(drawing: bytes, times: int) -> bytes:
    """A page that stands there so many times."""
    stream = zlib.compress(drawing, 9)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [" + b"3 0 R " * times + b"] /Count %d >>" % times,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    written, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    table = b"xref\n0 6\n0000000000 65535 f \n" + table
    end = b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(written)
    return written + table + end


BOMBS: dict[str, Callable[[Path], None]] = {
    "ordinary.txt": ordinary,
    "line.txt.gz": packed_line,
    "line.txt.zst": packed_line,
    "value.parquet": said_again,
    "tags.html": open_tags,
    "attributes.html": attributes,
    "page.pdf": one_page,
    "pages.pdf": many_pages,
}


def build(work: Path, name: str) -> dict[str, Any]:
    """What came of a file, and the cost."""
    folder, run = work / "documents", work / "run"
    for each in (folder, run):
        shutil.rmtree(each, ignore_errors=True)
    folder.mkdir(parents=True)
    # By another process: what starts `firth` hands on the most memory that it ever had.
    maker = Process(target=BOMBS[name], args=(folder / name,))
    maker.start()
    maker.join()
    (folder / "good.jsonl").write_text('{"text": "The ship reached the harbour."}\n')
    size = (folder / name).stat().st_size
    command = [
        sys.executable,
        "-m",
        "firth",
        "corpus",
        "build",
        str(folder),
        "--run",
        str(run),
        "--quiet",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    skipped = run / "corpus" / "skipped.jsonl"
    reasons = []
    if process.returncode == 0 and skipped.exists():
        with skipped.open(encoding="utf-8") as lines:
            reasons = [f"{found['reason']}: {found['detail']}" for found in map(json.loads, lines)]
    sources = Corpus.open(run).document_sources() if process.returncode == 0 else []
    read = any(Path(source).name == "good.jsonl" for source in sources)
    return {
        "file": name,
        "bytes": size,
        "processor_s": round(used.ru_utime + used.ru_stime, 1),
        "memory_mb": used.ru_maxrss // 1024,
        "good_one_read": read,
        "skipped": reasons[:1],
    }


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", nargs="+", default=list(BOMBS), choices=list(BOMBS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = []
    for name in given.only:
        rows.append(build(given.work.resolve(), name))
        say(json.dumps(rows[-1]))
    if given.out:
        given.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    sys.exit(0 if all(row["good_one_read"] for row in rows) else 1)


if __name__ == "__main__":
    main()
