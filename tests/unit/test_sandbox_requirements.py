"""Requirements files for an environment without the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.sandbox.environments.recipe import NoEnvironment
from ostler.sandbox.environments.requirements import RequirementFiles

MANIFEST = """
[project]
name = "shop"
dependencies = ["attrs>=23"]
[project.optional-dependencies]
test = ["pytest", "shop[docs]"]
docs = ["sphinx"]
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(MANIFEST)
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "x-1.0-py3-none-any.whl").write_bytes(b"wheel")
    (tmp_path / "other").mkdir()
    (tmp_path / "base.txt").write_text("six\n")
    return tmp_path


def read(directory: Path, text: str) -> dict[str, bytes]:
    (directory / "requirements.txt").write_text(text)
    found = RequirementFiles(directory)
    found.add("requirements.txt")
    return found.files


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("boltons==1 # why\n\n# comment\n", "boltons==1\n"),
        ("a==1 \\\n    --hash=sha256:00\n", "a==1      --hash=sha256:00\n"),
        ("-e .\n", "attrs>=23\n"),
        (".\n", "attrs>=23\n"),
        ("-e .[test]\n", "attrs>=23\npytest\nsphinx\n"),
        ("--editable=file:.[docs]\n", "attrs>=23\nsphinx\n"),
        ("shop[docs] @ file:.\n", "attrs>=23\nsphinx\n"),
        ("-r base.txt\n", "-r base.txt\n"),
        ("-c https://host.invalid/c.txt\n", "-c https://host.invalid/c.txt\n"),
        ("--index-url https://host.invalid/simple\n", "--index-url https://host.invalid/simple\n"),
        ("a @ https://host.invalid/a.whl\n", "a @ https://host.invalid/a.whl\n"),
        ("-e git+https://host.invalid/a.git#egg=a\n", "-e git+https://host.invalid/a.git#egg=a\n"),
        ("a; python_version < '3.12'\n", "a; python_version < '3.12'\n"),
        ("./vendor/x-1.0-py3-none-any.whl\n", "./vendor/x-1.0-py3-none-any.whl\n"),
    ],
)
def test_the_line_of_the_project_is_replaced(directory: Path, text: str, expected: str) -> None:
    """All other lines are kept."""
    assert read(directory, text)["requirements.txt"].decode() == expected


def test_files_that_are_named_are_added(directory: Path) -> None:
    """Included files, archives and directories of archives are inputs of the build."""
    wheel = "vendor/x-1.0-py3-none-any.whl"
    assert read(directory, "-r base.txt\n")["base.txt"] == b"six\n"
    assert read(directory, f"./{wheel}\n")[wheel] == b"wheel"
    assert read(directory, "--find-links vendor\nx\n")[wheel] == b"wheel"


@pytest.mark.parametrize("text", ["-e other\n", "./other\n", "-e ../elsewhere\n", "-r ../base.txt\n"])
def test_other_directories_are_refused(directory: Path, text: str) -> None:
    """They would be installed from the wrong place, or not at all."""
    with pytest.raises(NoEnvironment):
        read(directory, text)


def test_dependencies_that_a_build_computes_are_refused(directory: Path) -> None:
    """Nothing lists them before the project is built."""
    (directory / "pyproject.toml").write_text('[project]\nname = "shop"\ndynamic = ["dependencies"]\n')
    with pytest.raises(NoEnvironment, match="does not list the dependencies"):
        read(directory, "-e .\n")
