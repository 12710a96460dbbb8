"""The pages of docs/: their blocks of commands run, the site builds, the reference is current."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostler.config.load import load_settings
from ostler.testing.fake_llm import FakeLlm, say
from reader import ROOT, Reader, blocks, text_of
from world import World

BIN = Path(sys.executable).parent
PAGES = sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "reference"
)
AGENTS = ("codex", "gemini", "qwen", "opencode", "copilot", "cursor")
ANSWER = "The answer, in one paragraph."

# Blocks that are not run here, by their first words, with the reason.
EXEMPT = {
    "npm install -g ": "installs from the network, then logs in",
    "curl https://": "installs from the network, then logs in",
    "pip install ": "installs from the network",
    "claude mcp add ": "changes the settings of the person's claude",
    "pg_dump --schema": "needs the server of a company",
    "psql -c ": "needs the server of a company",
    "ostler serve\n": "runs until it is stopped; tests/integration has it",
    "ostler serve --all\n": "runs until it is stopped; tests/integration has it",
}


FETCHED = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="https?://')
PICTURE = re.compile(r'<img[^>]+src="([^"]+)"')


def missing_pictures(page: Path, text: str) -> list[Path]:
    """The builder checks links and anchors, but not pictures."""
    named = [page.parent / source for source in PICTURE.findall(text) if not source.startswith("data:")]
    return [picture for picture in named if not picture.is_file()]


def is_exempt(block: re.Match[str]) -> bool:
    return any(block["body"].lstrip().startswith(first) for first in EXEMPT)


@pytest.fixture
def reader(world: World) -> Iterator[Reader]:
    """Every agent is on the path, and a local fake model answers."""
    with FakeLlm([say(ANSWER)]) as llm:
        world.environ |= {"ANTHROPIC_BASE_URL": llm.url, "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
        made = Reader(world)
        made.add_agents(*AGENTS)
        made.put("gh", f'exec "{BIN}/gh" "$@"')
        yield made


@pytest.mark.one_machine("the commands of the page run the tasks themselves")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_in_order(page: str, reader: Reader) -> None:
    """In one project, as a reader would type them; a block with a title is the file of that name."""
    for block in blocks(page, "sh", "toml", "yaml", "markdown", "python"):
        if block["file"]:
            reader.write(block)
        elif block["language"] == "sh" and not is_exempt(block):
            reader.type(block["body"])


def test_every_exemption_is_still_needed() -> None:
    """A removed block needs no exemption."""
    begun = [block["body"].lstrip() for page in PAGES for block in blocks(page, "sh")]
    assert [first for first in EXEMPT if not any(body.startswith(first) for body in begun)] == []


@pytest.mark.parametrize("page", PAGES)
def test_no_command_hides_from_the_test(page: str) -> None:
    """A line that begins with ostler is in a block that is run, not in an indented one."""
    outside = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^    \$? ?ostler .*$", outside, re.MULTILINE) == []


def test_the_reference_is_what_the_source_shows() -> None:
    """Settings, codes and commands: `make reference` was run."""
    done = subprocess.run(
        [sys.executable, "docs/reference.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("", 0)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")])
def test_every_block_of_settings_is_valid(page: str, tmp_path: Path) -> None:
    """Each by itself, whether or not the page's commands use the file."""
    for block in blocks(page, "toml"):
        (tmp_path / "ostler.toml").write_text(block["body"])
        load_settings(tmp_path, {})


def test_every_setting_has_a_description() -> None:
    """No row of the reference has an empty cell."""
    rows = re.findall(r"^\| `.*$", text_of("docs/reference/settings.md"), re.MULTILINE)
    assert len(rows) > 80
    assert [row for row in rows if row.endswith("|  |")] == []


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """All links and anchors have a target, and nothing is fetched from elsewhere."""
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copytree(ROOT / "docs", copy / "docs")
    shutil.copy(ROOT / "mkdocs.yml", copy)
    done = subprocess.run(
        [BIN / "zensical", "build", "--strict", "-f", "mkdocs.yml"],
        cwd=copy,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {page: page.read_text("utf-8") for page in (copy / "site").rglob("*.html")}
    assert [page for page, text in pages.items() if FETCHED.search(text)] == []
    assert [page for page, text in pages.items() if "```" in text] == [], "a block is not recognised"
    assert [gone for page, text in pages.items() for gone in missing_pictures(page, text)] == []


def test_every_page_is_in_the_navigation() -> None:
    """No page can be reached by its address alone."""
    listed = re.findall(r"[\w/-]+\.md", text_of("mkdocs.yml"))
    there = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(there)
