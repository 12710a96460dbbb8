"""What publishing needs: remotes, the GitHub CLI with its login, and git-lfs. Git itself is not started."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from ostler.errors import Code, GitError, OstlerError, PreflightFailed, Problem
from ostler.git.identity import OSTLER, read_identity
from ostler.git.refs import find_base, resolve_commit
from ostler.git.repository import Repository
from ostler.git.run.program import search_path
from ostler.git.run.safe_config import read_config_entries
from ostler.project.inspection.setup import Setup

_ATTRIBUTES = ".gitattributes"


def require_branches(setup: Setup, repository: Repository) -> None:
    """Raise when the branch of a task could not be created, with the setting that is the reason."""
    settings = setup.settings
    target = settings.git.target
    if settings.engine.moves_tasks and target:
        # Tasks start from what the remote has, and a clone has only its default branch.
        known = resolve_commit(repository, f"refs/remotes/{settings.engine.remote}/{target}")
        target = "" if known else target
    try:
        find_base(repository, target)
    except GitError as error:
        raise (_locate(setup, "git.target", error) if error.code is Code.USAGE else error) from None


def _locate(setup: Setup, key: str, error: GitError) -> PreflightFailed:
    return PreflightFailed([setup.problem(key, error.message)], error.hint, error.code)


def find_publishing_problems(setup: Setup, repository: Repository) -> Iterator[Problem]:
    """Yield what a pull request lacks: a remote, the GitHub CLI, or a login."""
    if setup.settings.git.on_complete != "pr":
        return
    from ostler.git.publish.github import parse_repository_name  # noqa: PLC0415  (imported on use)

    urls = _list_remotes(repository)
    yield from _find_remote_problems(setup, urls)
    if any(parse_repository_name(url) for url in urls.values()):
        yield from _find_gh_problems(setup)


def find_lfs_problems(repository: Repository) -> Iterator[Problem]:
    """Yield a warning when files are stored with git-lfs and it is not installed."""
    if shutil.which("git-lfs", path=search_path()) is not None:
        return
    for number, line in enumerate(_read_lines(repository.work_tree / _ATTRIBUTES), 1):
        if "filter=lfs" in line.partition("#")[0]:
            message = "git-lfs is not installed: a change of such a file cannot be committed; install git-lfs"
            yield Problem(_ATTRIBUTES, number, "", message, "warning")
            return


def find_identity_problems(repository: Repository) -> Iterator[Problem]:
    """Yield a warning when git has no author for commits; it starts git."""
    if read_identity(repository) == OSTLER:
        message = "git has no user.name and user.email: commits get the author Ostler <ostler@localhost>"
        yield Problem("", 0, "", message, "warning")


def _find_remote_problems(setup: Setup, urls: dict[str, str]) -> Iterator[Problem]:
    from ostler.git.publish.github import parse_repository_name  # noqa: PLC0415  (imported on use)

    fork = setup.settings.git.push_remote
    if fork and fork not in urls:
        yield setup.problem("git.push_remote", f"there is no remote {fork}; run git remote add {fork} URL")
    if not urls:
        message = "the repository has no remote: the branch stays here, without a pull request"
        yield setup.problem("git.on_complete", message, "warning")
    elif not any(parse_repository_name(url) for url in urls.values()):
        message = "no remote is a GitHub repository, so no pull request is possible"
        yield setup.problem("git.on_complete", message, "warning")


def _find_gh_problems(setup: Setup) -> Iterator[Problem]:
    from ostler.git.publish.gh import has_stored_login, require_gh, run_gh  # noqa: PLC0415  (imported on use)

    try:
        require_gh()
        if not has_stored_login(setup.environ):
            run_gh("auth", "status")  # a login that the files do not show; without any it makes no request
    except OstlerError as error:
        yield setup.problem("git.on_complete", f"{error.message}; {error.hint}")


def _list_remotes(repository: Repository) -> dict[str, str]:
    """Return the remotes and their URLs; the run has read the same configuration already."""
    entries = ((name.split("."), url) for name, url in read_config_entries(repository))
    return {
        ".".join(parts[1:-1]): url for parts, url in entries if parts[0] == "remote" and parts[-1] == "url"
    }


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
