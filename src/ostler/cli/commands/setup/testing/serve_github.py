"""ostler testing serve-github"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ostler.cli.commands.setup.testing.names import list_option, print_names, require_known
from ostler.cli.commands.setup.testing.serving import (
    TestServer,
    listening,
    port_option,
    print_request,
    program_argument,
    require_program,
    serve,
)
from ostler.cli.options import json_option
from ostler.cli.terminal.output import print_hint
from ostler.errors import UsageError

if TYPE_CHECKING:
    from ostler.testing.fake_github import FakeGitHub, ReceivedRequest


@click.command("serve-github")
@program_argument
@port_option
@click.option("--repository", metavar="OWNER/NAME", default="acme/app", show_default=True, help="Its name.")
@click.option("--remote", metavar="DIR", help="The bare repository that branches are pushed to.")
@click.option("--issue", "issues", metavar="TITLE", multiple=True, help="Open an issue.  Repeatable.")
@click.option("--label", metavar="NAME", default="ready", show_default=True, help="The label of the issues.")
@click.option("--checks-pending", is_flag=True, help="Make merges wait for checks.")
@click.option(
    "--fault",
    "faults",
    metavar="[OPERATION=]NAME",
    multiple=True,
    help="Fail the next request, or the next one of this GraphQL operation.  Repeatable.",
)
@list_option
@json_option
def serve_github(
    program: tuple[str, ...],
    port: int,
    repository: str,
    remote: str | None,
    issues: tuple[str, ...],
    label: str,
    checks_pending: bool,
    faults: tuple[str, ...],
    listing: bool,
    as_json: bool,
) -> int:
    """Serve a repository of GitHub to the real gh.

    It has pull requests, merges and issues. The variables with which gh and git use it are printed on
    stdout and the requests on stderr, until Ctrl-C. A COMMAND after -- is run with these variables, and
    its exit code is returned.
    """
    # The help does not need the kit.
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from ostler.testing.catalog import list_github_faults  # noqa: PLC0415
    from ostler.testing.fake_github import WAITING, FakeGitHub  # noqa: PLC0415

    if listing:
        print_names({"fault": list_github_faults()}, as_json)
        return 0

    def print_one(request: ReceivedRequest) -> None:
        sent = {"method": request.method, "path": request.path, "operation": request.operation}
        line = f"{request.method:4} {request.path} {request.operation}".rstrip()
        print_request(line, sent, as_json)

    _require_name(repository)
    bare = _find_bare(remote)
    require_program(program)
    with TemporaryDirectory() as files, listening(port):
        github = FakeGitHub(repository, bare, port=port, on_request=print_one)
        _add_faults(github, faults)
        for title in issues:
            github.hub.report(title, "", label)
        github.hub.checks = WAITING if checks_pending else github.hub.checks
        with github:
            if bare is not None and not program and not as_json:
                print_hint(f"Once in your project: git remote add origin {github.url}")
            variables = github.environment(Path(files)) | _redirect_pushes(github, bare, Path(files))
            server = TestServer("github", github.address, variables)
            return serve(server, program, as_json)


def _require_name(repository: str) -> None:
    owner, _, name = repository.partition("/")
    if not owner or not name or "/" in name:
        raise UsageError(f'invalid --repository "{repository}": expected OWNER/NAME', "such as acme/app")


def _find_bare(remote: str | None) -> Path | None:
    if remote is None:
        return None
    path = Path(remote).resolve()
    if not (path / "HEAD").is_file() or not (path / "refs").is_dir():
        raise UsageError(f"{remote} is not a bare repository", f"git init --bare {remote}")
    return path


def _add_faults(github: FakeGitHub, faults: tuple[str, ...]) -> None:
    from ostler.testing.catalog import list_github_faults  # noqa: PLC0415  (the help does not need the kit)

    for fault in faults:
        operation, _, name = fault.rpartition("=")
        require_known("fault", name, list_github_faults())
        github.fail(operation, name)


def _redirect_pushes(github: FakeGitHub, bare: Path | None, folder: Path) -> dict[str, str]:
    """Return the variable with which git pushes to the directory and otherwise uses your configuration."""
    if bare is None:
        return {}
    own = os.environ.get("GIT_CONFIG_GLOBAL")
    paths = (own,) if own else ("~/.config/git/config", "~/.gitconfig")
    included = "".join(f"[include]\n\tpath = {path}\n" for path in paths)
    config = folder / "gitconfig"
    config.write_text(f'{included}[url "{bare}"]\n\tinsteadOf = {github.url}\n', "utf-8")
    return {"GIT_CONFIG_GLOBAL": str(config)}
