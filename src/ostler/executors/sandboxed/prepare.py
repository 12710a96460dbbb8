"""Prepares an agent for one attempt in a sandbox: its home directory, the route to its model, its login."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec.structs import replace

from ostler.config.home_files import KEY_MARK
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.protocol import Capabilities, Executor
from ostler.executors.sandboxed.claude import NEEDS as CLAUDE_NEEDS
from ostler.executors.sandboxed.codex import NEEDS as CODEX_NEEDS
from ostler.executors.sandboxed.gemini import make_needs as make_gemini_needs
from ostler.executors.sandboxed.logins import renew_before, require_login
from ostler.executors.sandboxed.needs import Login, ModelAccess, Outside, SandboxNeeds
from ostler.executors.sandboxed.opencode import NEEDS as OPENCODE_NEEDS
from ostler.executors.sandboxed.others import COPILOT_NEEDS, CURSOR_NEEDS, QWEN_NEEDS
from ostler.executors.sandboxed.prepared import PreparedAgent
from ostler.model.call import AgentCall, SandboxAccess
from ostler.sandbox.home.contents import HomeContents
from ostler.sandbox.home.prepare import prepare_home
from ostler.secrets.variables import is_secret_name

_ALL = (
    *(CLAUDE_NEEDS, CODEX_NEEDS, OPENCODE_NEEDS, QWEN_NEEDS, COPILOT_NEEDS, CURSOR_NEEDS),
    make_gemini_needs(b"{}"),
)


def prepare_agent(
    executor: Executor, call: AgentCall, home: Path, url: str = "", bring: tuple[str, ...] = ()
) -> PreparedAgent:
    """Fill the private home directory of a call that would run without a sandbox, and find its route.

    `url` is the address of the proxy in the sandbox; empty: there is none, and keys go in. `bring` is the
    setting sandbox.home. Raises AUTH_FAILED for a login that has ended.
    """
    user_home = Path(call.env.get("HOME") or "/")
    needs = executor.spec.sandbox if isinstance(executor, ProgramExecutor) else None
    if not isinstance(executor, ProgramExecutor) or needs is None:
        outside = Outside(call.env)
        contents = HomeContents(removed=tuple(_list_private_files(outside)))
        left_out = prepare_home(home, user_home, contents, bring)
        return PreparedAgent(left_out=left_out, warnings=_warn(executor, url, outside))
    outside = executor.describe_outside(call)
    access = needs.find_access(outside, url) if url else None
    if access and access.login:
        access = _check_login(access, access.login, executor, outside)
    contents = _complete(needs.contents(outside, access), needs, access, outside)
    left_out = prepare_home(home, user_home, contents, bring if access else (*bring, *needs.logins))
    return PreparedAgent(
        access.route if access else None,
        _describe_access(needs, executor.capabilities, access, outside),
        left_out,
        () if access else _warn(executor, url, outside),
    )


def _check_login(
    access: ModelAccess, login: Login, executor: ProgramExecutor, outside: Outside
) -> ModelAccess:
    """Return the access with a login that is renewed when it ends."""
    program, path = executor.spec.program, executor.find_path()
    require_login(login, program, path, outside)
    read_headers = renew_before(access.route.read_headers, login, program, path, outside)
    return replace(access, route=replace(access.route, read_headers=read_headers))


def _complete(
    contents: HomeContents, needs: SandboxNeeds, access: ModelAccess | None, outside: Outside
) -> HomeContents:
    """Return the files with the placeholder of a login, without those that held keys of other attempts."""
    files = dict(access.files) if access else dict[str, bytes]()
    own = {*files, *(file.path for file in contents.files), *(() if access else needs.logins)}
    removed = tuple(path for path in _list_private_files(outside) if path not in own)
    return replace(contents, written={**contents.written, **files}, removed=removed)


def _list_private_files(outside: Outside) -> Iterator[str]:
    """Yield the settings and logins of every agent: an earlier agent of the task may have needed its keys."""
    for needs in _ALL:
        yield from (file.path for file in needs.contents(outside, None).files)
        yield from (path for path in needs.logins if KEY_MARK not in path)


def _describe_access(
    needs: SandboxNeeds, capabilities: Capabilities, access: ModelAccess | None, outside: Outside
) -> SandboxAccess:
    if access is None:
        return SandboxAccess(needs.env, needs.removed)
    removed = (*needs.removed, *access.removed, *_list_keys(capabilities, outside))
    return SandboxAccess({**needs.env, **access.env}, tuple(dict.fromkeys(removed)), access.arguments)


def _list_keys(capabilities: Capabilities, outside: Outside) -> Iterator[str]:
    """Yield the variables of the agent that hold a secret, used or not."""
    more = (one for patterns in capabilities.environment_with.values() for one in patterns)
    patterns = (*capabilities.environment, *more)
    for name in outside.env:
        if is_secret_name(name) and any(fnmatchcase(name, pattern) for pattern in patterns):
            yield name


def _warn(executor: Executor, url: str, outside: Outside) -> tuple[str, ...]:
    if not url or not executor.capabilities.has_account:
        return ()
    is_of_user = getattr(executor, "kind", None) == ""
    if is_of_user and not any(map(is_secret_name, outside.env)):
        return ()
    message = (
        f"the keys of {executor.name} are in its sandbox, because the proxy cannot call its model; "
        "sandbox.allow_hosts must name the hosts that it calls"
    )
    return (message,)
