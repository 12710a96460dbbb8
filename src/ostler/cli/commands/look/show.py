"""ostler show"""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path

import click

from ostler.cli.options import json_option, open_project
from ostler.cli.terminal.cost_text import describe_total
from ostler.cli.terminal.output import print_json, print_text
from ostler.cli.terminal.text import (
    STATUS_COLOURS,
    escape_controls,
    format_reason,
    format_table,
    format_usd,
    paint,
    to_one_line,
    use_colour,
    wrap_hanging,
)
from ostler.errors import WarningCode
from ostler.model.ids import TaskId
from ostler.model.policy.sandbox import describe_sandbox
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.model.usage import Usage
from ostler.model.warning import describe_warnings
from ostler.project.artifacts.task_view import show_task
from ostler.project.project import Project
from ostler.views.cost.summary import AttemptCost, CostLine, add
from ostler.views.gate_check import describe_control, describe_isolation
from ostler.views.next_step import next_step
from ostler.views.task import AttemptView, GateView, GivenView, NamedGateView, PhaseView, TaskView
from ostler.views.task import as_json as task_json
from ostler.views.verdict import format_verdict

# The column where the values of a card start.
_INDENT = 12
_REFUSALS = (WarningCode.NETWORK_REFUSED, WarningCode.FILE_REFUSED, WarningCode.PUSH_REFUSED)
_MAX_WEAKENED = 20  # lines of weakened checks; JSON and the file of the gate have more


@click.command("show")
@click.argument("task", metavar="ID")
@click.option(
    "--attempt", metavar="N", type=click.IntRange(min=1), help="Show one attempt: prompt, response, result."
)
@click.option("--files", is_flag=True, help="List its files: prompts, transcripts, output of gates.")
@click.option("--file", metavar="PATH", help="Print one of these files.")
@click.option("--timeline", is_flag=True, help="List its phases, attempts, tools and waits over time.")
@json_option
def command(
    task: str, attempt: int | None, files: bool, file: str | None, timeline: bool, as_json: bool
) -> None:
    """Show one task in full: status, result, phases and attempts."""
    if (attempt is not None) + files + (file is not None) + timeline > 1:
        raise click.UsageError("use one of --attempt, --files, --file and --timeline")
    with open_project() as project:
        found = project.resolve(task)
        if attempt is not None or files or file is not None or timeline:
            _print_part(project, found, attempt, file, timeline, as_json)
            return
        view = show_task(project, found, os.environ, time.time())
        budget_usd = project.task_budget(TaskId(view.id))
    if as_json:
        print_json(task_json(view))
        return
    print_text(format_card(view, budget_usd))
    if len(view.phases) > 1 or any(one.gate.verdict != "not_checked" for one in view.phases):
        print_text("\n" + format_phases(view.phases, view.status))
    if view.gates:
        print_text("\n" + format_named_gates(view.gates))
    if weakened := format_weakened(view.phases, view.gates):
        print_text(f"\n{weakened}")
    if links := format_links(view.phases):
        print_text("\n" + links)
    if refused := format_refused(view):
        print_text(f"\n{refused}")
    if view.attempts:
        print_text("\n" + format_attempts(view.attempts))
    if view.pending_settings:
        lines = "\n".join(f"  {escape_controls(line)}" for line in view.pending_settings)
        print_text(f"\nSettings that this task does not use until: ostler config accept\n{lines}")
    if step := next_step(view):
        print_text(f"\nNext: {step}")


def _print_part(
    project: Project, task: TaskId, attempt: int | None, file: str | None, timeline: bool, as_json: bool
) -> None:
    # Most calls print the task itself.
    from ostler.cli.commands.look.artifacts import print_file, print_files, print_timeline  # noqa: PLC0415
    from ostler.cli.commands.look.attempt_page import format_attempt, read_attempt  # noqa: PLC0415

    if attempt is not None:
        facts = read_attempt(project, task, attempt)
        print_json(facts) if as_json else print_text(format_attempt(facts))
    elif file is not None:
        print_file(project, task, file, as_json)
    elif timeline:
        print_timeline(project, task, as_json)
    else:
        print_files(project, task, as_json)


def format_conflict(view: TaskView) -> str:
    """Return the files with conflicts, and how an agent or a person solves them."""
    found = view.conflict
    if found is None:
        return ""
    lines = list(found.files)
    if found.agent is not None:
        lines.append(f"agent: ostler resume {view.id} -m {shlex.quote(found.agent)}")
    return "\n".join([*lines, f"you: {' && '.join(found.person[:2])}", *found.person[2:]])


_REQUESTS = {
    "merge": "merge, by the next run",
    "pr": "pull request, by the next run",
    "rebase": "rebase, by the next run",
}


def format_card(view: TaskView, budget_usd: float | None = None) -> str:
    status = paint(view.status, STATUS_COLOURS.get(view.status, ""), use_colour(sys.stdout))
    facts = {
        "status": status if not view.code else f"{status} ({view.code})",
        "reason": view.message,
        "conflict": format_conflict(view),
        "waits": view.hold or view.waiting or "",
        "requested": _REQUESTS.get(view.requested or "", ""),
        "proposed": f"by the agent of {view.proposed_by}" if view.proposed_by else "",
        "resumes": view.resumes_at or "",
        "after": ", ".join(f"{one} (waiting)" if one in view.waits_for else one for one in view.after),
        "starts": view.not_before or "",
        "weight": f"{view.weight}, priority {view.priority}" + (f", pool {view.pool}" if view.pool else ""),
        "agent": format_agent(view.given),
        "limits": format_limits(view.given),
        "tags": ", ".join(view.given.tags) if view.given else "",
        "phase": f"{view.phase}, iteration {view.iteration}",
        "branch": view.branch or "",
        "base": format_base(view),
        "commit": view.commit or "",
        "worktree": _format_worktree(view),
        "worker": view.host or "",
        "document": view.output_path or "",
        "published": format_published(view),
        "sandbox": format_sandbox(view),
        "prompts": format_prompts(view.attempts),
        "tokens": format_usage(view.usage),
        "cost": format_cost(view.attempts, budget_usd),
        "warnings": "\n".join(list_warnings(view)),
        "changed": "\n".join(view.changed_files),
        "created": view.created_at,
        "updated": view.updated_at,
        "archived": view.archived_at or "",
        "purged": f"{view.purged_at}; its prompts, transcripts and other files are deleted"
        if view.purged_at
        else "",
    }
    lines = [f"{view.id}  {escape_controls(view.title)}", ""]
    lines += [
        f"  {name:<9} {value}" if name == "status" else _indent_lines(f"  {name:<9} {escape_controls(value)}")
        for name, value in facts.items()
        if value
    ]
    return "\n".join(lines)


def _format_worktree(view: TaskView) -> str:
    """Return the path, if the worktree is on this machine: in a cluster it is where the worker runs."""
    is_elsewhere = view.host and view.worktree and not Path(view.worktree).is_dir()
    return "" if is_elsewhere else view.worktree or ""


def format_agent(given: GivenView | None) -> str:
    """Return the agent that the task names; empty for that of the settings."""
    if given is None:
        return ""
    role = "" if given.role == Task("").role else given.role
    facts = {
        "model": given.model,
        "tier": given.tier,
        "role": role,
        "feature": given.feature,
        "label": given.label,
    }
    named = [f"{name} {value}" for name, value in facts.items() if value]
    return ", ".join(filter(None, (given.executor, *named)))


def format_limits(given: GivenView | None) -> str:
    """Return the timeout and the retries that the task sets; empty for those of the settings."""
    if given is None:
        return ""
    timeout = "" if given.timeout_seconds is None else f"timeout {given.timeout_seconds:g} s"
    retries = "" if given.max_retries is None else f"retries {given.max_retries}"
    return ", ".join(filter(None, (timeout, retries)))


def format_prompts(attempts: tuple[AttemptView, ...]) -> str:
    """Return where the templates of the prompts came from, by phase unless all are built in."""
    found = {one.phase: one.template for one in attempts if one.template}
    if set(found.values()) <= {"built-in"}:
        return next(iter(found.values()), "")
    return ", ".join(f"{phase}: {source}" for phase, source in found.items())


def format_sandbox(view: TaskView) -> str:
    """Return the sandbox of the last attempt, or why there was none, and the agent's permissions."""
    found = describe_sandbox(view.sandbox) if view.sandbox else ""
    permissions = f"permissions {view.permissions}" if view.permissions else ""
    left_out = ", ".join(view.sandbox.left_out) if view.sandbox else ""
    home = f"without {left_out} of your home directory (sandbox.home)" if left_out else ""
    return "; ".join(filter(None, (found, permissions, home)))


def list_warnings(view: TaskView) -> list[str]:
    """Return the warnings, without the refusals that have a section of their own."""
    listed = _REFUSALS if view.refused else ()
    return [
        text for code, text in zip(view.warnings, describe_warnings(view), strict=True) if code not in listed
    ]


def format_refused(view: TaskView) -> str:
    """Return what the sandbox refused, with the setting that would allow each; empty if nothing."""
    lines = [
        wrap_hanging(f"  {to_one_line(one.text)}" + (f" ({one.count} times)" if one.count > 1 else ""), 4)
        for one in view.refused
    ]
    if view.status != "completed" and any(one.setting for one in view.refused):
        lines.append("  A setting of ostler.toml applies to open tasks after: ostler config accept")
    return "\n".join(("Refused by the sandbox:", *lines)) if lines else ""


def format_base(view: TaskView) -> str:
    """Return what the branch starts from: the target, or the work of other tasks."""
    if view.base is None:
        return ""
    works = [f"{one.task} at {one.commit:.10}" for one in view.builds_on if not one.merged]
    merged = [one.task for one in view.builds_on if one.merged]
    where = " and ".join(works) or f"{view.target or 'commit'} at {view.base:.10}"
    return f"starts from {where}" + (f", which has the work of {', '.join(merged)}" if merged else "")


def format_published(view: TaskView) -> str:
    """Return the pull request with its base, or the branch that the work was merged into."""
    if view.pr_url and view.published_into:
        return f"{view.pr_url} (into {view.published_into})"
    return view.pr_url or (f"merged into {view.published_into}" if view.published_into else "")


def format_usage(usage: Usage) -> str:
    kinds = {
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "cache read": usage.cache_read_tokens,
        "cache write": usage.cache_write_tokens,
    }
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)


def format_cost(attempts: tuple[AttemptView, ...], budget_usd: float | None) -> str:
    """Return the cost of all attempts, failed ones included, and how it is known."""
    total = CostLine("")
    for one in attempts:
        if one.status != "running":
            total = add(total, AttemptCost(one.usage, one.cost_usd, one.cost_source, one.billing))
    limit = (f"Budget: {format_usd(budget_usd)}.",) if budget_usd is not None else ()
    return "\n".join((*describe_total(total), *limit))


def _indent_lines(value: str) -> str:
    """Indent further lines, so that text of an agent cannot look like a field of the card."""
    return "\n".join(
        wrap_hanging(line, _INDENT) for line in value.replace("\n", "\n" + " " * _INDENT).split("\n")
    )


def format_phases(phases: tuple[PhaseView, ...], status: TaskStatus) -> str:
    # A started phase of a task that no run works on is not running: it has the status of the task.
    current = "running" if status in (TaskStatus.IN_PROGRESS, TaskStatus.ASSIGNED) else str(status)
    rows = [
        (
            one.id,
            current if one.status == "running" else one.status,
            str(one.iterations or ""),
            (one.commit or "")[:10],
            to_one_line(_format_gate(one.gate)),
        )
        for one in phases
    ]
    colours = [
        {"completed": "green", "failed": "red", "skipped": "dim"}.get(one.status, "") for one in phases
    ]
    return format_table(("phase", "status", "calls", "commit", "gate"), rows, colours)


def _format_gate(gate: GateView) -> str:
    """Return the gate's type, verdict and reason; empty for a gate that is not reached yet."""
    # A pass that names neither criteria nor checks is one of an older version, which checked nothing.
    unchecked = gate.verdict == "pending" or (gate.verdict == "pass" and not gate.reason and not gate.checks)
    if gate.type in ("auto", "skip") and unchecked:
        return ""
    verdict = format_verdict(gate.verdict, gate.by, gate.original)
    checks = f"checks: {'; '.join(gate.checks)}" if gate.checks and gate.verdict == "pass" else ""
    facts = (f"{gate.type}: {format_reason(verdict, gate.reason)}", checks, describe_isolation(gate.check))
    return ", ".join(one for one in (*facts, describe_control(gate.check)) if one)


def format_named_gates(gates: tuple[NamedGateView, ...]) -> str:
    """Return the gates of the final commit that are no phase of the task."""
    rows = [(one.name, (one.gate.sha or "")[:10], to_one_line(_format_gate(one.gate))) for one in gates]
    return format_table(("final gate", "commit", "result"), rows)


def format_links(phases: tuple[PhaseView, ...]) -> str:
    """Return the links of gates' environments to the user's checkout; empty if there are none."""
    found = dict.fromkeys(link for one in phases if one.gate.check for link in one.gate.check.links)
    lines = [wrap_hanging(f"  {escape_controls(link)}", 4) for link in found]
    reasons = dict.fromkeys(one.gate.check.no_environment for one in phases if one.gate.check)
    notes = [
        wrap_hanging(f"  no environment of the lockfile: {to_one_line(one)}", 4) for one in reasons if one
    ]
    title = "Links from the gates' environment to your checkout:"
    return "\n".join((title, *lines, *notes)) if lines else ""


def format_weakened(phases: tuple[PhaseView, ...], gates: tuple[NamedGateView, ...]) -> str:
    """Return the checks that the work weakened; empty if there are none."""
    checks = [one.gate.check for one in (*phases, *gates) if one.gate.check]
    found = [*dict.fromkeys(line for check in checks for line in check.weakened)]
    lines = [wrap_hanging(f"  {to_one_line(line)}", 4) for line in found[:_MAX_WEAKENED]]
    more = [f"  and {len(found) - _MAX_WEAKENED} more"] if len(found) > _MAX_WEAKENED else []
    return "\n".join(("Checks that the work weakens:", *lines, *more)) if lines else ""


def format_attempts(attempts: tuple[AttemptView, ...]) -> str:
    rows = [
        (
            str(a.number),
            a.status + (" (resumed)" if a.resumed else ""),
            f"{a.phase} {a.iteration}",
            to_one_line(" ".join(filter(None, (a.executor, a.model)))),
            "" if a.duration_ms is None else f"{a.duration_ms / 1000:.1f} s",
            to_one_line(format_reason(a.code, a.message)),
        )
        for a in attempts
    ]
    colours = [{"succeeded": "green", "failed": "red"}.get(a.status, "") for a in attempts]
    return format_table(
        ("attempt", "status", "phase", "agent", "duration", ""), rows, colours, optional=("agent", "duration")
    )
