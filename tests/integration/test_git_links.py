"""Other names of files through the symbolic links of a commit."""

from __future__ import annotations

from pathlib import Path

from git_world import World, git
from ostler.git.commit.links import list_names, read_links
from ostler.git.discovery import discover_repository


def test_a_file_has_the_names_that_links_give_it(tmp_path: Path) -> None:
    """Also through two links; links to other places and loops do no harm."""
    world = World(tmp_path, files={"tooling/claude/settings.json": "{}", "a.txt": "1"})
    links = {
        ".claude": "config/claude",
        "config": "tooling",
        "out": "../../etc",
        "tooling/up": "..",
        "x": "/a",
    }
    for name, target in links.items():
        (world.project / name).symlink_to(target)
    commit = world.commit({"b.txt": "1"})
    repository = discover_repository(world.project)
    assert repository is not None
    found = read_links(repository, [commit])
    names = [*list_names("tooling/claude/settings.json", found)]
    assert ".claude/settings.json" in names and names[0] == "tooling/claude/settings.json"
    assert ".claude/a.txt" not in list_names("a.txt", found)
    assert git(world.project, "status", "--porcelain") == ""
