"""Settings that name directories and branches: documents stay below the project."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.errors import GitError, PathEscape, Problem
from ostler.files.paths import split_beneath
from ostler.git.refs import check_branch_name
from ostler.project.inspection.setup import Setup
from ostler.skills.location import list_missing_folders


def find_directory_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem for each directory of documents outside the project, or of skills that is missing."""
    documents = setup.settings.documents
    named = [("documents.context", documents.context), ("documents.outputs", documents.outputs)]
    allowed = [one for one in documents.outputs_allow if one.strip("/") != "."]
    for key, path in (*named, *(("documents.outputs_allow", one) for one in allowed)):
        try:
            split_beneath(path)
        except PathEscape:
            yield setup.problem(key, f"expected a directory below the project, got {path!r:.80}")
    for path in list_missing_folders(setup.root, setup.settings.skills):
        yield setup.problem("skills.paths", f"{path} is not a directory", "warning")


def find_branch_problems(setup: Setup) -> Iterator[Problem]:
    """Yield a problem when no branch can have the prefix."""
    try:
        check_branch_name(f"{setup.settings.git.branch_prefix}task")
    except GitError as error:
        yield setup.problem("git.branch_prefix", f"{error.message}; {error.hint}")
