"""One prompt to an ACP agent: handshake, session, prompt, permissions, the end of the turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import NamedTuple

from msgspec import Raw, Struct

from ostler.executors import acp_wire as wire
from ostler.executors.acp_tool import PERMISSION_REQUEST, PermissionRequest, may
from ostler.executors.acp_updates import Updates
from ostler.executors.acp_verdict import judge
from ostler.executors.failure import code_of_failure
from ostler.executors.hearing import Hearing
from ostler.executors.wire import read
from ostler.model.call import AgentCall, CallResult, OnEvent, Permissions
from ostler.model.command import Exit
from ostler.model.usage import Usage
from ostler.process.protocol import Say

_NOTHING = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}

# What it means when the answer to one of these is an error that says nothing better.
_MEANING = {
    "session/load": "session not found",
    "session/resume": "session not found",
    "session/set_config_option": "model not found",
    "session/set_mode": "mode not found",
}


class Wishes(Struct, frozen=True):
    """How the session shall be."""

    program: str
    resume: bool
    permissions: Permissions
    modes: tuple[str, ...] = ()  # one of these must be set; empty: as the agent begins
    sets_model: bool = True  # false: the command line has named the model


class _Asked(NamedTuple):
    method: str
    then: Callable[[Raw], None]


class AcpConversation:
    """The client's side. Every answer leads to the next request; after the turn, or an error, it is over."""

    def __init__(self, call: AgentCall, on_event: OnEvent, wishes: Wishes) -> None:
        self._call, self._wishes = call, wishes
        self._heard = Hearing(call, on_event)
        self._updates = Updates(self._heard)
        self._say: Say = lambda _: None
        self._asked: dict[bytes, _Asked] = {}
        self._number = 0
        self._agent = wire.Agent()
        self._session_id = ""
        self._prompted = False  # before that, updates are the replay of a loaded session
        self._over = False

    def begin(self, say: Say) -> None:
        """See Conversation.begin."""
        self._say = say
        client = {"name": "ostler", "title": "Ostler", "version": version("ostler")}
        ours = {"protocolVersion": wire.PROTOCOL_VERSION, "clientCapabilities": _NOTHING}
        self._ask("initialize", {**ours, "clientInfo": client}, self._meet)

    def take(self, line: bytes) -> bool:
        """Read one message, and answer it where it wants one; True when the conversation is over."""
        said = read(wire.MESSAGE, line)
        if said is None or not (said.method or bytes(said.id)):
            self._heard.miss(line)
        elif not said.method:
            self._hear_answer(said)
        elif bytes(said.id):
            self._reply(said)
        elif said.method == "session/update":
            self._hear_update(said.params)
        return self._over

    def _hear_update(self, params: Raw) -> None:
        if self._prompted:
            self._updates.take(params, self._session_id)
        else:
            self._updates.watch_replay(params)

    def part(self) -> None:
        """See Conversation.part."""
        if self._prompted and not self._over:
            self._say(wire.notification("session/cancel", {"sessionId": self._session_id}))

    def judge(self, exit: Exit) -> CallResult:
        """Everything that was said and how the program exited, as a CallResult."""
        self._updates.close()
        self._heard.close(exit.long_lines)
        return judge(self._call, self._heard, exit, self._wishes.program)

    # What we ask, in this order.

    def _meet(self, raw: Raw) -> None:
        self._agent = read(wire.AGENT, raw) or wire.Agent()
        if self._agent.protocol_version != wire.PROTOCOL_VERSION:
            self._give_up(f"protocol version {self._agent.protocol_version} of ACP is not ours")
            return
        if method := self._way_in():
            self._open(method)
        else:
            # Who brings a fresh prompt wants the work to go on, in a new session when it must be.
            meaning = "session not found" if self._call.fresh_prompt else "cannot resume"
            self._give_up(f"{meaning}: the agent says that it keeps no sessions")

    def _way_in(self) -> str:
        can = self._agent.agent_capabilities
        if not self._wishes.resume:
            return "session/new"
        if can.session_capabilities.resume is not None:
            return "session/resume"
        return "session/load" if can.load_session else ""

    def _open(self, method: str) -> None:
        session = {"sessionId": self._call.session_id} if self._wishes.resume else {}
        then = self._enter_loaded if method == "session/load" else self._enter
        self._ask(method, {"cwd": _spell(self._call.cwd), "mcpServers": (), **session}, then)

    def _enter_loaded(self, raw: Raw) -> None:
        """qwen loads what it never had; a session that exists is replayed before the answer."""
        if self._updates.replayed:
            self._enter(raw)
        else:
            self._give_up("session not found: the agent loaded an empty one")

    def _enter(self, raw: Raw) -> None:
        session = read(wire.SESSION, raw) or wire.Session()
        self._session_id = session.session_id or self._call.session_id
        self._heard.begin(self._session_id, self._model_of(session), self._agent.version)
        self._set_mode(session)

    def _model_of(self, session: wire.Session) -> str:
        """As the command line named it, else as the session has it."""
        chosen = session.model.current_value if session.model else ""
        named = "" if self._wishes.sets_model else self._call.model
        return named or (chosen if isinstance(chosen, str) else "")

    def _set_mode(self, session: wire.Session) -> None:
        wanted = self._wishes.modes
        mode = next((mode for mode in wanted if mode in session.mode_ids), "")
        if wanted and not mode:
            self._give_up(f"mode not found: the agent offers none of {', '.join(wanted)}")
        elif mode:
            self._ask_of_session("session/set_mode", {"modeId": mode}, lambda _: self._set_model(session))
        else:
            self._set_model(session)

    def _set_model(self, session: wire.Session) -> None:
        model = self._call.model
        if not model or not self._wishes.sets_model:
            self._prompt()
        elif session.model is None:
            self._give_up(f"model not found: the agent lets nobody choose {model}")
        else:
            choice = {"configId": session.model.id, "value": model}
            self._ask_of_session("session/set_config_option", choice, lambda _: self._prompt(model))

    def _prompt(self, model: str = "") -> None:
        self._heard.model = model or self._heard.model
        self._prompted = True
        text = self._call.prompt.encode("utf-8", "replace").decode()
        said = {"type": "text", "text": f"\n{text}" if text.startswith("/") else text}
        self._ask_of_session("session/prompt", {"prompt": (said,)}, self._end)

    def _end(self, raw: Raw) -> None:
        turn = read(wire.TURN, raw) or wire.Turn()
        self._over = True
        self._count(turn)
        match turn.stop_reason:
            case "end_turn":
                self._heard.finish(well=True)
            case "max_tokens":
                self._heard.truncated = True
                self._heard.finish(well=True)
            case reason:
                self._heard.fail(f"the turn ended with {reason or 'no reason'}")

    # How.

    def _ask_of_session(self, method: str, more: Mapping[str, object], then: Callable[[Raw], None]) -> None:
        self._ask(method, {"sessionId": self._session_id, **more}, then)

    def _ask(self, method: str, params: Mapping[str, object], then: Callable[[Raw], None]) -> None:
        self._number += 1
        self._asked[str(self._number).encode()] = _Asked(method, then)
        self._say(wire.request(self._number, method, params))

    def _hear_answer(self, said: wire.Message) -> None:
        asked = self._asked.pop(bytes(said.id).strip(), None)
        if asked is None or self._over:
            return
        if said.error is not None:
            self._hear_error(asked.method, said.error)
        else:
            asked.then(said.result)

    def _hear_error(self, method: str, error: wire.Error) -> None:
        if (method, error.code) == ("session/resume", wire.METHOD_NOT_FOUND):
            self._open("session/load")  # qwen 0.15 promises what it does not have
            return
        status = error.code if 400 <= error.code < 600 else None
        said = _what_happened(error)
        meaning = "authentication required" if error.code == wire.AUTH_REQUIRED else _MEANING.get(method, "")
        if meaning and code_of_failure(said, status) is None:
            said = f"{meaning}: {said}"
        self._give_up(said, status)

    def _give_up(self, said: str, status: int | None = None) -> None:
        self._over = True
        self._heard.fail(said, status)

    def _reply(self, said: wire.Message) -> None:
        if said.method != "session/request_permission":
            self._say(wire.refusal(said.id, said.method))
            return
        asked = read(PERMISSION_REQUEST, said.params) or PermissionRequest()
        tool = self._updates.learn(asked.tool_call)
        self._updates.tell(tool)
        allowed = asked.can_be_allowed and may(self._wishes.permissions, tool, self._call.cwd)
        if not allowed:
            self._heard.deny(tool.tool_call_id, tool.detail, tool.name)
        self._say(wire.answer(said.id, asked.choose(allowed=allowed)))

    def _count(self, turn: wire.Turn) -> None:
        used, quota = turn.usage, turn.quota
        if used is not None:
            cached = (used.cached_read_tokens or 0, used.cached_write_tokens or 0)
            self._heard.count(Usage(used.input_tokens, used.output_tokens, *cached))
        elif quota.token_count.input_tokens or quota.token_count.output_tokens:
            self._heard.count(Usage(quota.token_count.input_tokens, quota.token_count.output_tokens))
        self._heard.model = quota.model_usage[0].model if quota.model_usage else self._heard.model
        total, before = self._updates.session_cost_usd, self._call.session_cost_usd
        if total:
            self._heard.charge(total - before if total >= before else total)


def _what_happened(error: wire.Error) -> str:
    """The message, and what stands behind it: `Internal error: 401 bad key`."""
    data = read(wire.ERROR_DATA, error.data) or wire.ErrorData()
    more = data.details or data.message or data.error or bytes(error.data).decode("utf-8", "replace")
    return f"{error.message}: {more}" if more not in ("", "null", error.message) else error.message


def _spell(path: str) -> str:
    return os.fsencode(os.path.abspath(path)).decode("utf-8", "replace")  # noqa: PTH100  (text in, text out)
