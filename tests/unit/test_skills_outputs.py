"""A document is written below the directories of [documents] only (A3)."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from executor_world import RESEARCH, ExecutorWorld
from ostler.config.settings import DocumentsSettings
from ostler.errors import Code, OstlerError, UsageError
from ostler.model.task import Output
from ostler.skills.outputs import check_output

EVERYWHERE = DocumentsSettings(outputs_allow=(".",))
PROTECTED = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".GIT/config",
    "sub/.git/config",
    ".ostler/ostler.db",
    "ostler.toml",
    "Ostler.TOML",
    "./ostler.toml",
    ".agents/skills/x/SKILL.md",
    ".claude/settings.json",
    ".mcp.json",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    "outputs/.git/config",
]


@pytest.mark.parametrize("settings", [DocumentsSettings(), EVERYWHERE])
@pytest.mark.parametrize("path", PROTECTED)
def test_protected_files_are_never_written(path: str, settings: DocumentsSettings, tmp_path: Path) -> None:
    """Files of git, Ostler, agents and CI are refused, with every setting."""
    with pytest.raises(OstlerError) as caught:
        check_output(tmp_path, path, settings)
    assert caught.value.code is Code.PATH_ESCAPE


@pytest.mark.parametrize(
    "path", ["outputs/a.md", "context/a.md", "docs/sub/a.md", "outputs//a.md", "./docs/a.md"]
)
def test_the_directories_of_the_settings_are_allowed(path: str, tmp_path: Path) -> None:
    """outputs, context and docs by default."""
    check_output(tmp_path, path, DocumentsSettings())


@pytest.mark.parametrize("path", ["a.md", "src/main.py", "docsx/a.md", "docs/.env", "docs/../a.md"])
def test_other_paths_are_refused(path: str, tmp_path: Path) -> None:
    """The message names the directories and the setting that adds one."""
    with pytest.raises(OstlerError) as caught:
        check_output(tmp_path, path, DocumentsSettings())
    assert caught.value.code is Code.PATH_ESCAPE and caught.value.hint


@pytest.mark.parametrize("path", ["outputs", "outputs/", "docs/drafts/", "docs/there"])
def test_a_directory_is_no_document(path: str, tmp_path: Path) -> None:
    """The next step is to name the file in it."""
    (tmp_path / "docs" / "there").mkdir(parents=True)
    with pytest.raises(UsageError, match="is a directory") as caught:
        check_output(tmp_path, path, DocumentsSettings())
    assert caught.value.hint == f"name the file: {path.strip('/')}/NAME.md"


def test_a_setting_adds_directories(tmp_path: Path) -> None:
    """`.` allows the whole project without hidden files."""
    check_output(tmp_path, "drafts/a.md", DocumentsSettings(outputs_allow=("drafts",)))
    check_output(tmp_path, "README.md", EVERYWHERE)
    with pytest.raises(OstlerError):
        check_output(tmp_path, ".env", EVERYWHERE)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", PROTECTED)
def test_the_path_is_checked_again_when_the_file_is_written(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task of an older journal with such a path fails and writes nothing."""
    world = ExecutorWorld(tmp_path)
    with monkeypatch.context() as older:
        older.setattr("ostler.project.tasks.files.documents.check_output", lambda *_: None)
        task = world.add(replace(RESEARCH, output=Output(path)))
    result = world.execute(task)
    assert result.status == "failed" and "document" in str(result)
    assert b"Mock output" not in _read(world.root / path)


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() and path.name != "ostler.db" else b""
