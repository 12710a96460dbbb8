"""Publish: the task's branch becomes a pull request, or a merge on this machine."""

from __future__ import annotations

from ostler.engine.core.step import Publish
from ostler.engine.steps.tools import Answer, Case, Tools, to_its_end
from ostler.engine.steps.workspace import worktree_of
from ostler.errors import Code, GitError
from ostler.git import publish as publishing
from ostler.git.identity import read_identity
from ostler.git.proposal import Proposal, write_body, write_title
from ostler.git.refs import find_base
from ostler.git.repository import Worktree
from ostler.git.secrets import hide_secrets
from ostler.model.event import Published, Rebased
from ostler.model.state import GateState, PhaseState, State
from ostler.prompt.completion import without_marks


async def publish(step: Publish, case: Case, tools: Tools) -> Answer:
    """Look before every act, so that a repeat after a crash makes nothing twice."""
    done = await to_its_end(_publish, step, case, tools)
    if done.result is publishing.Result.REBASED:
        return Answer(Rebased(done.commit, done.base, done.clean))
    note = "; ".join(done.notes)
    return Answer(Published(step.how, done.pr_url, done.commit, done.base, note))


def _publish(step: Publish, case: Case, tools: Tools) -> publishing.Published:
    worktree = worktree_of(case.state, tools)
    if worktree is None:
        raise GitError(
            Code.WORKTREE_LOST, f"the worktree of {step.task} is gone", f"ostler retry {step.task}"
        )
    who, target = read_identity(worktree.repository), _target(case.state, worktree, tools)
    if step.how == "merge":
        message = f"{tools.settings.git.commit_prefix} {step.task}: {case.task.title}".strip()
        return publishing.publish_merge(worktree, target, who, message, _terms(step, case, tools))
    proposal, terms = _proposal(case, tools), _terms(step, case, tools)
    return publishing.publish_pull_request(worktree, target, proposal, who, terms)


def _terms(step: Publish, case: Case, tools: Tools) -> publishing.Terms:
    git = tools.settings.git
    return publishing.Terms(step.judged, case.state.remotes, git.push_remote, git.allow_secrets)


def _target(state: State, worktree: Worktree, tools: Tools) -> str:
    wanted = tools.settings.git.target or state.target or find_base(worktree.repository).branch
    if not wanted:
        message = f"{state.task} starts from a commit that no branch names, so there is no target for it"
        raise GitError(Code.PUBLISH_FAILED, message, "set git.target in ostler.toml")
    return wanted


def _proposal(case: Case, tools: Tools) -> Proposal:
    wanted, state = tools.settings.pull_request, case.state
    checks = tuple(_check(one, one.gate, state) for one in state.phases if one.gate)
    return Proposal(
        title=write_title(case.task.title, tools.settings.git.commit_prefix or "[ostler]"),
        body=hide_secrets(write_body(state.task, case.task.title, _summary(case, tools), checks)),
        draft=wanted.draft,
        labels=wanted.labels,
        reviewers=wanted.reviewers,
        auto_merge=wanted.auto_merge,
    )


def _check(phase: PhaseState, gate: GateState, state: State) -> str:
    """What a gate said; with the commit, where it ran something on another one than is published."""
    elsewhere = gate.reason and gate.sha and gate.sha != state.commit
    on = f" (on {gate.sha:.10})" if elsewhere else ""
    return f"{phase.id}: {gate.verdict} {gate.reason}".strip() + on


def _summary(case: Case, tools: Tools) -> str:
    """The last words of whoever implemented it, else what was asked."""
    done = [a for a in tools.journal.attempts(case.state.task) if a.status == "succeeded"]
    own = [a for a in done if a.phase == "implement"] or done
    if not own:
        return case.task.body
    path = tools.layout.task(case.state.task) / f"{own[-1].transcript.removesuffix('.jsonl')}.answer.md"
    return without_marks(path.read_text("utf-8", "replace")) if path.exists() else case.task.body
