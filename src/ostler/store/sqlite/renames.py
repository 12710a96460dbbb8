"""Old names in journals of schema version 5 and below, and the names that replace them.

`store.sqlite.upgrade` applies these tables once, when a journal is upgraded to version 6. Keys are old names.
An event or notice is identified by its old tag, another struct by its name in NESTED. To rename a field, a
tag or a value before version 6 is released, change it in its struct and add it here. A rename after the
release needs new tables and a new migration.
"""

from __future__ import annotations

RENAMED_TAGS: dict[str, str] = {
    "agent_quiet": "agent_idle",
    "model_woke": "model_recovered",
    "source_not_told": "source_update_failed",
    "source_told": "source_updated",
    "still_busy": "step_progress",
    "work_adjusted": "concurrency_reduced",
}
"""Tag of an event or notice -> new tag."""

RENAMED_FIELDS: dict[str, dict[str, str]] = {
    "attempt": {"choice": "model_name"},
    "budget_warned": {"which": "scope"},
    "gate": {"then_person": "escalate_to_person"},
    "gate_state": {"person": "by_person"},
    "part": {"at_once": "max_parallel", "stops": "stop_on_failure"},
    "phase_state": {"granted": "extra_iterations"},
    "plan": {"document": "is_document"},
    "state": {
        "again": "recheck_phases",
        "asks_review": "review_requested",
        "cancel": "cancel_requested",
        "cancelled_for": "cancel_reason",
        "onto": "conflict_commit",
        "pause": "pause_requested",
        "word": "feedback_seq",
    },
    "step_failed": {"onto": "conflict_commit"},
}
"""Struct -> field -> new name."""

RENAMED_VALUES: dict[str, dict[str, dict[str, str]]] = {
    "state": {"stage": {"turned": "iterated"}},
}
"""Struct -> field (old name) -> value -> new value."""

RENAMED_STEPS: dict[str, str] = {}
"""Last part of a step key -> new last part."""

RENAMED_READERS: dict[str, str] = {}
"""Reader of the feed -> new name."""

NESTED: dict[str, dict[str, str]] = {
    "task_created": {"task": "task", "plan": "plan"},
    "task_started": {"remotes": "remote"},
    "task": {"inputs": "input", "output": "output", "pipeline": "part"},
    "plan": {"phases": "phase", "merge_gate": "gate"},
    "phase": {"strategy": "strategy", "gate": "gate"},
    "state": {
        "plan": "plan",
        "phases": "phase_state",
        "merge": "gate_state",
        "ending": "ending",
        "remotes": "remote",
        "usage": "usage",
        "pipeline": "part",
    },
    "phase_state": {"gate": "gate_state"},
    "attempt": {"usage": "usage", "session_usage": "usage"},
    "notification": {},
}
"""Struct -> field (old name) -> struct of its value or of the elements of its list."""

NESTED_IN_ALL: dict[str, str] = {"usage": "usage"}
"""Field -> struct, for every struct."""
