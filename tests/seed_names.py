"""What a name of the seeds is checked by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Named = Any
Check = Callable[[Named, Path], object]
Row = tuple[str, str, Check]
"""The name, the module below ostler where one would look for it, and one thing that it does."""
