"""ostler export"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click
import msgspec

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.output import print_hint, print_json
from ostler.files.atomic import write_atomic
from ostler.files.disk import to_disk_error
from ostler.project.tasks.files.export import TaskRecord, export_lines, export_trajectory

Format = Literal["ndjson", "atif", "html"]


@click.command("export")
@click.argument("task", metavar="ID")
@click.option(
    "--format",
    "kind",
    type=click.Choice(("ndjson", "atif", "html")),
    default="ndjson",
    help="ndjson: all records, one per line; atif: a trajectory; html: one page that replays offline.",
)
@click.option("-o", "--output", metavar="FILE", help="The file to write.  [default: stdout]")
@json_option
def command(task: str, kind: Format, output: str | None, as_json: bool) -> None:
    """Export the complete record of a task.

    Keys and passwords of known formats are removed; check the file before you share it.
    """
    with open_project() as project:
        bundle = TaskRecord(project, project.resolve(task))
        pieces = _encode(bundle, kind)
        if output is None or output == "-":
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.flush()
            return
        _write(Path(output), pieces)
    if as_json:
        print_json({"schema": "ostler.exported/1", "id": bundle.id, "format": kind, "path": output})
    else:
        print_hint(f"Wrote {output}.")


def _write(path: Path, pieces: Iterator[bytes]) -> None:
    """Write the file atomically; write into a device or pipe instead of replacing it."""
    target = path.resolve()
    if not target.exists() or target.is_file() or target.is_dir():
        write_atomic(target, b"".join(pieces))
        return
    try:
        with target.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise to_disk_error(path, error) from error


def _encode(bundle: TaskRecord, kind: Format) -> Iterator[bytes]:
    match kind:
        case "ndjson":
            return (msgspec.json.encode(line) + b"\n" for line in export_lines(bundle))
        case "atif":
            return iter((msgspec.json.format(msgspec.json.encode(export_trajectory(bundle))), b"\n"))
        case "html":
            from ostler.web.single_page import make_single_page  # noqa: PLC0415

            return iter((make_single_page(bundle).encode(),))
