"""JSON of agents, decoded in two ways."""

from __future__ import annotations

import pytest
from msgspec import Raw, Struct
from msgspec.json import Decoder

from ostler.executors.agent_json import decode_json
from ostler.text import first_line


class Thing(Struct, frozen=True):
    name: str = "unset"
    size: int | None = None
    body: Raw = Raw()


@pytest.mark.parametrize(
    ("line", "thing"),
    [
        (b'{"name":"a","size":3}', ("a", 3)),
        (b'{"name":null,"size":3}', ("unset", 3)),
        (b'{"name":"a","size":"large"}', ("a", None)),
        (b'{"name":"a","size":NaN}', ("a", None)),
        (b'{"name":"\\udfff","size":1}', ("?", 1)),
        (b'\xef\xbb\xbf {"name":"a"}', ("a", None)),
        (b'{"name":"a","new":{"deep":[1]}}', ("a", None)),
    ],
)
def test_fields_that_fit_are_kept(line: bytes, thing: tuple[str, int | None]) -> None:
    """An invalid field does not affect the others."""
    got = decode_json(Decoder(Thing), line)
    assert got is not None
    assert (got.name, got.size) == thing


@pytest.mark.parametrize(
    "line", [b"", b"null", b"[1]", b'"text"', b'{"name"', b"{'name': 1}", b'{"a":1}{"b":2}']
)
def test_what_is_no_object_is_none(line: bytes) -> None:
    """Anything but a JSON object is None."""
    assert decode_json(Decoder(Thing), line) is None


def test_body_survives_the_second_reading() -> None:
    """A raw member is complete after the tolerant decoding."""
    got = decode_json(Decoder(Thing), b'{"name":5,"body":{"text":"lone \\ud800"}}')
    assert got is not None
    assert bytes(got.body) == b'{"text":"lone ?"}'


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\nb", "a"), ("  a  ", "a"), ("", ""), ("x" * 300, "x" * 199 + "…"), ("\n\n second", "second")],
)
def test_one_line(text: str, line: str) -> None:
    """The result is one short line."""
    assert first_line(text) == line
