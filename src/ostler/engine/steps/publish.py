"""Publish: opens a pull request for the task's branch, or merges it locally."""

from __future__ import annotations

from ostler.engine.core.step import Publish
from ostler.engine.steps.services import StepResult, StepServices, TaskContext, run_in_thread
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.errors import Code, GitError
from ostler.git.identity import read_identity
from ostler.git.publish import publish as publishing
from ostler.git.publish.proposal import Proposal, write_body, write_title
from ostler.git.publish.secrets import redact_secrets
from ostler.git.refs import find_base
from ostler.git.repository import Worktree
from ostler.model.event import Published, Rebased
from ostler.model.state import GateState, PhaseState, State
from ostler.prompt.completion import strip_marks


async def publish(step: Publish, context: TaskContext, services: StepServices) -> StepResult:
    """Publish the branch; repeating it after a crash publishes nothing twice."""
    done = await run_in_thread(_publish, step, context, services)
    if done.result is publishing.PublishResult.REBASED:
        return StepResult(Rebased(done.commit, done.base, done.clean))
    note = "; ".join(done.notes)
    return StepResult(Published(step.how, done.pr_url, done.commit, done.base, note))


def _publish(step: Publish, context: TaskContext, services: StepServices) -> publishing.PublishOutcome:
    worktree = find_worktree(context.state, services)
    if worktree is None:
        raise GitError(
            Code.WORKTREE_LOST, f"the worktree of {step.task} is missing", f"ostler retry {step.task}"
        )
    who, target = read_identity(worktree.repository), _find_target(context.state, worktree, services)
    if step.how == "merge":
        message = f"{services.settings.git.commit_prefix} {step.task}: {context.task.title}".strip()
        return publishing.publish_merge(worktree, target, who, message, _build_terms(step, context, services))
    proposal, terms = _build_proposal(context, services), _build_terms(step, context, services)
    return publishing.publish_pull_request(worktree, target, proposal, who, terms)


def _build_terms(step: Publish, context: TaskContext, services: StepServices) -> publishing.PublishOptions:
    git = services.settings.git
    return publishing.PublishOptions(
        step.checked_commit, context.state.remotes, git.push_remote, git.allow_secrets
    )


def _find_target(state: State, worktree: Worktree, services: StepServices) -> str:
    target = services.settings.git.target or state.target or find_base(worktree.repository).branch
    if not target:
        message = f"{state.task} starts from a detached commit and has no target branch"
        raise GitError(Code.PUBLISH_FAILED, message, "set git.target in ostler.toml")
    return target


def _build_proposal(context: TaskContext, services: StepServices) -> Proposal:
    settings, state = services.settings.pull_request, context.state
    checks = tuple(_describe_gate(one, one.gate, state) for one in state.phases if one.gate)
    return Proposal(
        title=write_title(context.task.title, services.settings.git.commit_prefix or "[ostler]"),
        body=redact_secrets(
            write_body(state.task, context.task.title, _read_summary(context, services), checks)
        ),
        draft=settings.draft,
        labels=settings.labels,
        reviewers=settings.reviewers,
        auto_merge=settings.auto_merge,
    )


def _describe_gate(phase: PhaseState, gate: GateState, state: State) -> str:
    """Return the verdict of a gate, with its commit if another one is published."""
    elsewhere = gate.reason and gate.sha and gate.sha != state.commit
    on = f" (on {gate.sha:.10})" if elsewhere else ""
    return f"{phase.id}: {gate.verdict} {gate.reason}".strip() + on


def _read_summary(context: TaskContext, services: StepServices) -> str:
    """Return the last answer of the implement phase, or the description of the task."""
    done = [a for a in services.journal.attempts(context.state.task) if a.status == "succeeded"]
    own = [a for a in done if a.phase == "implement"] or done
    if not own:
        return context.task.body
    path = services.layout.task(context.state.task) / f"{own[-1].transcript.removesuffix('.jsonl')}.answer.md"
    return strip_marks(path.read_text("utf-8", "replace")) if path.exists() else context.task.body
