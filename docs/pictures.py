"""Makes the pictures of the README: runs the demo in a real terminal (tmux) and writes what it shows as SVG,
and photographs the dashboard (screens.py).

Task ids, seconds, token counts and the temporary directory differ from run to run; fixed ones are shown in
their place, so that a picture changes only when the program's screens do.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text
from screens import photograph

COLUMNS, LINES = 100, 30
PICTURES = Path(__file__).parent / "pictures"
BIN = Path(sys.executable).parent
TAILS = ("k4mh", "r7vx", "w2dq")
NO_FONT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)  # none from the network
FORMAT = NO_FONT.replace("<svg ", '<svg xml:space="preserve" ', 1)


class Terminal:
    """A tmux session of its own, with a shell in `home`."""

    def __init__(self, home: Path) -> None:
        self._socket = str(home / "tmux")
        shell = ["env", f"HOME={home}", f"PATH={BIN}:{os.environ['PATH']}", "PS1=$ ", "TERM=xterm-256color"]
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        self._tmux("-f", os.devnull, "new-session", "-d", "-c", str(home), *size, *shell, "sh")

    def type(self, line: str) -> None:
        self._tmux("send-keys", line, "Enter")

    def screen(self) -> str:
        return self._tmux("capture-pane", "-e", "-p")

    def wait_for(self, shown: Callable[[str], bool], seconds: float = 60) -> str:
        """The first screen of which this is true."""
        deadline = time.monotonic() + seconds
        while not shown(screen := self.screen()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the terminal never showed it:\n{screen}")
            time.sleep(0.02)
        return screen

    def close(self) -> None:
        self._tmux("kill-server")

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", self._socket, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory).resolve()
        terminal = Terminal(home)
        try:
            running, done = watch_demo(terminal)
            looked = look_around(terminal, found_ids(done)[0])
        finally:
            terminal.close()
        photograph(home, PICTURES)
    ids = found_ids(done)
    story = "\n\n".join((running, rule("two seconds later"), done))
    write("demo.svg", "ostler demo", steadied(story, home, ids))
    write("look.svg", "ostler log, ostler diff", steadied(looked, home, ids))


def watch_demo(terminal: Terminal) -> tuple[str, str]:
    """A screen with three tasks at work, and the last one without its first lines, which are the same."""
    terminal.type("ostler demo ~/demo")
    running = terminal.wait_for(lambda screen: len(re.findall(r"implement 1 .*(?:edit|run) ", screen)) == 3)
    done = terminal.wait_for(lambda screen: "git log --oneline" in screen and screen.rstrip().endswith("$"))
    table = done.rstrip().removesuffix("$").rstrip().splitlines()
    start = next(number for number, line in enumerate(table) if "status" in line)
    return running.rstrip(), "\n".join(table[start:])


def look_around(terminal: Terminal, task: str) -> str:
    terminal.type("cd ~/demo; clear")
    terminal.wait_for(lambda screen: "git log" not in screen)
    terminal.type(f"ostler log {task}; ostler diff {task}")
    screen = terminal.wait_for(lambda screen: "strip()" in screen and screen.rstrip().endswith("$"))
    return screen.rstrip().removesuffix("$").rstrip()


def found_ids(screen: str) -> list[str]:
    plain = Text.from_ansi(screen).plain
    return list(dict.fromkeys(re.findall(r"^([a-z-]+-[a-z0-9]{4})\b", plain, re.MULTILINE)))


def steadied(screen: str, home: Path, ids: list[str]) -> str:
    """The screen with what differs from run to run replaced."""
    screen = screen.replace(str(home), "~")
    for task, tail in zip(ids, TAILS, strict=True):
        screen = screen.replace(task, task[:-4] + tail)
    screen = re.sub("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "⠹", screen)
    screen = re.sub(r"\(\d\.\d s, \d+ tokens", "(1.5 s, 240 tokens", screen)
    screen = re.sub(r"implement 1  \d s", "implement 1  1 s", screen)
    return re.sub(r"(completed\S* +)\d+", r"\g<1>260", screen)


def rule(text: str) -> str:
    return f"\x1b[2m── {text} {'─' * (COLUMNS - len(text) - 5)}\x1b[0m"


def write(name: str, title: str, screen: str) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(screen + "\n"))
    (PICTURES / name).write_text(console.export_svg(title=title, code_format=FORMAT), "utf-8")


if __name__ == "__main__":
    main()
