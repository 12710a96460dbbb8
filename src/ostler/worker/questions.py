"""How a program looks that waits for a person: patterns as data, each with a sample."""

from __future__ import annotations

import re

from msgspec import Struct

_LINES = 6  # of the end of a stream; what stands above was answered or is prose
_LONGEST = 200

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])|[\x00-\x08\x0e-\x1a]"
)
_FRAME = re.compile("^[\\s\u2502\u2503|>\u276f]+|[\\s\u2502\u2503|]+$")  # a dialogue is often drawn in a box


class Question(Struct, frozen=True):
    """One way in which programs ask, and a line that shows it."""

    pattern: str
    sample: str


QUESTIONS: tuple[Question, ...] = (
    Question(r"[(\[]\s*(y|yes)\s*/\s*(n|no)\b[^)\]]*[)\]]\W*$", "Continue? (y/n)"),
    Question(r"\b(yes|no) or (yes|no)\b\W*$", "Overwrite the file, yes or no?"),
    Question(r"\bpress (enter|return|any key)\b", "Press Enter to continue..."),
    Question(r"\bdo you trust\b", "Do you trust the files in this folder?"),
    Question(r"\btrust (this|the) (folder|directory|workspace)\b", "1. Yes, I trust this folder"),
    Question(r"\b(please )?run /login\b", "Invalid API key · Please run /login"),
    Question(r"\b(select|choose) (a )?login method\b", "Select login method:"),
    Question(r"\b(log|sign) ?in (with|using|at|to continue)\b", "Sign in with your browser to continue"),
    Question(
        r"https?://\S*(/oauth|/authorize|/device|/activate)",
        "Open https://github.com/login/device and enter ABCD-1234",
    ),
    Question(r"\b(enter|paste) (the |your )?(\w+ )?(code|key|token)\b", "Paste code here if prompted >"),
    Question(r"\b(password|passphrase|username|verification code)\b.{0,80}:\s*$", "Password:"),
    Question(
        r"\bwaiting for (authentication|authori[sz]ation|login|your (answer|input))\b", "Waiting for login"
    ),
    Question(r"\bare you sure\b.*\?", "Are you sure you want to continue connecting?"),
    Question(r"\b(do you want|would you like) (me )?to\b.*\?\W*$", "Do you want to proceed?"),
    Question(r"\ballow (this|the)? ?\w* ?(command|tool|action|edit)\b.*\?\W*$", "Allow this command to run?"),
)
_ANY = re.compile("|".join(f"(?:{question.pattern})" for question in QUESTIONS), re.IGNORECASE)


def question_in(text: str) -> str:
    """The line at the end of a program's output that asks a person something; empty when none does."""
    lines = [line for line in map(_plain, text.splitlines()) if line]
    asked = (line for line in reversed(lines[-_LINES:]) if _ANY.search(line) and not _is_json(line))
    return next(asked, "")[:_LONGEST]


def _is_json(line: str) -> bool:
    """A line of an agent's stream, perhaps without its beginning: what stands in it is told, not asked."""
    return line.startswith(("{", "[{", '["')) or line.endswith("}")


def _plain(line: str) -> str:
    return _FRAME.sub("", _ESCAPES.sub("", line.rpartition("\r")[2] or line))
