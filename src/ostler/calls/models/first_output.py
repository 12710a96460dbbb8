"""Whether a probe was answered: the first output that comes from the model."""

from __future__ import annotations

from collections.abc import Callable

from ostler.calls.models.circuits import CIRCUITS
from ostler.errors import Code
from ostler.executors.failures import classify_failure, find_error_line, is_short_enough_for_error
from ostler.model.call import AgentEvent, LimitReported, TextReceived, ToolDenied, ToolUsed
from ostler.model.limits.limit import Open, Probe


class FirstOutput:
    """Reports once that a probe was answered: at the first output that comes from the model."""

    def __init__(self, admission: Open | Probe, on_answer: Callable[[Probe], None]) -> None:
        self._probe = admission if isinstance(admission, Probe) else None
        self._on_answer = on_answer

    @property
    def unanswered(self) -> Probe | None:
        """The probe if the model has not answered it yet; None: it has, or the attempt is no probe."""
        return self._probe

    @property
    def is_unanswered(self) -> bool:
        """Whether this call is a probe, and the model has not answered yet."""
        return self._probe is not None

    def check_event(self, event: AgentEvent) -> None:
        if self._probe is None:
            return
        # Where answers break off, a part of one proves nothing.
        is_part = isinstance(event, TextReceived | LimitReported) and self._is_about_network
        # An accepted request is reported before the first text, which may take minutes.
        is_answer = is_from_model(event) or (isinstance(event, LimitReported) and _is_accepted(event))
        if is_answer and not is_part:
            self.confirm()

    @property
    def _is_about_network(self) -> bool:
        network = CIRCUITS[Code.STREAM_BROKEN].window
        return self._probe is not None and any(one.window == network for one in self._probe.windows)

    def confirm(self) -> None:
        """Report the answer, unless that was done before."""
        probe, self._probe = self._probe, None
        if probe is not None:
            self._on_answer(probe)


def _is_accepted(event: LimitReported) -> bool:
    """Return whether the provider reported with its answer that no window is used up."""
    is_live = any(one.source in ("event", "header") for one in event.windows)
    return is_live and all(one.status != "rejected" for one in event.windows)


def is_from_model(event: AgentEvent) -> bool:
    """Return whether an event proves that the model answered."""
    # Some agents print a rejection by their provider as a text.
    if isinstance(event, TextReceived):
        is_error = is_short_enough_for_error(event.text) and classify_failure(event.text) is not None
        return bool(event.text.strip()) and not is_error and not find_error_line(event.text)
    return isinstance(event, ToolUsed | ToolDenied)
