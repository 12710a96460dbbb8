"""Messages between the run and a keeper."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ostler.process.keeper.frames import FrameDecoder, encode

words = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))


@given(st.lists(st.lists(words, max_size=4), max_size=4), st.integers(1, 9))
def test_messages_survive_any_cut(messages: list[list[str]], size: int) -> None:
    """Bytes that arrive in any pieces give the same messages, with empty lines."""
    data = b"".join(encode(*message) for message in messages)
    frames = FrameDecoder()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    received = [found for piece in pieces for found in frames.feed(piece)]
    assert received == [[word.encode() for word in message] for message in messages]


def test_odd_bytes_of_file_names_pass_unchanged() -> None:
    """Undecodable bytes of a name are returned to the system unchanged."""
    assert list(FrameDecoder().feed(encode("caf\udce9", 7))) == [[b"caf\xe9", b"7"]]


def test_rest_of_a_piece_is_kept_for_the_next_call() -> None:
    """A reader of one message leaves the others for the next call."""
    frames = FrameDecoder()
    assert next(frames.feed(encode("a") + encode("b"))) == [b"a"]
    assert list(frames.feed(b"")) == [[b"b"]]
