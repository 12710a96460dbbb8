"""Activity of a silent agent: CPU time, file changes, and a request for input at the end of its output."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator

from msgspec import Struct

from ostler.lazy import lazy_pattern
from ostler.process.keeper.tree import list_descendants

MAX_ENTRIES = 20_000
MAX_SECONDS = 2.0
_SKIPPED = frozenset({".git", ".ostler", "node_modules", ".venv", "__pycache__"})

_LAST_LINES = 6  # of the output; a question above them was answered or is prose
_MAX_LENGTH = 200
_ESCAPES = lazy_pattern(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])|[\x00-\x08\x0e-\x1a]"
)
_FRAME = lazy_pattern(
    "^[\\s\u2502\u2503|>\u276f]+|[\\s\u2502\u2503|]+$"
)  # a dialogue is often drawn in a box


class ActivitySample(Struct, frozen=True):
    """Two different samples mean that there was activity between them."""

    cpu_seconds: float  # of all processes, including those that have ended
    writes: int  # changes when a file is written, created or deleted; 0: unknown


Sampler = Callable[[int, str], ActivitySample]
"""Samples the descendants of a process and a directory; called in a thread."""


class InputPrompt(Struct, frozen=True):
    """A pattern by which programs ask for input, with an example."""

    pattern: str
    sample: str


INPUT_PROMPTS: tuple[InputPrompt, ...] = (
    InputPrompt(r"[(\[]\s*(y|yes)\s*/\s*(n|no)\b[^)\]]*[)\]]\W*$", "Continue? (y/n)"),
    InputPrompt(r"\b(yes|no) or (yes|no)\b\W*$", "Overwrite the file, yes or no?"),
    InputPrompt(r"\bpress (enter|return|any key)\b", "Press Enter to continue..."),
    InputPrompt(r"\bdo you trust\b", "Do you trust the files in this folder?"),
    InputPrompt(r"\btrust (this|the) (folder|directory|workspace)\b", "1. Yes, I trust this folder"),
    InputPrompt(r"\b(please )?run /login\b", "Invalid API key · Please run /login"),
    InputPrompt(r"\b(select|choose) (a )?login method\b", "Select login method:"),
    InputPrompt(r"\b(log|sign) ?in (with|using|at|to continue)\b", "Sign in with your browser to continue"),
    InputPrompt(
        r"https?://\S*(/oauth|/authorize|/device|/activate)",
        "Open https://github.com/login/device and enter ABCD-1234",
    ),
    InputPrompt(r"\b(enter|paste) (the |your )?(\w+ )?(code|key|token)\b", "Paste code here if prompted >"),
    InputPrompt(r"\b(password|passphrase|username|verification code)\b.{0,80}:\s*$", "Password:"),
    InputPrompt(
        r"\bwaiting for (authentication|authori[sz]ation|login|your (answer|input))\b", "Waiting for login"
    ),
    InputPrompt(r"\bare you sure\b.*\?", "Are you sure you want to continue connecting?"),
    InputPrompt(r"\b(do you want|would you like) (me )?to\b.*\?\W*$", "Do you want to proceed?"),
    InputPrompt(
        r"\ballow (this|the)? ?\w* ?(command|tool|action|edit)\b.*\?\W*$", "Allow this command to run?"
    ),
)
_ANY_PROMPT = lazy_pattern("|".join(f"(?:{prompt.pattern})" for prompt in INPUT_PROMPTS), re.IGNORECASE)


def find_input_prompt(text: str) -> str:
    """Return the line at the end of a program's output that asks a person for input; empty if none does."""
    lines = [line for line in map(_strip_formatting, text.splitlines()) if line]
    prompts = (
        line for line in reversed(lines[-_LAST_LINES:]) if _ANY_PROMPT.search(line) and not _is_json(line)
    )
    return next(prompts, "")[:_MAX_LENGTH]


def _is_json(line: str) -> bool:
    # A line of an agent's stream, perhaps without its beginning: it is addressed to the reader of the stream.
    return line.startswith(("{", "[{", '["')) or line.endswith("}")


def _strip_formatting(line: str) -> str:
    return _FRAME.sub("", _ESCAPES.sub("", line.rpartition("\r")[2] or line))


def sample_activity(pid: int, directory: str) -> ActivitySample:
    return ActivitySample(measure_cpu_seconds(pid), hash_writes(directory))


def measure_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its descendants, including children that were waited for."""
    return sum(_cpu_seconds(one) for one in (pid, *_descendants(pid)))


def hash_writes(directory: str, max_entries: int = MAX_ENTRIES, max_seconds: float = MAX_SECONDS) -> int:
    """Return a hash of the times and sizes of the files, the top level first; 0 when it takes too long."""
    until = time.monotonic() + max_seconds
    total = count = 0
    for entry in _walk(directory):
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        total += status.st_mtime_ns ^ status.st_size
        count += 1
        if count >= max_entries:
            break
        if count % 256 == 0 and time.monotonic() > until:
            # The next hash would end at another file: the two could not be compared.
            return 0
    return hash((total, count))


def _walk(directory: str) -> Iterator[os.DirEntry[str]]:
    queue = deque((directory,))
    while queue:
        try:
            with os.scandir(queue.popleft()) as found:
                entries = [entry for entry in found if entry.name not in _SKIPPED]
        except OSError:
            continue
        queue.extend(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
        yield from entries


def _descendants(pid: int) -> list[int]:
    if sys.platform == "linux":
        return list_descendants(pid)
    import psutil  # noqa: PLC0415  (16 ms, and only a silent agent needs it)

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def _cpu_seconds(pid: int) -> float:
    import psutil  # noqa: PLC0415

    try:
        # User and system time of the process and of its children.
        return sum(psutil.Process(pid).cpu_times()[:4])
    except psutil.Error:
        return 0.0
