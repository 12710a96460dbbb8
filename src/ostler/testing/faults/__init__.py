"""Faults of the fake agent: one function per row of the fault matrix, and some common failures.

Each takes the agent and returns its exit status. Imported by the running fake, never by Ostler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .belongings import a25_corrupt, a25_forgets, a26_deletes_workspace, a28_odd_files
from .endings import (
    a15_no_result,
    a16_empty,
    a16_silent,
    a17_error_in_text,
    a18_after_result,
    a18_exit,
    two_results,
)
from .everyday import api_error, behave, blocked, crash, denied, limited, no_mark, waits
from .processes import (
    a1_hangs,
    a2_ignores_term,
    a3_stops_itself,
    a4_daemons,
    a5_hops,
    a7_child_keeps_stdout,
    hangs_after_result,
)
from .streams import (
    a8_never_reads,
    a9_closes_stdin,
    a10_flood,
    a11_many_lines,
    a12_bad_bytes,
    a13_escapes,
    a14_broken_json,
    a23_measures_prompt,
)

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

FAULTS: dict[str, Callable[[FakeAgent], int]] = {"": behave} | {
    fault.__name__: fault
    for fault in (
        crash,
        blocked,
        no_mark,
        denied,
        api_error,
        limited,
        waits,
        hangs_after_result,
        two_results,
        a1_hangs,
        a2_ignores_term,
        a3_stops_itself,
        a4_daemons,
        a5_hops,
        a7_child_keeps_stdout,
        a8_never_reads,
        a9_closes_stdin,
        a10_flood,
        a11_many_lines,
        a12_bad_bytes,
        a13_escapes,
        a14_broken_json,
        a15_no_result,
        a16_empty,
        a16_silent,
        a17_error_in_text,
        a18_exit,
        a18_after_result,
        a23_measures_prompt,
        a25_forgets,
        a25_corrupt,
        a26_deletes_workspace,
        a28_odd_files,
    )
}
