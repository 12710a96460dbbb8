"""The editors that open a file from a link of the dashboard: `server.editor` selects one."""

from __future__ import annotations

from typing import Literal

EDITORS: dict[str, str] = {
    "vscode": "vscode://file{path}:{line}",
    "vscode-insiders": "vscode-insiders://file{path}:{line}",
    "vscodium": "vscodium://file{path}:{line}",
    "cursor": "cursor://file{path}:{line}",
    "windsurf": "windsurf://file{path}:{line}",
    "zed": "zed://file{path}:{line}",
    "idea": "idea://open?file={path}&line={line}",
    "pycharm": "pycharm://open?file={path}&line={line}",
    "webstorm": "webstorm://open?file={path}&line={line}",
    "goland": "goland://open?file={path}&line={line}",
    "sublime": "subl://open?url=file://{path}&line={line}",
    "textmate": "txmt://open?url=file://{path}&line={line}",
    "macvim": "mvim://open?url=file://{path}&line={line}",
    "emacs": "emacs://open?url=file://{path}&line={line}",
}
"""Templates of links. There are none of your own: a link can start any program of the browser's machine."""

Editor = Literal[
    "", "vscode", "vscode-insiders", "vscodium", "cursor", "windsurf", "zed", "idea", "pycharm", "webstorm",
    "goland", "sublime", "textmate", "macvim", "emacs",
]  # fmt: skip


def build_editor_links(editor: Editor, path: str, line: int) -> tuple[tuple[str, str], ...]:
    """Return the name and the URL of the link that opens a file; `path` is quoted for URLs."""
    if not editor:
        return ()
    return ((editor, EDITORS[editor].replace("{line}", str(line)).replace("{path}", path)),)
