"""Pull requests through the GitHub CLI; a branch gets at most one."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct, structs

from ostler.git.publish.gh import GhError, run_gh
from ostler.git.publish.proposal import Proposal

_FIELDS = (  # fields that gh 2.23 of Debian supports
    "url,state,headRefOid,isCrossRepository,isDraft,baseRefName,headRepositoryOwner"
)
_PULL_URL = re.compile(r"https?://(?P<host>[^/:]+)(?::\d+)?/(?P<slug>[^/]+/[^/]+)/pull/(?P<number>\d+)")
_REMOTE_URL = re.compile(
    r"(?:\w+://)?(?:[^@/]+@)?(?P<host>\w[^/:]*)(?::\d+)?[/:]/?(?P<slug>\w[\w.-]*/\w[\w.-]*?)(?:\.git)?/?"
)
_ENTERPRISE_TOKENS = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")  # gh sends them to any host
_URL = re.compile(r"https?://\S+/pull/\d+")
_RETRY_DELAYS_SECONDS = (2.0, 4.0, 8.0)  # while GitHub recomputes whether it can be merged


class Owner(Struct, frozen=True):
    """The owner of the repository of a branch."""

    login: str = ""


class PullRequest(Struct, frozen=True, rename="camel"):
    """A pull request on GitHub."""

    url: str
    state: str = "OPEN"
    head_ref_oid: str = ""
    is_cross_repository: bool = False
    is_draft: bool = False
    base_ref_name: str = ""
    head_repository_owner: Owner | None = None  # None: the fork was deleted
    note: str = ""  # not from GitHub: what differs from the proposal

    @property
    def is_open(self) -> bool:
        return self.state == "OPEN"

    @property
    def is_merged(self) -> bool:
        return self.state == "MERGED"


def parse_repository_name(url: str) -> str | None:
    """Return the [HOST/]OWNER/NAME of a remote URL, or None if it has no such form."""
    found = _REMOTE_URL.fullmatch(url)
    if found is None or not _looks_remote(url):
        return None
    host = found["host"].lower().removeprefix("ssh.")
    # A host without a dot is an alias of the user's ssh configuration: gh then uses its default host.
    return f"{host}/{found['slug']}" if "." in host else found["slug"]


def require_known_host(repository: str) -> None:
    """Raise if the user's token may not be sent to this host: an agent can change the URL of a remote."""
    host = repository.partition("/")[0] if repository.count("/") == 2 else ""
    trusted = (os.environ.get("GH_HOST", ""), "github.com", "")
    if (
        host in trusted
        or host.endswith(".ghe.com")
        or not any(name in os.environ for name in _ENTERPRISE_TOKENS)
    ):
        return
    message = f"the remote is on {host}, and GH_HOST does not name it as the host of your enterprise token"
    raise GhError(message, f"if the host is correct: export GH_HOST={host}")


def find_pull_request(repository: str, branch: str, tip: str = "", fork: str = "") -> PullRequest | None:
    """Return the open pull request of a branch, else the merged one that ended with this commit.

    `fork` is the owner of the repository of the branch, if it is a fork.
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
    own_requests = [request for request in listed if _is_from(request, fork)]
    open_now = [request for request in own_requests if request.is_open]
    merged = [request for request in own_requests if request.is_merged and request.head_ref_oid == tip]
    return next(iter(open_now or merged), None)


def create_pull_request(
    repository: str, branch: str, target: str, proposal: Proposal, fork: str = ""
) -> PullRequest:
    """Create the pull request of a branch, or return the one that was created meanwhile."""
    head = f"{fork}:{branch}" if fork else branch
    args = (
        *("pr", "create", f"--repo={repository}", f"--head={head}", f"--base={target}", "--body-file=-"),
        f"--title={proposal.title}",
        *(("--draft",) if proposal.draft else ()),
        *(f"--label={label}" for label in proposal.labels),
        *(f"--reviewer={reviewer}" for reviewer in proposal.reviewers),
    )
    try:
        output = run_gh(*args, stdin=proposal.body.encode(errors="replace"))
    except GhError as error:
        # After an error it may still exist: it existed before, or only the response was lost.
        made = find_pull_request(repository, branch, fork=fork)
        if made is None:
            raise
        return structs.replace(made, note=_describe_missing_metadata(proposal, error))
    return PullRequest(_read_url(output), is_draft=proposal.draft, base_ref_name=target)


def retarget_pull_request(request: PullRequest, base: str) -> None:
    """Change the base branch of a pull request. `gh pr edit` would need the scope read:project."""
    found = _PULL_URL.fullmatch(request.url)
    if found is None:
        raise GhError(f"{request.url} is not the URL of a pull request", "change its base on GitHub")
    path = f"repos/{found['slug']}/pulls/{found['number']}"
    run_gh(
        "api", f"--hostname={found['host']}", "--method=PATCH", "--silent", path, f"--raw-field=base={base}"
    )


def is_pull_request_merged(url: str) -> bool:
    """Return whether a pull request is merged on GitHub."""
    return _read_pull_request(PullRequest(url)).is_merged


def merge_when_ready(request: PullRequest, pause: Callable[[float], None] = time.sleep) -> str:
    """Enable auto-merge, or merge now if nothing is pending; return what was done."""
    if request.is_draft:
        return "auto-merge does not apply to drafts"
    if request.is_open:
        try:
            run_gh("pr", "merge", request.url, "--auto", "--squash")
        except GhError as error:
            if not _is_ready_now(error):
                raise
            _merge_now(request, pause)
    merged = _read_pull_request(request).is_merged
    return "merged on GitHub" if merged else "GitHub merges it once its checks pass"


def _is_from(request: PullRequest, fork: str) -> bool:
    if not fork:
        return not request.is_cross_repository
    owner = request.head_repository_owner
    return request.is_cross_repository and owner is not None and owner.login.lower() == fork.lower()


def _merge_now(request: PullRequest, pause: Callable[[float], None]) -> None:
    for seconds in _RETRY_DELAYS_SECONDS:
        try:
            run_gh("pr", "merge", request.url, "--squash")
        except GhError as error:
            if "base branch was modified" not in error.stderr.lower():
                raise
            pause(seconds)
        else:
            return
    run_gh("pr", "merge", request.url, "--squash")


def _read_pull_request(request: PullRequest) -> PullRequest:
    output = run_gh("pr", "view", request.url, f"--json={_FIELDS}")
    return msgspec.json.decode(output, type=PullRequest)


def _is_ready_now(error: GhError) -> bool:
    stderr = error.stderr.lower()
    return "clean status" in stderr or "protected branch rules not configured" in stderr


def _describe_missing_metadata(proposal: Proposal, error: GhError) -> str:
    is_requested = proposal.labels or proposal.reviewers
    return f"labels and reviewers may be missing: {error.message}" if is_requested else ""


def _read_url(output: str) -> str:
    found = _URL.findall(output)
    if not found:
        raise GhError("gh created a pull request but printed no URL", "find it with gh pr list", output)
    return found[-1]


def _looks_remote(url: str) -> bool:
    return "://" in url or re.match(r"[^/]+:", url) is not None
