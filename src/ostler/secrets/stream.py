"""Redacts a stream of bytes while it is written, also where a secret is split between two chunks."""

from __future__ import annotations

from ostler.lazy import lazy_pattern
from ostler.secrets.encodings import map_squeezed
from ostler.secrets.find import Found, find_secrets
from ostler.secrets.key_lines import BASE64_CHARACTERS, OpenKey, find_key_lines
from ostler.secrets.private_key import KEY_END, KEY_WORD, key_body, key_header, key_rest, key_start
from ostler.secrets.redact import replace_found
from ostler.secrets.registry import SECRETS, KnownSecrets
from ostler.secrets.rules import LONGEST_ESCAPE, LONGEST_KEYWORD, PRIVATE_KEY, any_keyword

_CONTEXT = LONGEST_ESCAPE  # bytes before a chunk that decide whether a token starts there
_MAX_RUN = 16 * 1024  # of a text without spaces that is held back
_MAX_HELD = 64 * 1024  # of anything that is held back
_LONGEST_HEADER = 256  # the first line of a private key
_BREAKS = b" \t\r\n\"'<>`"
_NOT_BREAKS = bytes(byte for byte in range(256) if byte not in _BREAKS)
# The beginning of a form that contains spaces, up to the end of what was read.
_UNFINISHED = lazy_pattern(
    rb"(?i:(?:authorization:\s*)?(?:bearer|basic|token)|authorization:|flyv1"
    rb"|aws_secret_(?:access_)?key|secretaccesskey)"
    rb"[\s\"'\\:=>|]{0,12}[^\s\"'<>`]*\Z"
)
_UNFINISHED_BYTES = 256
# One of them is in each beginning, not further before the last run without spaces than a keyword, its colon
# and its quotation marks are long. To search them there is much cheaper than the expression.
_UNFINISHED_WORDS = (b"bearer", b"basic", b"token", b"authorization:", b"flyv1", b"secret")
_BEFORE_RUN_BYTES = 12 + len(b"aws_secret_access_key")


class RedactingStream:
    """Returns the redacted bytes of each chunk, except for an end that may be the beginning of a secret."""

    def __init__(self) -> None:
        self._buffer = b""  # some bytes that were returned already, then those that are held back
        self._start = 0  # of what is held back
        self._is_in_key = False  # inside of a private key whose beginning was returned as a mark
        self._opened: OpenKey | None = None  # the lines after the first one of a private key

    def feed(self, chunk: bytes, is_clean: bool = False) -> bytes:
        """Return what can be written now.

        `is_clean`: `find_secrets` found nothing in the chunk, so it is searched only with what is held back.
        """
        data = self._buffer + (self._skip_key(chunk) if self._is_in_key else chunk)
        may_have_key = self._may_have_key(data)
        is_clean = is_clean and not (self.held or self._is_in_key or may_have_key)
        found = [] if is_clean else find_secrets(data, self._start, self._opened)
        end = _find_held(data, self._start)
        if may_have_key:
            end = min(end, self._find_open_line(data), _find_open_key(data, self._start))
        end = self._find_whole_end(data, found, end)
        if len(data) - end > _MAX_HELD:
            end = len(data)
            self._is_in_key = bool(found) and found[-1].kind == PRIVATE_KEY and found[-1].end == end
        return self._take(data, found, end, may_have_key)

    @property
    def held(self) -> int:
        """The number of bytes that are held back; a key that is dropped has none."""
        return len(self._buffer) - self._start

    def finish(self) -> bytes:
        """Return the rest."""
        found = find_secrets(self._buffer, self._start, self._opened)
        may_have_key = self._may_have_key(self._buffer)
        return self._take(self._buffer, found, len(self._buffer), may_have_key)

    def _may_have_key(self, data: bytes) -> bool:
        return self._opened is not None or data.find(KEY_WORD, self._start) >= 0

    def _take(self, data: bytes, found: list[Found], end: int, may_have_key: bool) -> bytes:
        complete = [one for one in found if one.end <= end]
        clean = replace_found(data, complete, self._start, end)
        if may_have_key:
            self._opened = find_key_lines(data, self._start, end, self._opened).opened
        context = max(0, end - _CONTEXT)
        self._buffer, self._start = data[context:], end - context
        return clean

    def _find_whole_end(self, data: bytes, found: list[Found], end: int) -> int:
        """Return an earlier end that splits no secret, no keyword before it and no first line of a key."""
        before = -1
        while end != before:
            before, end = end, _keep_header_whole(data, max(self._start, end - _LONGEST_HEADER), end)
            for one in reversed(found):
                if one.end > end:
                    end = max(self._start, min(end, one.match_start))
        return end

    def _find_open_line(self, data: bytes) -> int:
        """Return where a line of a private key starts whose end was not read yet."""
        tail_start = max(self._start, len(data) - _MAX_RUN)
        size = len(data[tail_start:].rstrip(BASE64_CHARACTERS))
        is_in_key = find_key_lines(data, self._start, len(data), self._opened).opened is not None
        return tail_start + size if is_in_key else len(data)

    def _skip_key(self, chunk: bytes) -> bytes:
        rest = key_rest().match(chunk)
        size = rest.end() if rest else 0
        self._is_in_key = size == len(chunk) and not (rest and rest["end"])
        return chunk[size:]


def _find_held(data: bytes, start: int) -> int:
    """Return where the end begins that must be held back; the length of the data if nothing must be."""
    size = len(data)
    tail = data[max(start, size - _MAX_RUN) :]
    run = size - len(tail) + len(tail.rstrip(_NOT_BREAKS))
    ends = _find_candidate(data, run), _find_beginning(data, start), _find_unfinished(data, run)
    return max(start, min(ends))


def _find_candidate(data: bytes, run: int) -> int:
    """Return where a secret may start in a run without spaces: at a keyword, or at one that is cut in two."""
    cut = max(run, len(data) - LONGEST_KEYWORD + 1)
    hit = any_keyword().search(data, run)
    return min(hit.start(), cut) if hit else cut


def _find_beginning(data: bytes, start: int) -> int:
    """Return where the longest end starts that is the beginning of a registered secret or of a keyword."""
    known = SECRETS.known()
    tail_start = max(start, len(data) - 4 * known.longest)
    tail = data[tail_start:]
    last = tail.rstrip(b" \t\r\n")[-1:]
    if last not in known.characters:  # such as the brace at the end of a line of JSON
        return len(data)
    # A backslash at the end may be half of an escaped line break.
    texts = (tail, tail.rstrip(b"\\")) if tail.endswith(b"\\") else (tail,)
    return min(tail_start + _find_end(text, known) if text else len(data) for text in texts)


def _find_end(tail: bytes, known: KnownSecrets) -> int:
    """Return where the longest end of a text starts that is a beginning; its length if there is none."""
    offsets = map_squeezed(tail)[-known.longest :]
    dense = bytes(tail[offset] for offset in offsets)
    for index in range(len(dense)):
        if known.is_beginning(dense[index:]):
            return offsets[index]
    return len(tail)


def _keep_header_whole(data: bytes, start: int, end: int) -> int:
    """Return where the first line of a private key starts if the end is inside of it."""
    at = data.rfind(KEY_WORD, start, end)
    header = key_header().match(data, at) if at >= 0 else None
    return at if header and header.end() > end else end


def _find_unfinished(data: bytes, run: int) -> int:
    """Return where a form with spaces starts that may continue; `run`: start of the last run without."""
    start = max(0, len(data) - _UNFINISHED_BYTES)
    last = data[max(start, run - _BEFORE_RUN_BYTES) :].lower()
    if not any(word in last for word in _UNFINISHED_WORDS):
        return len(data)
    found = _UNFINISHED.search(data, start)
    return found.start() if found else len(data)


def _find_open_key(data: bytes, start: int) -> int:
    """Return where a private key starts whose end was not read yet."""
    at = data.rfind(KEY_WORD, start)
    first = key_start().match(data, at) if at >= 0 else None
    if first is None:
        return len(data)
    if first["line"] is None:
        return at
    body = key_body().match(data, first.end())
    is_open = body is not None and body.end() == len(data) and not KEY_END.search(body[0])
    return at if is_open else len(data)
