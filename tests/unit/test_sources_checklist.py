"""Boxes of a checklist: found in Markdown text, and ticked without any other change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.sources.checklist import find_boxes, tick_box_in

LIST = b"""\
# Todo

- [ ] Fix the login
  It loops on Safari.

  ```sh
  - [ ] in a fence
  ```
  - a plain note
    - [ ] Write the test
      with care
* [x] Done before
+ [ ] Plus
1. [ ] Numbered
2) [X] Shouted
- [] no box
- [ ]no space
- [y] no box either
- plain
  - [ ] Below a plain one

<!-- - [ ] hidden -->
<!--
- [ ] hidden, too
-->

    - [ ] code

~~~
- [ ] fenced
```
- [ ] still fenced
~~~
- [ ] Last"""


def texts(data: bytes) -> list[str]:
    return [box.text for box in find_boxes(data) if box.is_open]


def test_open_boxes_are_found_where_markdown_has_them() -> None:
    """With every marker, nested, and after fences; none in code or comments."""
    wanted = ["Fix the login", "Write the test", "Plus", "Numbered", "Below a plain one", "Last"]
    assert texts(LIST) == wanted


def test_what_is_indented_below_is_its_description() -> None:
    """Fences and plain items are included; the nested box and its text are not."""
    boxes = {box.text: box for box in find_boxes(LIST)}
    wanted = "It loops on Safari.\n\n```sh\n- [ ] in a fence\n```\n- a plain note"
    assert boxes["Fix the login"].body == wanted
    assert (boxes["Write the test"].body, boxes["Write the test"].within) == ("with care", "Fix the login")
    assert (boxes["Below a plain one"].within, boxes["Last"].body) == ("", "")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_one_character_changes(end: bytes, mark: bytes) -> None:
    """Line ends, byte order mark, trailing spaces and invalid UTF-8 are unchanged."""
    data = mark + end.join((b"- [ ] First  ", b"\t- [ ] caf\xe9 \xff", b"- [ ] Last"))
    ticked = tick_box_in(data, "First", 1)
    assert ticked == data.replace(b"[ ] First", b"[x] First")
    assert tick_box_in(data, "Last", 1) == data.replace(b"[ ] Last", b"[x] Last")


def test_same_texts_are_distinguished_by_their_number() -> None:
    """Ticked boxes count, so that the second stays the second after the first is ticked."""
    data = b"- [ ] a\n- [ ] b\n- [ ] a\n"
    assert [(box.text, box.number) for box in find_boxes(data)] == [("a", 1), ("b", 1), ("a", 2)]
    once = tick_box_in(data, "a", 1)
    assert once == b"- [x] a\n- [ ] b\n- [ ] a\n"
    assert tick_box_in(once, "a", 2) == b"- [x] a\n- [ ] b\n- [x] a\n"


def test_a_box_is_found_after_the_list_was_edited() -> None:
    """After reordering, nesting, another marker and more lines around it."""
    assert (
        tick_box_in(b"# New\n\n1. x\n   * [ ]   Fix   it\n", "Fix it", 1)
        == b"# New\n\n1. x\n   * [x]   Fix   it\n"
    )


@pytest.mark.parametrize(
    "data", [b"", b"- [x] a\n", b"- [X] a\n", b"- [ ] b\n", b"- a\n", b"```\n- [ ] a\n", b"- x\n```\n- [ ] a"]
)
def test_ticked_or_gone_is_nothing_to_do(data: bytes) -> None:
    """There is no second tick, and no other box is ticked instead."""
    assert tick_box_in(data, "a", 1) is None


LINES = st.sampled_from(
    [
        b"- [ ] a",
        b"  - [ ] a",
        b"* [x] a",
        b"1. [ ] b",
        b"```",
        b"text",
        b"",
        b"    - [ ] c",
        b"\t- [ ] a",
        b"<!--",
        b"-->",
    ]
)


@given(st.lists(LINES, max_size=12), st.sampled_from([b"\n", b"\r\n"]))
def test_each_open_box_can_be_ticked_alone(lines: list[bytes], end: bytes) -> None:
    """For any list: one byte differs, and exactly that box is ticked."""
    data = end.join(lines)
    for box in find_boxes(data):
        ticked = tick_box_in(data, box.text, box.number)
        if not box.is_open:
            assert ticked is None
            continue
        assert ticked is not None and len(ticked) == len(data)
        assert [n for n in range(len(data)) if data[n] != ticked[n]] == [box.at]
        changed = [
            now.at
            for was, now in zip(find_boxes(data), find_boxes(ticked), strict=True)
            if was.is_open != now.is_open
        ]
        assert changed == [box.at]
