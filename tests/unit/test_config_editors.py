"""The links that open a file in an editor."""

from __future__ import annotations

from typing import get_args

import pytest

from ostler.config.editors import EDITORS, Editor, build_editor_links


def test_each_editor_of_the_settings_has_a_template() -> None:
    """The names of the setting and those of the table are the same; empty is none."""
    assert set(get_args(Editor)) == {"", *EDITORS}
    assert build_editor_links("", "/w/a.py", 3) == ()


@pytest.mark.parametrize("editor", EDITORS)
def test_a_link_names_the_file_and_starts_no_web_page(editor: Editor) -> None:
    """Each template has the path, and the scheme of an editor."""
    ((name, url),) = build_editor_links(editor, "/w/a%20b.py", 7)
    assert name == editor and "/w/a%20b.py" in url and "7" in url and "{" not in url
    assert url.partition(":")[0] not in ("http", "https", "javascript", "data", "file", "blob")
