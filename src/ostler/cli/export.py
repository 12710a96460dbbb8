"""ostler export"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click
import msgspec

from ostler.cli.out import emit, hint, json_option, open_project
from ostler.files.atomic import write_atomic
from ostler.files.disk import disk_error
from ostler.project.bundle import Bundle
from ostler.project.export import export_lines, export_trajectory

Format = Literal["ndjson", "atif", "html"]


@click.command("export")
@click.argument("task", metavar="ID")
@click.option(
    "--format",
    "kind",
    type=click.Choice(("ndjson", "atif", "html")),
    default="ndjson",
    help="ndjson: everything, a document per line; atif: a trajectory; html: one page that replays offline.",
)
@click.option("-o", "--output", metavar="FILE", help="Where to write it.  [default: stdout]")
@json_option
def command(task: str, kind: Format, output: str | None, as_json: bool) -> None:
    """The whole record of a task, to keep or to pass on.

    Keys and passwords of known forms are left out; read it before you pass it on all the same.
    """
    with open_project() as project:
        bundle = Bundle(project, project.resolve(task))
        pieces = _pieces(bundle, kind)
        if output is None or output == "-":
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.flush()
            return
        _write(Path(output), pieces)
    if as_json:
        emit({"schema": "ostler.exported/1", "id": bundle.id, "format": kind, "path": output})
    else:
        hint(f"wrote {output}")


def _write(path: Path, pieces: Iterator[bytes]) -> None:
    """A link leads to its file; a device or a pipe takes what is written, and is never replaced."""
    place = path.resolve()
    if not place.exists() or place.is_file() or place.is_dir():
        write_atomic(place, b"".join(pieces), mode=0o644)
        return
    try:
        with place.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise disk_error(path, error) from error


def _pieces(bundle: Bundle, kind: Format) -> Iterator[bytes]:
    match kind:
        case "ndjson":
            return (msgspec.json.encode(line) + b"\n" for line in export_lines(bundle))
        case "atif":
            return iter((msgspec.json.format(msgspec.json.encode(export_trajectory(bundle))), b"\n"))
        case "html":
            from ostler.web.single_page import single_page  # noqa: PLC0415  (the others need no pages)

            return iter((single_page(bundle).encode(),))
