"""Secrets that are written in pieces, after colours, or as a private key with something before each line."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

import pytest

from ostler.secrets.find import find_secrets
from ostler.secrets.redact import redact_bytes, redact_text
from ostler.secrets.registry import SECRETS
from ostler.secrets.stream import RedactingStream
from secret_samples import list_samples

SAMPLES = list_samples()
WITH_PREFIX = [
    one for one in SAMPLES if one[0] in ("authorization", "aws-secret-key", "slack-webhook", "jwt")
]
REGISTERED = ("sk-ant-api03-" + "Zq8-" * 10, "hunter22!x9", "glp/" + "Q1w2E3r4T5")


@pytest.fixture(autouse=True)
def nothing_registered() -> Iterator[None]:
    SECRETS.clear()
    yield
    SECRETS.clear()


def write(data: bytes, *borders: int) -> bytes:
    stream, start, written = RedactingStream(), 0, b""
    for border in (*borders, len(data)):
        written += stream.feed(data[start:border])
        start = border
    return written + stream.finish()


def require_same(text: str) -> None:
    """Fail when the text is redacted differently in two chunks, in small ones, or line by line."""
    data = f"> {text}\r\n> Accept: */*\n".encode()
    clean = redact_bytes(data)
    assert clean.count(b"[redacted:") == 1
    for border in range(len(data)):
        assert write(data, border) == clean, border
    for size in (1, 3, 7):
        assert write(data, *range(size, len(data), size)) == clean, size


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize(("kind", "text"), WITH_PREFIX)
def test_a_secret_after_a_keyword_is_found_at_every_border(kind: str, text: str, count: int) -> None:
    """The keyword is held back together with the secret, also when the secret ends like a keyword begins."""
    SECRETS.register([(f"T{index}", value) for index, value in enumerate(REGISTERED[:count])])
    require_same(text)


@pytest.mark.full
@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize(("kind", "text"), SAMPLES)
def test_every_secret_is_found_at_every_border(kind: str, text: str, count: int) -> None:
    """The whole matrix."""
    SECRETS.register([(f"T{index}", value) for index, value in enumerate(REGISTERED[:count])])
    require_same(text)


def test_tokens_that_end_in_every_letter_are_found_in_two_lines() -> None:
    """The last letters of a token can be the beginning of a keyword or of a registered secret."""
    SECRETS.register([("T", REGISTERED[0])])
    source = random.Random(1)
    letters = string.ascii_letters + string.digits
    for last in letters:
        token = ("1" + "".join(source.choices(letters, k=38)) + last).encode()
        for first in (b"> Authorization: Bearer ", b"aws_secret_access_key = "):
            line = first + token + b"\n"
            assert token not in write(line + b"next\n", len(line)), token


def test_a_clean_chunk_is_searched_again_inside_of_a_key() -> None:
    """The lines of a private key are harmless alone, so the chunk was found clean by itself."""
    stream = RedactingStream()
    lines = [b'{"text":"-----BEGIN RSA PRIVATE KEY-----"}\n', b'{"text":"MIIEpAIB' + b"q7Zk" * 12 + b'"}\n']
    assert find_secrets(lines[1]) == []
    written = stream.feed(lines[0]) + stream.feed(lines[1], is_clean=True) + stream.finish()
    assert b"q7Zk" not in written and written.count(b"[redacted:private-key]") == 2


def test_a_clean_chunk_is_searched_again_after_what_was_held_back() -> None:
    """The two halves of a token are in two chunks."""
    stream = RedactingStream()
    assert stream.held == 0
    written = stream.feed(b"see ghp_Q7w9Q7w9") + stream.feed(b"Q7w9" * 7 + b" \n", is_clean=True)
    assert written + stream.finish() == b"see [redacted:github-token] \n"


GITHUB = "ghp_" + "Q7w9" * 9


@pytest.mark.parametrize(
    "before",
    [
        "\x1b[32m",
        "\x1b[01;31m\x1b[K",
        "\x1b[m",
        "\x1b[38;2;255;100;0m",
        "\\u001b[1m",
        "\\033[32m",
        "\\x0a",
        "a%20",
    ],
)
def test_a_token_after_a_colour_is_found(before: str) -> None:
    """The codes of a terminal and escapes end in letters or digits, which are not part of the token."""
    assert redact_text(f"a {before}{GITHUB}\x1b[0m b") == f"a {before}[redacted:github-token]\x1b[0m b"
    assert GITHUB.encode() not in write(f"a {before}{GITHUB} b".encode(), *range(1, 70))
    assert redact_text(f"x{GITHUB}") == f"x{GITHUB}"  # the control: a letter is part of a word


BODY = base64.b64encode(random.Random(7).randbytes(1200)).decode()
LINES = [BODY[at : at + 64] for at in range(0, 1600, 64)]
HEADER, FOOTER = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
KEY = [HEADER, *LINES, FOOTER]
WRITTEN = {
    "numbers": "".join(f"{index:6}\u2192{line}\n" for index, line in enumerate(KEY)),
    "cat -n": "".join(f"{index:6}\t{line}\n" for index, line in enumerate(KEY)),
    "grep -n": "".join(f"./my_keys/id_rsa:{index}:{line}\n" for index, line in enumerate(KEY)),
    "quotation": "".join(f"> {line}\n" for line in KEY),
    "comment": "".join(f"# {line}\n" for line in KEY),
    "table": "".join(f"| {line} |\n" for line in KEY),
    "colours": "".join(f"\x1b[32m+{line}\x1b[m\n" for line in KEY),
    "cat -A": "".join(f"{line}$\n" for line in KEY),
    "strings": " \\\n".join(f'"{line}\\n"' for line in KEY),
    "array": json.dumps(KEY),
    "array in lines": json.dumps(KEY, indent=1),
    "unicode escapes": "\\u000a".join(KEY),
    "escaped slashes": json.dumps("\n> ".join(KEY)).replace("/", "\\/"),
    "breaks": "<br>\n".join(KEY),
    "url": quote("\n".join(KEY), safe=""),
    "form": quote_plus("\n".join(KEY)),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_lines_of_a_private_key_are_found_whatever_is_before_them(name: str) -> None:
    """As it is, as JSON in JSON, and where it is written in pieces of different sizes."""
    text = f"The key:\n{WRITTEN[name]}\nThe end of the text."
    for whole in (text, json.dumps(text), json.dumps(json.dumps(text, ensure_ascii=False))):
        data = whole.encode()
        assert LINES[3] in whole or "%" in whole or "\\/" in whole  # the control
        for clean in (
            redact_bytes(data),
            write(data),
            *(write(data, *range(size, len(data), size)) for size in (7, 100)),
        ):
            assert not any(line[5:16].encode() in clean for line in LINES)
            assert b"The end of the text." in clean
            if whole.startswith('"'):
                json.loads(clean)


def test_text_after_a_private_key_stays() -> None:
    """Its last line ends it; without one, hashes, words and everything after 100 lines stay."""
    value = LINES[1]
    assert redact_text(f"> {HEADER}\n> {LINES[0]}\n> {FOOTER}\n> {value}\n").endswith(f"> {value}\n")
    assert redact_text(f"# {HEADER}\n" + "x y\n" * 101 + value).endswith(value)
    assert not redact_text(f"# {HEADER}\n" + "x y\n" * 90 + f"# {value}").endswith(value)
    for plain in ("0123456789abcdef" * 4, "averylongwordofonlyletters" * 2, "src/" + "module/" * 8 + "file"):
        assert plain in redact_text(f"> {HEADER} is a header\n> {plain}\n")


EXAMPLES = (
    "amqp://guest:guest@localhost:5672",
    "postgresql://postgres:postgres@db.internal/app",
    "mysql://app:secret@127.0.0.1/app",
    "docker://registry:5000@sha256:abcdef",
    "Basic docs/tutorials/chapter-01-introduction.md",
    "Basic tutorials/chapter01/introductionToTheTool",
    "Bearer tests/integration/test_auth_2.py",
)
REAL = {
    "amqp://guest:hunter2@localhost:5672": "hunter2",
    "redis://:admin@db.example.org/": "admin",
    "Bearer aB3/dE5fG7hJ9kLmNpQrStUv": "aB3/dE5fG7hJ9kLmNpQrStUv",
    "Basic " + base64.b64encode(b"ada:lovelace-1815").decode(): base64.b64encode(
        b"ada:lovelace-1815"
    ).decode(),
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_defaults_of_local_services_and_paths_stay(text: str) -> None:
    """A document that names them is not damaged."""
    assert redact_text(f"use `{text}` here") == f"use `{text}` here"


@pytest.mark.parametrize("text", REAL)
def test_real_passwords_beside_them_are_found(text: str) -> None:
    """The control: another password, another host, a token with a slash."""
    assert REAL[text] not in redact_text(f"use `{text}` here")
    assert find_secrets(text.encode())
