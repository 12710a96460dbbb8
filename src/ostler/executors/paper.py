"""A file that one call needs: written before its program starts, readable by us alone."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ostler.files.atomic import write_projection


@contextmanager
def paper_for(transcript: str, ending: str, content: bytes) -> Generator[str, None, None]:
    """Its path: kept beside the transcript or, for a call that keeps nothing, gone after the call."""
    if transcript:
        path = Path(f"{transcript}.{ending}").absolute()
        write_projection(path, content)
        yield str(path)
        return
    with tempfile.TemporaryDirectory(prefix="ostler-") as place:
        path = Path(place, ending)
        path.write_bytes(content)
        yield str(path)
