"""The programs of docs/library run, on every commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.testing.fake_llm import FakeLlm, say
from reader import ROOT, Reader, blocks
from world import World

PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/library").glob("*.md"))
EXPECTED = {
    "docs/library/agent-executor.md": ["The answer, in one paragraph.", "failed ABORTED"],
    "docs/library/phases.md": [
        "implement running\nimplement completed",
        "completed orc/greeting-1 pass",
        "status='blocked', reason='missing dependencies'",
    ],
}


@pytest.mark.one_machine("the commands of the page run the tasks themselves")
@pytest.mark.parametrize("page", [page for page in PAGES if page in EXPECTED])
def test_the_programs_of_a_page_run(page: str, world: World) -> None:
    """In one project, with a local model, and they print what the page states."""
    with FakeLlm([say("The answer, in one paragraph.")]) as llm:
        world.environ |= {"ANTHROPIC_BASE_URL": llm.url, "ANTHROPIC_API_KEY": "k"}
        reader = Reader(world)
        printed = ""
        for block in blocks(page, "sh", "toml", "markdown", "python"):
            if block["file"]:
                reader.write(block)
            elif block["language"] == "sh":
                printed += str(reader.type(block["body"]))
    for text in EXPECTED[page]:
        assert text in printed


def test_each_page_is_in_the_table() -> None:
    """A page that is renamed or removed is noticed."""
    assert [page for page in EXPECTED if not Path(ROOT, page).is_file()] == []
