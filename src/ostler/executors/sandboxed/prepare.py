"""Prepares an agent for one attempt in a sandbox: its home directory, the route to its model, its login."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code, OstlerError
from ostler.executors.discover import AgentProgram
from ostler.executors.program import ProgramExecutor
from ostler.executors.protocol import Executor
from ostler.executors.sandboxed.needs import Login, ModelAccess, Outside, SandboxNeeds
from ostler.model.call import AgentCall
from ostler.process.tool import ToolTimeout, run_tool
from ostler.sandbox.home.contents import HomeContents
from ostler.sandbox.home.prepare import prepare_home
from ostler.sandbox.network.policy import ModelRoute

_REFRESH_SECONDS = 60.0
_MARGIN_SECONDS = 300.0  # a token that ends during the first answer is as useless as one that has ended


class PreparedAgent(Struct, frozen=True):
    """What the sandbox of one attempt needs for its agent."""

    route: ModelRoute | None = None  # None: its keys are in the sandbox, or it has none
    left_out: tuple[str, ...] = ()  # files of the user's home directory that the agent reads and does not get
    warnings: tuple[str, ...] = ()


def prepare_agent(executor: Executor, call: AgentCall, bring: tuple[str, ...] = ()) -> PreparedAgent:
    """Fill call.home for the agent and return the route to its model; `bring` is the setting sandbox.home.

    call.env is the environment without a sandbox. Raises AUTH_FAILED for a login that has ended.
    """
    home = Path(call.env.get("HOME") or "/")
    needs = executor.spec.sandbox if isinstance(executor, ProgramExecutor) else None
    if not isinstance(executor, ProgramExecutor) or needs is None:
        left_out = prepare_home(Path(call.home), home, HomeContents(), bring)
        return PreparedAgent(None, left_out, _warn(executor))
    access, outside = executor.find_access(call), executor.describe_outside(call)
    if access and access.login:
        _renew(access.login, executor.spec.program, executor.find_path(), outside)
    contents = _complete(needs.contents(outside), needs, access)
    left_out = prepare_home(Path(call.home), home, contents, _add_logins(bring, needs, access))
    if access:
        return PreparedAgent(access.route, left_out)
    return PreparedAgent(None, left_out, _warn(executor) if call.model_url else ())


def _complete(contents: HomeContents, needs: SandboxNeeds, access: ModelAccess | None) -> HomeContents:
    """Return the files with the login of the access; an older login of the user's is removed."""
    if access is None:
        return contents
    settings = {file.path for file in contents.files}
    stale = tuple(path for path in needs.logins if path not in settings and path not in access.files)
    return replace(contents, written={**contents.written, **access.files}, removed=stale)


def _add_logins(bring: tuple[str, ...], needs: SandboxNeeds, access: ModelAccess | None) -> tuple[str, ...]:
    return bring if access else (*bring, *needs.logins)


def _warn(executor: Executor) -> tuple[str, ...]:
    if not executor.capabilities.has_account:
        return ()
    message = (
        f"the keys of {executor.name} are in its sandbox, because the proxy cannot call its model; "
        "sandbox.allow_hosts must name the hosts that it calls"
    )
    return (message,)


def _renew(login: Login, program: AgentProgram, path: str, outside: Outside) -> None:
    """Let the agent's own program renew a login that has ended; raise AUTH_FAILED if it does not."""
    if not _has_ended(login):
        return
    if login.refresh:
        _run_outside((path, *login.refresh), outside)
    if _has_ended(login):
        message = f"the login of {program.name} has ended, and its own program did not renew it"
        raise OstlerError(Code.AUTH_FAILED, message, f"log in again: {program.login_command}")


def _has_ended(login: Login) -> bool:
    end = login.expires_at()
    return end is not None and end - _MARGIN_SECONDS <= time.time()


def _run_outside(argv: tuple[str, ...], outside: Outside) -> None:
    """Run a command of the agent in an empty directory, with the user's own environment."""
    with tempfile.TemporaryDirectory(prefix="ostler-login-") as directory:
        try:
            run_tool([*argv], env=dict(outside.env), cwd=directory, timeout_seconds=_REFRESH_SECONDS)
        except (OSError, ToolTimeout):
            return  # the login is read again, which shows the failure
