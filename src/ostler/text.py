"""Text for lists and messages: shortened lines, reasons and sizes."""

from __future__ import annotations

from ostler.lazy import lazy_pattern
from ostler.secrets.redact import redact_text

_COLOUR = lazy_pattern(r"\x1b\[[0-9;]*m")
# In the debug text of an error of a Rust library, the last of them is the cause of the others.
_RUST_REASON = lazy_pattern(r'(?:message|error): "([^"\n]{1,200})"')
_CONTROL = lazy_pattern(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]"
)


def strip_colours(text: str) -> str:
    """Return the text without the codes that set colours on a terminal."""
    return _COLOUR.sub("", text)


def strip_control_characters(text: str) -> str:
    """Return the text without terminal control sequences."""
    return _CONTROL.sub("", text)


def to_printable(name: str) -> str:
    """Return a file name that can be printed and encoded as JSON."""
    return name if name.isprintable() else ascii(name)


def one_line(text: str, max_length: int = 300) -> str:
    """Return the text with all white space as single spaces, cut to a length that fits a message."""
    return _cut(" ".join(text.split()), max_length)


def first_line(text: str, max_length: int = 200) -> str:
    """Return the first line that is not blank, cut to a length that fits a list."""
    return _cut(text.strip().partition("\n")[0].rstrip(), max_length)


def last_line(text: str) -> str:
    """Return the last line that is not blank."""
    return text.strip().rpartition("\n")[2].strip()


def find_innermost_reason(text: str) -> str:
    """Return the innermost reason in the debug text of a Rust library; empty without one."""
    found = _RUST_REASON.findall(text)
    return found[-1] if found else ""


def describe_os_error(error: OSError) -> str:
    """Return the reason for the middle of a sentence, such as `permission denied`."""
    reason = error.strerror or str(error)
    return reason[:1].lower() + reason[1:]


def format_size(size: int) -> str:
    """Return a number of bytes for people; a kB has 1024 bytes, as in all limits."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"


def _cut(line: str, max_length: int) -> str:
    if len(line) <= max_length:
        return line
    # A part of a secret is not recognized any more, so it is redacted before the cut.
    clean = redact_text(line)
    return clean if len(clean) <= max_length else clean[: max_length - 1] + "…"
