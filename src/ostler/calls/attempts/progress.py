"""The progress of one call: its attempts so far, and why each model is unavailable."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.calls.attempts.session import AgentSession, is_session_failure, replace_session, with_own_id
from ostler.calls.debugger import Debugger, PromptOverride
from ostler.calls.models.availability import Unavailable, explain_exhaustion
from ostler.calls.models.first_output import FirstOutput
from ostler.calls.request import CallOutcome, CallRequest
from ostler.errors import Code, needs_account_fix
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.policy.model_config import ModelConfig, ModelPool

_Owner = tuple[str, str]
"""Who has a session: an executor and the key of its login."""


class CallProgress:
    """Everything that changes while a call runs."""

    def __init__(
        self, request: CallRequest, previous_failure: str, max_attempts: int, debugger: Debugger | None
    ) -> None:
        self.request = request
        self.previous_failure = previous_failure  # how the attempt before ended, for the next prompt
        self.max_attempts = max_attempts
        self.preferred = request.preferred
        self.attempts_made = 0
        self.last_model = ""
        self.waited_seconds = 0.0  # for limits that other calls ran into
        self.probes: list[FirstOutput] = []  # one per attempt; most have no probe
        self.failed_probe = False  # the last attempt was a probe that the provider did not answer
        self.unavailable: dict[str, Unavailable] = {}
        self.prompt_override = PromptOverride(debugger)
        self._failures: dict[str, list[CallResult]] = {}
        self._logins = {model.name: model.login.key for model in request.pool.models}
        self._sessions: dict[_Owner, AgentSession] = {}
        self._lost: set[_Owner] = set()  # whose session was replaced in this call
        self._lost_session = False  # the last attempt could not resume its session
        self._last_outcome = CallOutcome(CallResult(Code.MODELS_EXHAUSTED))

    def select_session(self, model: ModelConfig, can_resume: bool) -> AgentSession:
        """Return the session of the model's executor and login; another one cannot continue it."""
        if (session := self._sessions.get(_owner_of(model))) is not None:
            return session
        attempts = self.request.attempts
        own = [one for one in attempts if self._is_own(one, model)]
        session = self.request.select_session(model.executor, can_resume, own)
        is_taken = any(one.session_id == session.id for one in attempts if one not in own)
        return with_own_id(session, model.login.key) if is_taken else session

    def _is_own(self, attempt: Attempt, model: ModelConfig) -> bool:
        """Return whether an attempt used the model's executor and login.

        Attempts do not record the login; one of a model that was removed is taken for the model's.
        """
        login = self._logins.get(attempt.model_name, model.login.key)
        return (attempt.executor, login) == _owner_of(model)

    def failures_of(self, model: ModelConfig) -> list[CallResult]:
        """Return the failures of one model in this call; trying the pool again adds no retries."""
        return self._failures.setdefault(model.name, [])

    def used_other_executor(self, model: ModelConfig) -> bool:
        """Return whether another executor or login worked on this phase, which the prompt must describe."""
        attempts = self.request.attempts
        return any(one.phase == self.request.phase and not self._is_own(one, model) for one in attempts)

    def add_attempt(
        self, outcome: CallOutcome, attempt: Attempt, can_resume: bool, has_worked: bool = True
    ) -> None:
        self.attempts_made += 1
        self._lost_session = is_session_failure(attempt, self.request.attempts, has_worked)
        self.last_model = attempt.model_name
        self.request = replace(self.request, attempts=[*self.request.attempts, attempt])
        started = can_resume and bool(outcome.result.session_id)
        owner = (attempt.executor, self._logins.get(attempt.model_name, ""))
        self._sessions[owner] = AgentSession(attempt.session_id, started=started)
        self._last_outcome = outcome

    def replace_lost_session(self) -> AgentSession | None:
        """Let the next attempt start a new session if the last one could not resume its own."""
        if not self._lost_session:
            return None
        self._lost_session = False
        attempt = self.request.attempts[-1]
        owner = (attempt.executor, self._logins.get(attempt.model_name, ""))
        self._lost.add(owner)
        self._sessions[owner] = replace_session(attempt)
        return self._sessions[owner]

    def has_lost_session(self, model: ModelConfig) -> bool:
        """Return whether the model's executor starts a new session because it could not resume one."""
        return _owner_of(model) in self._lost and not self.select_session(model, True).started

    @property
    def next_number(self) -> int:
        """The number of the next attempt, among all attempts of the task."""
        return max((attempt.number for attempt in self.request.attempts), default=0) + 1

    @property
    def last_result(self) -> CallResult:
        return self._last_outcome.result

    def stop(self, code: Code, message: str) -> CallOutcome:
        """Return the outcome of a call that ends for a reason other than the result of an attempt."""
        return replace(self._last_outcome, result=replace(self.last_result, code=code, message=message))

    def exhaust(self) -> CallOutcome:
        """Return the outcome of a call for which every model was tried or skipped."""
        end = explain_exhaustion(self.request.pool, self.unavailable, self.attempts_made, self.max_attempts)
        return replace(self.stop(end.code, end.message), resumes_at=end.resumes_at)

    def recovering_before(self, until: float) -> ModelPool:
        """Return the models that were not called because of a limit which ends before `until`."""
        models = self.request.pool.models
        return ModelPool(tuple(one for one in models if _recovers(self.unavailable.get(one.name), until)))

    def first_recovery(self, pool: ModelPool) -> float:
        """Return when the first limit of these models ends."""
        return min(self.unavailable[model.name].until or 0.0 for model in pool.models)


def _owner_of(model: ModelConfig) -> _Owner:
    return model.executor, model.login.key


def _recovers(unavailable: Unavailable | None, until: float) -> bool:
    if unavailable is None or unavailable.reason not in ("limited", "down") or unavailable.called:
        return False
    if needs_account_fix(unavailable.code) and not unavailable.is_probed:
        return False
    return unavailable.until is not None and unavailable.until <= until
