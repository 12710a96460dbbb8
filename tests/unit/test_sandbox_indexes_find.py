"""The package indexes of the tools, asked from the real tools or from programs that answer like them."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from index_world import IndexServer, Project, simple_page
from ostler.process.tool import ToolResult, run_tool
from ostler.sandbox.network.indexes import tools
from ostler.sandbox.network.indexes.describe import describe_indexes
from ostler.sandbox.network.indexes.learn import RETRY_SECONDS

PYTHON = Path(sys.executable).parent
NPM = shutil.which("npm")
CARGO = shutil.which("cargo")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with IndexServer() as server:
        one = Project(tmp_path, server)
        for name in ("python3", "python", "npm", "pnpm", "yarn", "uv", "cargo", "go", "gem", "conda", "mvn"):
            one.program(name, "exit 0" if name.startswith("python") else "exit 1")  # a Python without pip
        yield one


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that were started."""
    started: list[str] = []

    def run(argv: list[str], **options: object) -> ToolResult:
        started.append(Path(argv[0]).name)
        return run_tool(argv, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tools, "run_tool", run)
    return started


def test_pip(project: Project) -> None:
    """The settings of pip are those that pip itself finds: files, variables, and its default."""
    (project.programs / "python3").unlink()
    wheels = project.home / "wheels"
    wheels.mkdir()
    project.write(
        "home/.config/pip/pip.conf", "[global]\nextra-index-url = https://me:pw1@more.example/simple\n"
    )
    found = project.find(PATH=f"{PYTHON}:{project.environ['PATH']}", PIP_FIND_LINKS=str(wheels))
    urls = dict(reversed([(url, kind) for kind, url in found.urls]))
    answer = run_tool(
        [sys.executable, "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"],
        env=project.environ,
        cwd="/",
    )
    assert {"https://more.example/simple", answer.stdout.decode().strip()} <= set(urls)
    assert "more.example" in found.hosts
    assert wheels in found.directories
    assert b"https://more.example/simple" in found.files[".config/pip/pip.conf"]
    assert b"pw1" not in b"".join(found.files.values())
    assert any("global.extra-index-url" in note for note in found.notes)
    assert found.environment == {"PIP_FIND_LINKS": str(wheels)}


def test_pip_with_another_index(project: Project) -> None:
    """An index that replaces the default is the only one; on loopback it is a local port."""
    (project.programs / "python3").unlink()
    found = project.find(
        PATH=f"{PYTHON}:{project.environ['PATH']}",
        PIP_CONFIG_FILE=os.devnull,
        PIP_INDEX_URL="http://me:pw2@127.0.0.1:3141/root",
    )
    assert found.urls == (("python", "http://127.0.0.1:3141/root"),)
    assert found.local_ports == (3141,)
    assert found.hosts == ()
    assert found.environment["PIP_INDEX_URL"] == "http://127.0.0.1:3141/root"
    assert any(note.startswith("PIP_INDEX_URL") for note in found.notes)


def test_pip_does_not_answer(project: Project) -> None:
    """The files and variables of pip are read without it; its default index is not known."""
    project.program("python3", "exit 1")
    project.write("home/.config/pip/pip.conf", "[global]\nindex-url = https://pip.example/simple\n")
    found = project.find(PIP_EXTRA_INDEX_URL="https://more.example/simple")
    assert found.hosts == ("pip.example", "more.example")
    assert b"pip.example" in found.files[".config/pip/pip.conf"]
    assert any(note.startswith("pip was not asked") for note in found.notes)


@pytest.mark.skipif(NPM is None, reason="npm is not installed")
def test_npm(project: Project) -> None:
    """The registries of npm are those that npm itself finds, for each scope."""
    project.use("npm", "node")
    project.write("home/.npmrc", "registry=https://npm.example/\n//npm.example/:_authToken=pw3\n")
    project.write("checkout/package.json", "{}")
    project.write("checkout/.npmrc", "@corp:registry=https://corp.example/npm/\n")
    found = project.find()
    assert set(found.hosts) == {"npm.example", "corp.example"}
    project.write("checkout/.npmrc", "@corp:registry=https://${NAME}/npm/\nregistry=https://own.example/\n")
    assert set(project.find(NAME="expanded.example").hosts) == {"own.example", "expanded.example"}
    assert found.files[".npmrc"] == b"registry=https://npm.example/\n"
    (project.home / ".npmrc").unlink()
    (project.checkout / ".npmrc").unlink()
    default = [url for kind, url in project.find().urls if kind == "npm" and "$" not in url]
    asked = run_tool([str(NPM), "config", "get", "registry"], env=project.environ, cwd="/")
    assert default == [asked.stdout.decode().strip()]


@pytest.mark.skipif(CARGO is None, reason="cargo is not installed")
def test_cargo(project: Project) -> None:
    """The default registry of Cargo is the one that cargo names, unless a source replaces it."""
    project.use("cargo")
    rustup = os.environ.get("RUSTUP_HOME") or f"{pwd.getpwuid(os.getuid()).pw_dir}/.rustup"
    environ = {"RUSTUP_HOME": rustup}
    first = [url for kind, url in project.find(**environ).urls if kind == "cargo"]
    assert len(first) == 1
    assert first[0].startswith("https://")
    project.write(
        "home/.cargo/config.toml",
        '[source.crates-io]\nreplace-with = "mirror"\n[source.mirror]\nregistry = "sparse+https://crates.example/"\n'
        '[registries.mirror]\ntoken = "pw4"\n',
    )
    found = project.find(**environ)
    assert [url for kind, url in found.urls if kind == "cargo"] == ["https://crates.example/"]
    assert b"pw4" not in found.files[".cargo/config.toml"]


@pytest.mark.full
@pytest.mark.skipif(NPM is None or CARGO is None, reason="npm or cargo is not installed")
def test_tools_understand_the_copies(project: Project) -> None:
    """In a private HOME with the copied files, the real tools use the same indexes."""
    project.use("npm", "node", "cargo")
    rustup = os.environ.get("RUSTUP_HOME") or f"{pwd.getpwuid(os.getuid()).pw_dir}/.rustup"
    project.environ |= {"PATH": f"{PYTHON}:{project.programs}", "RUSTUP_HOME": rustup}
    project.write(
        "home/.config/pip/pip.conf",
        "[global]\nindex-url = https://me:pw7@pip.example/simple\n"
        "extra-index-url =\n  https://b.example/\n  https://c.example/\n",
    )
    project.write(
        "home/.npmrc", "registry=https://me:pw7@npm.example/\n@corp:registry = https://corp.example/\n"
    )
    project.write(
        "home/.cargo/config.toml",
        '[source.crates-io]\nreplace-with = "mirror"\n[source.mirror]\nregistry = "sparse+https://crates.example/"\n',
    )
    first = project.find()
    private = project.home.with_name("private")
    for name, content in first.files.items():
        (private / name).parent.mkdir(parents=True, exist_ok=True)
        (private / name).write_bytes(content)
    second = project.find(HOME=str(private))
    assert {url for _, url in second.urls} == {url for _, url in first.urls}
    assert {"pip.example", "b.example", "c.example", "npm.example", "corp.example", "crates.example"} == set(
        second.hosts
    )
    assert not any("left out" in note for note in second.notes)
    shown = run_tool(
        [str(CARGO), "search", "x"],
        env=project.environ
        | {"HOME": str(private), "CARGO_NET_RETRY": "0", "CARGO_HTTP_PROXY": "127.0.0.1:9"},
        cwd="/",
    )
    assert b"mirror" in shown.stderr


def test_description(project: Project) -> None:
    """The description has one line for each index, and then the rest."""
    index = project.home / "index"
    index.mkdir()
    project.server.pages["http://a.example/simple/six/"] = simple_page("http://files.example/six.whl")
    project.write("home/.npmrc", "registry=http://127.0.0.1:9/\n_auth=pw8\n")
    found = project.find(UV_INDEX=f"http://a.example/simple {index}")
    lines = describe_indexes(found)
    assert lines[:6] == [
        "python: http://a.example/simple",
        "npm: http://127.0.0.1:9/",
        "hosts of files: files.example",
        "ports on this machine: 9",
        f"read-only directories: {index}",
        "settings files in HOME, without secrets: .npmrc",
    ]
    assert all(line.startswith("note: ") for line in lines[6:])
    assert any(line.endswith("because they are secrets: _auth") for line in lines[6:])


def test_other_tools(project: Project) -> None:
    """Go, RubyGems, Conda, Yarn and uv are asked; Maven's repositories are in its files."""
    project.program(
        "go", """echo '{"GOPROXY":"https://go.example,direct","GOSUMDB":"sum.example","GOENV":"off"}'"""
    )
    project.program("gem", "printf '*** CURRENT SOURCES ***\\n\\nhttps://gems.example/\\n'")
    project.program(
        "conda",
        """echo '{"channels":["forge"],"channel_alias":{"scheme":"https","location":"conda.example"}}'""",
    )
    project.program("pnpm", """echo '{"registry":"https://pnpm.example/"}'""")
    project.write("checkout/pnpm-workspace.yaml", "registries: {'@corp': 'https://scope.example/'}\n")
    project.program("yarn", "[ $3 = registry ] && echo undefined || echo https://yarn.example")
    project.program(
        "uv",
        "echo '  --default-index <URL>  The URL of the default index (by default: <https://uv.example/simple>)'",
    )
    project.write("checkout/Gemfile", "source 'https://rubies.example'\n")
    project.write(
        "home/.m2/settings.xml", "<mirror><url>https://maven.example/x</url></mirror><servers>pw5</servers>"
    )
    found = project.find(UV_INDEX="own=https://own.example/simple")
    expected = {"go", "sum", "gems", "conda", "yarn", "uv", "rubies", "maven", "own", "pnpm", "scope"}
    assert {f"{name}.example" for name in expected} <= set(found.hosts)
    assert ("conda", "https://conda.example/forge") in found.urls
    assert b"pw5" not in found.files[".m2/settings.xml"]


def test_project_files(project: Project) -> None:
    """The files of the checkout name indexes: pyproject.toml, Pipfile, requirements and .yarnrc.yml."""
    project.write(
        "checkout/pyproject.toml",
        '[[tool.uv.index]]\nurl = "https://uv.example/simple"\n[[tool.poetry.source]]\nurl = "https://poetry.example/x"\n'
        '[tool.uv]\nfind-links = ["wheels"]\n',
    )
    project.write("checkout/Pipfile", '[[source]]\nurl = "https://pipenv.example/simple"\n')
    project.write(
        "checkout/requirements.txt",
        "-i https://short.example/simple\n--extra-index-url=https://b.example/\nsix\n",
    )
    project.write("checkout/.yarnrc.yml", 'npmScopes: {corp: {npmRegistryServer: "https://yarn.example"}}\n')
    project.write("checkout/wheels/x.whl", "")
    found = project.find()
    assert {f"{name}.example" for name in ("uv", "poetry", "pipenv", "short", "b", "yarn")} == set(
        found.hosts
    )
    assert found.directories == (project.checkout / "wheels",)
    assert found.files == {}


ODD_FILES = {
    "checkout/uv.toml": [
        "index = 'x'",
        "index = [1, {url = 2}]",
        "find-links = 3\npip = []",
        "index-url = [[1]]",
    ],
    "checkout/pyproject.toml": [
        "tool = 1",
        "tool.uv = []",
        "tool.poetry.source = {}",
        "tool.pdm.source = [1]",
    ],
    "checkout/Pipfile": ["source = 'x'", "source = [{url = 1}]"],
    "home/.cargo/config.toml": ["registries = []", "registries.x = 1", "source.x.registry = 3", "http = 1"],
    "checkout/.yarnrc.yml": ["npmScopes: []", "npmScopes: {a: 1}", "- 1", "1: {2: 3}", "x: !!python/none"],
    "checkout/pnpm-workspace.yaml": ["registries: [1]", "registries: {1: [2]}", "registry: {}"],
    "home/.condarc": ["channels: 3", "a: [[b, {c: [d]}]]", "&a [*a]"],
    "home/.bundle/config": ["BUNDLE_MIRROR__X: [1]"],
    "home/.npmrc": ["=\n[x]\nregistry\nregistry=://\n", "registry[]=a\nregistry[]=b", "\0"],
    "home/.yarnrc": ["registry", '"a" "b" "c"'],
    "checkout/requirements.txt": ["-i\n--find-links  \n-i https://[", "\0"],
    "home/.m2/settings.xml": ["<mirror><url></url>", "<servers>"],
}


def test_odd_files(project: Project) -> None:
    """Whatever a settings file has, the search ends; what is not understood is left out."""
    for position in range(5):
        for name, texts in ODD_FILES.items():
            project.write(name, texts[position] if position < len(texts) else "")
        assert project.find().hosts == ()


def test_worktree_does_not_widen(project: Project) -> None:
    """Files that an agent writes in its worktree change nothing; the same files in the checkout do."""
    files = {
        ".npmrc": "registry=https://evil.example/\n",
        "pyproject.toml": '[[tool.uv.index]]\nurl = "https://evil.example/simple"\n',
        "uv.toml": 'index-url = "https://evil.example/simple"\n',
        ".cargo/config.toml": '[registries.x]\nindex = "sparse+https://evil.example/"\n',
        "pip.conf": "[global]\nindex-url = https://evil.example/simple\n",
        "requirements.txt": "-i https://evil.example/simple\n",
        ".yarnrc.yml": "npmRegistryServer: https://evil.example\n",
        "Gemfile": 'source "https://evil.example"\n',
    }
    before = project.find()
    for name, text in files.items():
        project.write(f"checkout/.ostler/worktrees/t1/{name}", text)
    assert project.find() == before
    for name, text in files.items():
        project.write(f"checkout/{name}", text)
    assert "evil.example" in project.find().hosts


def test_directories(project: Project) -> None:
    """A local index is mounted with its files; the HOME, the checkout and missing directories are not."""
    index = project.home / "index" / "simple"
    project.write("home/index/simple/six/index.html", '<a href="../../files/six.whl"></a>')
    project.write("home/index/files/six.whl", "")
    links = f"{index.as_uri()} {index}/six"
    found = project.find(UV_FIND_LINKS=f"~/ . / {project.home} /none {links}")
    assert found.directories == (index, project.home / "index" / "files")
    assert len([note for note in found.notes if "the HOME is in it" in note]) == 2
    assert any(note.startswith("/none") for note in found.notes)


def test_certificates(project: Project) -> None:
    """A certificate in HOME is copied, unless a private key is in it."""
    project.write("home/ca.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    key = (
        "-----BEGIN PRIVATE KEY-----\n"
        + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw\n" * 4
        + "-----END PRIVATE KEY-----\n"
    )
    project.write("home/both.pem", key)
    project.write("home/.npmrc", "cafile=~/ca.pem\n")
    project.write("checkout/.npmrc", "cafile=~/both.pem\n")
    found = project.find()
    assert set(found.files) == {".npmrc", "ca.pem"}
    assert any("both.pem" in note for note in found.notes)


def test_hanging_tool_is_bounded(project: Project, processes: list[str]) -> None:
    """A tool that does not answer costs the limit once; it is asked again later."""
    project.program("npm", "exec /bin/sleep 30")
    project.write("home/.npmrc", "registry=https://npm.example/\n")
    start = time.monotonic()
    found = project.find(seconds=0.5)
    assert time.monotonic() - start < 10
    assert any(note.startswith("npm was not asked") for note in found.notes)
    assert "npm.example" in found.hosts  # its file is read
    processes.clear()
    project.find(seconds=0.5)
    assert processes == []
    project.now = RETRY_SECONDS
    project.find(seconds=0.5)
    assert "npm" in processes


def test_asked_once(project: Project, processes: list[str]) -> None:
    """A second call starts no process; a changed file, variable or program does."""
    project.find()
    assert {"npm", "cargo", "go"} <= set(processes)
    changes = [
        lambda: project.write("home/.npmrc", "registry=https://a.example/\n"),
        lambda: project.write("home/.npmrc", "registry=https://bb.example/\n"),
        lambda: project.program("go", "exit 3"),
        lambda: project.environ.update(PIP_INDEX_URL="https://c.example/simple"),
    ]
    for change in changes:
        processes.clear()
        assert project.find() == project.find()
        assert processes == []
        change()
        project.find()
        assert "npm" in processes


def test_values_can_be_recorded(project: Project) -> None:
    """The result is encodable and has no secret of the settings."""
    project.write("home/.npmrc", "registry=https://me:pw6@npm.example/\n//npm.example/:_authToken=pw6\n")
    found = project.find()
    assert b"npm.example" in msgspec.json.encode(found.urls)
    assert "pw6" not in repr(found)
    assert "pw6" in (project.home / ".npmrc").read_text()
