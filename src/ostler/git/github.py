"""Pull requests through the GitHub CLI: looked for before one is made, so that a branch has one."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct, structs

from ostler.git.gh import GhError, run_gh
from ostler.git.proposal import Proposal

_FIELDS = (  # those that Debian's gh 2.23 has
    "url,state,headRefOid,isCrossRepository,isDraft,baseRefName,headRepositoryOwner"
)
_ADDRESS = re.compile(
    r"(?:\w+://)?(?:[^@/]+@)?(?P<host>\w[^/:]*)(?::\d+)?[/:]/?(?P<slug>\w[\w.-]*/\w[\w.-]*?)(?:\.git)?/?"
)
_FOR_ANY_HOST = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")  # gh sends them wherever it is led
_URL = re.compile(r"https?://\S+/pull/\d+")
_PAUSES_SECONDS = (2.0, 4.0, 8.0)  # GitHub works out anew whether it can be merged


class Owner(Struct, frozen=True):
    """Whose repository a branch is in."""

    login: str = ""


class PullRequest(Struct, frozen=True, rename="camel"):
    """A pull request as GitHub has it."""

    url: str
    state: str = "OPEN"
    head_ref_oid: str = ""
    is_cross_repository: bool = False
    is_draft: bool = False
    base_ref_name: str = ""
    head_repository_owner: Owner | None = None  # none: the fork was deleted
    note: str = ""  # ours: what is not as it was wanted

    @property
    def is_open(self) -> bool:
        return self.state == "OPEN"

    @property
    def is_merged(self) -> bool:
        return self.state == "MERGED"


def repository_name(url: str) -> str | None:
    """The [HOST/]OWNER/NAME that gh knows a remote's address by; None when it is no such address."""
    found = _ADDRESS.fullmatch(url)
    if found is None or not _looks_remote(url):
        return None
    host = found["host"].lower().removeprefix("ssh.")
    # A host without a dot is an alias of the user's ssh configuration: gh then takes its own default.
    return f"{host}/{found['slug']}" if "." in host else found["slug"]


def require_known_host(repository: str) -> None:
    """Refuse a host that the user's token was not meant for: an agent can change a remote's address."""
    host = repository.partition("/")[0] if repository.count("/") == 2 else ""
    known = (os.environ.get("GH_HOST", ""), "github.com", "")
    if host in known or host.endswith(".ghe.com") or not any(name in os.environ for name in _FOR_ANY_HOST):
        return
    message = f"the remote is on {host}, and your enterprise token is not said to be for it"
    raise GhError(message, f"export GH_HOST={host}, if that is right")


def find_pull_request(repository: str, branch: str, tip: str = "", fork: str = "") -> PullRequest | None:
    """The open pull request of a branch, else the merged one that ended with this commit.

    `fork` is the owner of the repository that the branch is in, where that is another one.
    """
    args = (
        "pr",
        "list",
        "-R",
        repository,
        f"--head={branch}",
        "--state=all",
        "--limit=50",
        f"--json={_FIELDS}",
    )
    listed = msgspec.json.decode(run_gh(*args), type=list[PullRequest])
    ours = [request for request in listed if _is_from(request, fork)]
    open_now = [request for request in ours if request.is_open]
    merged = [request for request in ours if request.is_merged and request.head_ref_oid == tip]
    return next(iter(open_now or merged), None)


def create_pull_request(
    repository: str, branch: str, target: str, proposal: Proposal, fork: str = ""
) -> PullRequest:
    """Make the branch's pull request; one that somebody made meanwhile is taken instead."""
    head = f"{fork}:{branch}" if fork else branch
    args = (
        *("pr", "create", f"--repo={repository}", f"--head={head}", f"--base={target}", "--body-file=-"),
        f"--title={proposal.title}",
        *(("--draft",) if proposal.draft else ()),
        *(f"--label={label}" for label in proposal.labels),
        *(f"--reviewer={reviewer}" for reviewer in proposal.reviewers),
    )
    try:
        told = run_gh(*args, stdin=proposal.body.encode(errors="replace"))
    except GhError as refused:
        # Said to have failed is not failed: it may exist already, or the answer may have been lost.
        made = find_pull_request(repository, branch, fork=fork)
        if made is None:
            raise
        return structs.replace(made, note=_note(proposal, refused))
    return PullRequest(_read_url(told), is_draft=proposal.draft, base_ref_name=target)


def merge_when_ready(request: PullRequest, pause: Callable[[float], None] = time.sleep) -> str:
    """Let GitHub merge it once its checks pass, or merge it now if nothing is waited for; what was done."""
    if request.is_draft:
        return "a draft is not merged by itself"
    if request.is_open:
        try:
            run_gh("pr", "merge", request.url, "--auto", "--squash")
        except GhError as refused:
            if not _is_ready_now(refused):
                raise
            _merge_now(request, pause)
    merged = _view(request).is_merged
    return "merged on GitHub" if merged else "GitHub merges it once its checks pass"


def _is_from(request: PullRequest, fork: str) -> bool:
    if not fork:
        return not request.is_cross_repository
    owner = request.head_repository_owner
    return request.is_cross_repository and owner is not None and owner.login.lower() == fork.lower()


def _merge_now(request: PullRequest, pause: Callable[[float], None]) -> None:
    for seconds in _PAUSES_SECONDS:
        try:
            run_gh("pr", "merge", request.url, "--squash")
        except GhError as refused:
            if "base branch was modified" not in refused.said.lower():
                raise
            pause(seconds)
        else:
            return
    run_gh("pr", "merge", request.url, "--squash")


def _view(request: PullRequest) -> PullRequest:
    told = run_gh("pr", "view", request.url, f"--json={_FIELDS}")
    return msgspec.json.decode(told, type=PullRequest)


def _is_ready_now(refused: GhError) -> bool:
    said = refused.said.lower()
    return "clean status" in said or "protected branch rules not configured" in said


def _note(proposal: Proposal, refused: GhError) -> str:
    wanted = proposal.labels or proposal.reviewers
    return f"labels and reviewers may be missing: {refused.message}" if wanted else ""


def _read_url(told: str) -> str:
    found = _URL.findall(told)
    if not found:
        raise GhError("gh said that it made a pull request, but not where", "gh pr list shows it", told)
    return found[-1]


def _looks_remote(url: str) -> bool:
    return "://" in url or re.match(r"[^/]+:", url) is not None
