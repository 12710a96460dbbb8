"""Secrets in text: found by their form or by their value, in every encoding and at every border."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from ostler.model.call import ToolUsed
from ostler.secrets.find import find_secrets
from ostler.secrets.redact import (
    redact_bytes,
    redact_struct,
    redact_structs,
    redact_text,
    redact_value,
)
from ostler.secrets.registry import SECRETS
from ostler.secrets.rules import RULES
from ostler.secrets.sequence import RedactingSequence
from ostler.secrets.stream import RedactingStream
from ostler.secrets.variables import list_secret_variables
from secret_samples import list_samples

SAMPLES = list_samples()
SECRET = 'p4ss/"word\\+ü=' + "x9Z1"
PHRASE = "correct horse battery 7"
BENIGN = (
    "0123456789abcdef0123456789abcdef01234567",  # a commit
    str(uuid.UUID(int=7)),
    "ses_4a1b2c3d4e5fAbCdEfGhIjKlMn",
    "sha256-" + base64.b64encode(bytes(range(32))).decode(),
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 9).decode(),
    "https://example.org/a:b/c@d",
    "postgres://user:password@localhost/db",
    "postgres://user:${PASSWORD}@localhost/db",
    "git@github.com:org/repo.git",
    "Basic authentication_is_described_in_the_manual",
    "Bearer {token}",
    "integrity sha512-" + base64.b64encode(bytes(range(64))).decode(),
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Two registered secrets and nothing of this machine."""
    SECRETS.clear()
    SECRETS.register([("ACME", SECRET), ("PHRASE", PHRASE)])
    yield
    SECRETS.clear()


def encodings(secret: str) -> list[str]:
    data = secret.encode()
    shifted = [base64.b64encode(b"x" * offset + data + b"yz!") for offset in range(3)]
    urlsafe = [base64.urlsafe_b64encode(b"x" * offset + data + b"yz!") for offset in range(3)]
    escaped = [json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]]
    plain = [secret, secret[::-1], data.hex(), data.hex().upper(), *escaped]
    split = [f"{secret[:6]}\n{secret[6:]}", f"{secret[:6]}\\n  {secret[6:]}", f"{secret[:3]}\r\n{secret[3:]}"]
    quoted = [shlex.quote(f"a {secret}")[1:-1], secret.replace("'", "''")]
    plain += quoted
    url = [
        "".join(f"%{byte:02x}" for byte in data),
        quote(secret, safe=""),
        re.sub("%..", lambda found: found[0].lower(), quote(secret, safe="")),
    ]
    return [*plain, *url, *split, *(one.decode() for one in (*shifted, *urlsafe))]


HTML = "a&b<c>d'e\"f/Z9ü"


@pytest.mark.parametrize(
    "written",
    [
        *(
            json.dumps(HTML)
            .replace("&", "\\u0026")
            .replace("<", "\\u003c")
            .replace(">", "\\u003e")[1:-1]
            .replace(*quote)
            for quote in (("'", "'"), ("'", "\\u0027"))
        ),
        json.dumps(HTML, ensure_ascii=False)
        .replace("&", "\\u0026")
        .replace("<", "\\u003C")
        .replace(">", "\\u003E")[1:-1],
        html.escape(HTML),
        html.escape(HTML, quote=False),
        html.escape(HTML).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    ],
)
def test_a_registered_secret_is_found_in_html_and_in_json_of_go(written: str) -> None:
    """Both escape the letters of HTML."""
    SECRETS.register([("PAGE", HTML)])
    assert redact_text(f"before {written} after") == "before [redacted:PAGE] after"


@pytest.mark.parametrize(
    "written",
    [
        "it's $HOME/x&y9Z1".encode("utf-16-le"),
        "it's $HOME/x&y9Z1".encode("utf-16-be"),
        b"it'\\''s $HOME/x&y9Z1",
        b"it'\"'\"'s $HOME/x&y9Z1",
        b"it''s $HOME/x&y9Z1",
        b"it\\'s \\$HOME/x\\&y9Z1",
    ],
)
def test_a_registered_secret_is_found_in_utf_16_and_quoted(written: bytes) -> None:
    """As in a file of Windows, in a command, and in YAML."""
    SECRETS.register([("QUOTED", "it's $HOME/x&y9Z1")])
    data = b"before \n" + written + b"\n after"
    clean = redact_bytes(data)
    assert clean == b"before \n[redacted:QUOTED]\n after"
    assert pieces(data, *range(1, len(data))) == clean


def pieces(data: bytes, *borders: int) -> bytes:
    stream, start, written = RedactingStream(), 0, b""
    for border in (*borders, len(data)):
        written += stream.feed(data[start:border])
        start = border
    return written + stream.finish()


def test_many_kinds_are_known() -> None:
    """Every keyword has a sample, and each kind has its own name."""
    assert len(RULES) >= 60 and len({rule.kind for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(("kind", "text"), SAMPLES)
def test_each_form_is_found(kind: str, text: str) -> None:
    """In a sentence, JSON, an assignment and quotes; a text that is redacted stays the same."""
    for whole in (text, f"use {text} now", json.dumps({"a": f"x\n{text}\ny"}), f"KEY={text}\n", f'"{text}"'):
        found = find_secrets(whole.encode())
        assert [one.kind for one in found] == [kind], whole
        clean = redact_bytes(whole.encode())
        assert f"[redacted:{kind}]".encode() in clean and redact_bytes(clean) == clean
        if whole.startswith("{"):
            json.loads(clean)


@pytest.mark.parametrize("text", BENIGN)
def test_ordinary_text_stays(text: str) -> None:
    """Hashes, ids of sessions, images and examples are no secrets."""
    assert redact_text(f"see {text} here") == f"see {text} here"


def test_the_files_of_this_repository_contain_few() -> None:
    """Less than one line of a thousand is changed; the lines are those of code, documents and lock files."""
    root = Path(__file__).parents[2]
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    texts = [
        (root / name.decode()).read_bytes() for name in names.split(b"\0") if name.endswith((b".py", b".md"))
    ]
    lines = sum(text.count(b"\n") for text in texts)
    found = [one for text in texts for one in find_secrets(text)]
    assert lines > 50_000 and len(found) < lines / 1000


@pytest.mark.parametrize("text", [*encodings(SECRET), *encodings(PHRASE)])
def test_a_registered_secret_is_found_in_each_encoding(text: str) -> None:
    """Alone, and where a chunk ends at every byte of it."""
    data = f"before {text} after".encode()
    clean = redact_bytes(data)
    assert clean.count(b"[redacted:") == 1 and b"before " in clean and b" after" in clean
    for border in range(len(data)):
        assert pieces(data, border) == clean
    assert pieces(data, *range(1, len(data))) == clean


@pytest.mark.parametrize(("kind", "text"), SAMPLES[:: len(SAMPLES) // 12])
def test_a_form_is_found_across_every_border(kind: str, text: str) -> None:
    """One sample of each group; all of them in the full run."""
    check_borders(text)


@pytest.mark.full
@pytest.mark.parametrize(("kind", "text"), SAMPLES)
def test_every_form_is_found_across_every_border(kind: str, text: str) -> None:
    """The whole matrix."""
    check_borders(text)


def check_borders(text: str) -> None:
    data = f'a "{text}"\n{{"b":{json.dumps(text)}}}\nend'.encode()
    clean = redact_bytes(data)
    assert clean.count(b"[redacted:") == 2
    for border in range(len(data)):
        assert pieces(data, border) == clean, border
    assert pieces(data, *range(1, len(data))) == clean


def test_ordinary_output_is_not_delayed() -> None:
    """A line that is complete is written at once: people follow the log."""
    stream = RedactingStream()
    assert stream.feed(b'{"type":"text","text":"hello"}\n') == b'{"type":"text","text":"hello"}\n'
    assert stream.feed(b"a word") == b"a " and stream.finish() == b"word"


def test_a_long_text_without_spaces_is_not_held_for_ever() -> None:
    """Images are written as they come, and a token at their end is found."""
    stream = RedactingStream()
    written = b"".join(stream.feed(b"QUJD" * 4096) for _ in range(64))
    assert len(written) > 900_000
    assert (
        stream.feed(b" AKIA" + b"Q3EGTVZ7XWYB2K5M") + stream.finish()
        == (b"QUJD" * (1 << 18))[len(written) :] + b" [redacted:aws-access-key]"
    )


def test_a_private_key_larger_than_the_buffer_is_dropped() -> None:
    """Of an endless key only the mark is written."""
    stream = RedactingStream()
    key = b"-----BEGIN " + b"PRIVATE KEY-----\n" + b"MIIEpAIBAAKCAQEA1c7k\n" * 10_000
    written = b"".join(stream.feed(key[at : at + 4096]) for at in range(0, len(key), 4096))
    written += stream.feed(b'"end"') + stream.finish()
    assert written == b'[redacted:private-key]"end"'


BEGIN, END = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"
LINE = "MIIEpAIBAAKCAQEA1c7k"
PROSE = "Then read the rest of the file, and compare it: nothing else matters.\nDone\nBye (now)."


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"It starts with {BEGIN} as usual.\n{PROSE}", None),
        (f"`{BEGIN}`\n{PROSE}", None),
        (f'{{"a":"{BEGIN}"}}', '{"a":"[]"}'),
        (f"{BEGIN}\n{PROSE}", f"[]\n{PROSE}"),
        (f"{BEGIN}\n{LINE}\n{LINE}\n\n{PROSE}", f"[]\n\n{PROSE}"),
        (
            f"{BEGIN}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,A1\n\n{LINE}\nabc=\n{PROSE}",
            f"[]\n{PROSE}",
        ),
        (f"{BEGIN}\n{LINE}... {PROSE}", f"[]... {PROSE}"),
        (f'{BEGIN}\\n{LINE}\\nabc", "b"', '[]", "b"'),
        (f"{BEGIN} {LINE} {LINE} {END} {PROSE}", f"[] {PROSE}"),
        (f"-{BEGIN}\n-{LINE}\n-{END}\n{PROSE}", f"-[]\n{PROSE}"),
        (f"  {BEGIN}\r\n  {LINE}\r\n  {END}\r\n{PROSE}", f"  []\r\n{PROSE}"),
    ],
)
def test_a_private_key_ends_where_its_lines_end(text: str, clean: str | None) -> None:
    """A text that mentions the header stays, also where a chunk ends at every byte."""
    expected = text if clean is None else clean.replace("[]", "[redacted:private-key]")
    assert redact_text(text) == expected
    for border in range(len(text)):
        assert pieces(text.encode(), border) == expected.encode(), border
    assert pieces(text.encode(), *range(1, len(text))) == expected.encode()


def test_text_after_a_large_private_key_is_written() -> None:
    """The last line ends it; so does a line that is not base64."""
    key = f"{BEGIN}\n" + f"{LINE}\n" * 10_000
    for rest in (f"\n{PROSE}", f"{END}\n{PROSE}"):
        data = (key + rest).encode()
        clean = pieces(data, *range(4096, len(data), 4096))
        assert clean.startswith(b"[redacted:private-key]") and clean.endswith(PROSE.encode())
        assert LINE.encode() not in clean


WRAPPERS = ("https://{}@github.com/", "https://a:{}@b.example/", "https://x{}:y1234@b.example/", "Bearer {}")
WRAPPERS += (
    "aws_secret_access_key={}",
    "{0} {0}",
    "{0}:{0}@{0}",
    "https://{0}:{0}@{0}/?sig={0}",
    "sk-{}",
    "{}\\n",
)


@pytest.mark.parametrize(("kind", "text"), [*SAMPLES, ("ACME", SECRET), ("PHRASE", PHRASE)])
def test_redacted_text_stays_the_same(kind: str, text: str) -> None:
    """Text is redacted more than once: in a log, in a record, and in a publication."""
    for wrapper in WRAPPERS:
        clean = redact_text(wrapper.format(text))
        assert redact_text(clean) == clean, wrapper


def test_values_keep_their_types() -> None:
    """Structs, tables and texts with half a surrogate pair."""
    used = ToolUsed("Bash", f"echo {PHRASE}", input=msgspec.Raw(json.dumps({"command": SECRET}).encode()))
    clean = redact_struct(used)
    assert clean.detail == "echo [redacted:PHRASE]" and json.loads(bytes(clean.input)) == {
        "command": "[redacted:ACME]"
    }
    assert redact_struct(clean) is clean
    assert redact_value({"a": [PHRASE, 1]}) == {"a": ["[redacted:PHRASE]", 1]}
    assert redact_text(f"\ud800 {PHRASE}") == "\ud800 [redacted:PHRASE]"
    assert redact_struct(ToolUsed("Bash", f"\ud800 {PHRASE}")).detail == "\ud800 [redacted:PHRASE]"


@pytest.mark.parametrize(("kind", "text"), [*SAMPLES, ("ACME", SECRET), ("PHRASE", PHRASE)])
def test_texts_are_redacted_together_as_each_one_alone(kind: str, text: str) -> None:
    """Also the same secret twice; clean texts stay the same objects, and so do values."""
    redact = RedactingSequence().redact
    clean = [f"{{{one}}}".encode() for one in BENIGN if find_secrets(f"{{{one}}}".encode()) == []]
    texts = [clean[0], f'{{"a": {json.dumps(text)}}}'.encode(), *clean[1:], f'"{text}"'.encode()]
    assert redact(texts) == [redact_bytes(one) for one in texts]
    assert redact(texts)[1] != texts[1] and redact(texts)[-1] != texts[-1]
    assert redact(clean) is clean
    values = [ToolUsed("Bash", f"\ud800 {part}") for part in ("", text)]
    assert [value for value, _ in redact_structs(values, redact)] == [
        redact_struct(value) for value in values
    ]


def test_short_and_ordinary_values_are_not_registered() -> None:
    """A word, a path or an address in a variable would be found everywhere."""
    environ = {
        "A_TOKEN": "production",
        "SSH_KEY": "/home/ada/.ssh/id",
        "API_KEY": "https://example.org/keys",
        "PASSWORD_COUNT": "12345678",
        "REAL_TOKEN": "a8F3-kd92",
        "PATH": "a8F3-kd92-and-more",
        "X_API_KEY": "Tr0ub4dor",
    }
    assert list_secret_variables(environ) == [("REAL_TOKEN", "a8F3-kd92"), ("X_API_KEY", "Tr0ub4dor")]
    SECRETS.clear()
    SECRETS.register([("SHORT", "abc1234")])
    assert redact_text("abc1234") == "abc1234"


def test_the_speed_is_enough_for_every_agent() -> None:
    """20 MB per second on a quiet machine; a busy one has ten times as long."""
    line = b'{"type":"text","text":"def read(path): return [line.strip() for line in open(path)]"}\n'
    data, stream = line * (8 << 20 >> 7), RedactingStream()
    begun = time.perf_counter()
    size = sum(len(stream.feed(data[at : at + 65536])) for at in range(0, len(data), 65536))
    assert size + len(stream.finish()) == len(data)
    assert len(data) / (time.perf_counter() - begun) > 2e6
