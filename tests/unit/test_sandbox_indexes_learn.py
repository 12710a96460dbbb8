"""The hosts of files that package indexes link to."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from index_world import IndexServer, Page, json_page, simple_page
from ostler.sandbox.network.indexes.found import Index, Kind
from ostler.sandbox.network.indexes.learn import RETRY_SECONDS, Learned, learn_all
from ostler.sandbox.network.indexes.local_index import learn_local

SIMPLE = "application/vnd.pypi.simple.v1+json"
NUMBERS = count()  # what is learned is kept in the process: each test has hosts of its own


@pytest.fixture
def server() -> Iterator[IndexServer]:
    with IndexServer() as one:
        yield one


@pytest.fixture
def origin() -> str:
    return f"http://index{next(NUMBERS)}.example"


def learn(index: Index, server: IndexServer, seconds: float = 5.0) -> Learned:
    return learn_all([index], server.proxy, seconds=seconds)[index]


@pytest.mark.parametrize(
    ("kind", "path", "page"),
    [
        ("python", "six/", simple_page("https://files.example/six.whl")),
        ("python", "six/", json_page({"files": [{"url": "https://files.example/six.whl"}]}, SIMPLE)),
        ("python", "pip/", simple_page("https://files.example/pip.whl")),
        ("links", "", simple_page("https://files.example/six.whl")),
        (
            "npm",
            "wrappy",
            json_page({"versions": {"1": {"dist": {"tarball": "https://files.example/w.tgz"}}}}),
        ),
        ("cargo", "config.json", json_page({"dl": "https://files.example/{crate}/{version}"})),
    ],
)
def test_hosts_of_files(server: IndexServer, origin: str, kind: Kind, path: str, page: Page) -> None:
    """The host of the files is learned from a page of the index."""
    server.pages[f"{origin}/simple/{path}"] = page
    found = learn(Index(kind, f"{origin}/simple/"), server)
    assert found == Learned((origin.removeprefix("http://"), "files.example"))
    assert server.asked[-1] == "CONNECT files.example:443"  # where the files redirect to, through the proxy
    assert server.logins["files.example:443"] == f"Basic {base64.b64encode(b'me:pw').decode()}"


def test_redirects(server: IndexServer, origin: str) -> None:
    """Each host of a redirect is learned, of the page and of a file."""
    server.pages |= {
        f"{origin}/simple/six/": Page(location="http://mirror.example/simple/six/"),
        "http://mirror.example/simple/six/": simple_page("../../files/six.whl"),
        "http://mirror.example/files/six.whl": Page(location="http://blob.example/1?signature=x"),
        "http://blob.example/1?signature=x": Page("wheel"),
    }
    found = learn(Index("python", f"{origin}/simple"), server)
    assert found.hosts == (origin.removeprefix("http://"), "mirror.example", "blob.example")
    assert "HEAD http://blob.example/1?signature=x" in server.asked


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/x", "http://localhost:5432/", "ftp://other.example/"]
)
def test_index_does_not_open_this_machine(server: IndexServer, origin: str, target: str) -> None:
    """A redirect or link of a foreign index to this machine or its network is not followed or allowed."""
    server.pages |= {
        f"{origin}/a/six/": Page(location=target),
        f"{origin}/b/six/": simple_page(target, "http://files.example/six.whl"),
    }
    host = origin.removeprefix("http://")
    redirected = learn(Index("python", f"{origin}/a"), server)
    assert redirected.hosts == (host,)
    assert "not allowed" in redirected.note
    assert learn(Index("python", f"{origin}/b"), server) == Learned((host, "files.example"))
    assert not [one for one in server.asked if target in one]


def test_local_service(server: IndexServer) -> None:
    """An index on loopback and its files on another port are local ports."""
    server.pages["/simple/six/"] = simple_page("http://127.0.0.1:9/six.whl", "/files/six.whl")
    index = Index("python", f"{server.url}/simple")
    found = learn_all([index], {})[index]
    assert found == Learned(local_ports=(server.port, 9))


def test_asked_once(server: IndexServer, origin: str) -> None:
    """A known index is not asked again; one that failed is, after some time."""
    good, bad = Index("python", f"{origin}/simple"), Index("python", f"{origin}/none")
    server.pages[f"{origin}/simple/six/"] = simple_page("six.whl")
    now = 0.0

    def ask() -> int:
        server.asked.clear()
        learn_all([good, bad], server.proxy, monotonic=lambda: now)
        return len(server.asked)

    assert ask() == 4  # a page and a file; two pages that are not found
    assert ask() == 0
    now = RETRY_SECONDS
    assert ask() == 2


@pytest.mark.parametrize("page", [Page(hangs=True), Page(drips=True), Page("x" * 100, endless=True)])
def test_slow_index_is_bounded(server: IndexServer, origin: str, page: Page) -> None:
    """An index that does not answer, or without end, costs no more than the limit."""
    server.pages[f"{origin}/simple/six/"] = page
    start = time.monotonic()
    found = learn(Index("python", f"{origin}/simple"), server, seconds=0.4)
    assert time.monotonic() - start < 10
    assert found.hosts == (origin.removeprefix("http://"),)
    assert "not known" in found.note


def test_large_page_is_bounded(server: IndexServer, origin: str) -> None:
    """No more than 2 MB of a page are read; buffers of the system come on top of it."""
    server.pages[f"{origin}/simple/six/"] = Page('<a href="six.whl">file</a>' * 4, endless=True)
    assert learn(Index("python", f"{origin}/simple"), server).note == ""
    assert server.sent < 16 * 1024 * 1024


def test_password_is_for_the_index_only(server: IndexServer, origin: str) -> None:
    """A password in the URL is sent to the index, not to where it redirects, and is not shown."""
    own = f"{origin}/simple/six/"
    server.pages |= {own: Page(location="http://mirror.example/six/")}
    found = learn(Index("python", f"{origin.replace('://', '://me:s3cret@')}/simple"), server)
    assert server.logins[own] == f"Basic {base64.b64encode(b'me:s3cret').decode()}"
    assert all(url.startswith(origin) for url in server.logins)
    assert "GET http://mirror.example/six/" in server.asked
    assert "s3cret" not in found.note
    assert origin in found.note


def test_local_index(tmp_path: Path) -> None:
    """A local index is read: its files beside it and their hosts are learned, other directories are not."""
    page = tmp_path / "index" / "simple" / "six" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text(
        '<a href="../../files/six.whl#sha256=0"></a> <a href="https://files.example/a.whl"></a>'
        '<a href="file:///etc/ssh/key"></a><a href="own.whl"></a>'
    )
    found = learn_local(page.parent.parent, Path("/home/user"))
    assert found.hosts == ("files.example",)
    assert found.directories == (tmp_path / "index" / "files",)
    assert "/etc/ssh: to allow it" in found.note
    assert learn_local(page.parent.parent, tmp_path / "index").directories == ()
