"""Links from an environment to the user's checkout, found by reading files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ostler.sandbox.checkout import Checkout, below
from ostler.sandbox.import_paths import extend_python_path, find_import_paths
from ostler.sandbox.links.build import shares_cargo_target
from ostler.sandbox.links.find import find_links
from ostler.sandbox.links.link import Link
from ostler.sandbox.links.python import read_project_name
from ostler.sandbox.mounts import Needs, plan_mounts

FINDER = "MAPPING = {'shop': '%s/src/shop'}\n"


class Place:
    """A checkout, the user's work tree, a linked work tree and an environment outside them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.user, self.tree, self.other = root / "user", root / "gate" / "tree", root / "other"
        self.site = root / "env" / "lib" / "python3.11" / "site-packages"
        for directory in (self.user / "src/shop", self.tree / "src/shop", self.other / "src", self.site):
            directory.mkdir(parents=True)
        for tree in (self.user, self.tree):
            (tree / "src/shop/__init__.py").write_text("")
        (root / "env" / "pyvenv.cfg").write_text("")
        self.checkout = Checkout(self.tree, self.user, others=(self.other,))
        self.environ = {"VIRTUAL_ENV": str(root / "env"), "HOME": str(root / "home")}

    def write(self, name: str, text: str) -> None:
        path = self.site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def targets(self, **environ: str) -> list[str]:
        found = find_links(self.checkout, {**self.environ, **environ})
        return [str(one.target.relative_to(self.root)) for one in found]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_an_environment_without_links_has_none(place: Place) -> None:
    """Ordinary packages, imports of .pth files and broken files are no links."""
    place.write("a/__init__.py", f"# {place.user}\n")
    place.write("a-1.0.dist-info/METADATA", "Name: a\n")
    place.write("a-1.0.dist-info/direct_url.json", "{broken")
    place.write("distutils-precedence.pth", "import os; os.name\n# comment\n\n")
    place.write("odd.pth", "\0\n/usr\n../elsewhere\n")
    place.write("b.pth", f"{place.user}-other/src\n")
    assert place.targets() == []


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"x.pth": "%s/src\n"}, ["user/src"]),
        ({"easy-install.pth": "/usr\n%s/src\n"}, ["user/src"]),
        ({"shop.egg-link": "%s/src\n../"}, ["user/src"]),
        ({"x.pth": "import f; f.install()", "f.py": FINDER}, ["user/src/shop"]),
        ({"x.pth": "import f", "f/__init__.py": FINDER}, ["user/src/shop"]),
        ({"x.pth": "import sys; sys.path.insert(0, '%s/src')"}, ["user/src"]),
        ({"x.pth": "%s\n"}, ["user"]),
    ],
)
def test_files_of_editable_installs_are_links(place: Place, files: dict[str, str], wanted: list[str]) -> None:
    """The path is in the .pth file, or in a module that it imports."""
    for name, text in files.items():
        place.write(name, text.replace("%s", str(place.user)))
    assert place.targets() == wanted


@pytest.mark.parametrize(
    ("name", "text"),
    [("f.py", "MAPPING = {'shop': '%s/src/shop'}\n"), ("x.pth", "import sys; sys.path.insert(0, '%s/src')")],
)
def test_another_spelling_of_the_work_tree_is_a_link(place: Place, name: str, text: str) -> None:
    """An install from a path with a symbolic link names that path."""
    alias = place.root / "an alias"
    alias.symlink_to(place.user)
    place.write("x.pth", "import f\n")
    place.write(name, text.replace("%s", str(alias)))
    assert place.targets() in (["user/src/shop"], ["user/src"])


def test_a_relative_path_and_a_symbolic_link_are_links(place: Place) -> None:
    """They are resolved from the directory of the environment."""
    place.write("x.pth", os.path.relpath(place.user / "src", place.site) + "\n")
    (place.site / "shop").symlink_to(place.user / "src" / "shop")
    assert sorted(place.targets()) == ["user/src", "user/src/shop"]


@pytest.mark.parametrize(("where", "wanted"), [("user", ["user"]), ("other", ["other"]), ("env", [])])
def test_direct_url_names_the_work_tree(place: Place, where: str, wanted: list[str]) -> None:
    """A linked work tree counts like the main one; other projects do not."""
    record = {"url": f"file://{place.root / where}", "dir_info": {"editable": True}}
    place.write("shop-1.0.dist-info/direct_url.json", json.dumps(record))
    assert place.targets() == wanted


def test_another_clone_and_a_copy_of_the_project_are_links(place: Place) -> None:
    """Packages are recognised by the name in pyproject.toml."""
    (place.tree / "pyproject.toml").write_text('[project]\nname = "The.Shop"\n')
    record = {"url": f"file://{place.root}/clone", "dir_info": {"editable": True}}
    place.write("the_shop-1.0.dist-info/direct_url.json", json.dumps(record))
    assert place.targets() == ["clone"]
    (place.site / "the_shop-1.0.dist-info/direct_url.json").unlink()
    assert [one.kind for one in find_links(place.checkout, place.environ)] == ["copy"]


def test_an_environment_in_the_user_tree_is_no_link_to_itself(place: Place) -> None:
    """Its own files are below the user's work tree; only the project's are links."""
    site = place.user / ".venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (place.user / ".venv" / "pyvenv.cfg").write_text("")
    (site / "x.pth").write_text(f"{place.user}/.venv/lib/extra\n{place.user}/src\n")
    assert place.targets(VIRTUAL_ENV=str(place.user / ".venv")) == ["user/src"]


def test_node_packages_and_programs_are_links(place: Place) -> None:
    """Links within node_modules, or to the checkout itself, are none."""
    modules = place.tree / "node_modules"
    for name in ("@scope", ".bin", "real"):
        (modules / name).mkdir(parents=True)
    (place.user / "node_modules" / "left").mkdir(parents=True)
    (modules / "a").symlink_to(place.user / "packages/a")
    (modules / "@scope" / "b").symlink_to(place.user / "packages/b")
    (modules / "left").symlink_to(place.user / "node_modules/left")
    (modules / "own").symlink_to("../src")
    assert sorted(place.targets()) == ["user/packages/a", "user/packages/b"]


def test_build_files_and_variables_are_links(place: Place) -> None:
    """An absolute path to the user's work tree leads there from anywhere."""
    (place.tree / "go.mod").write_text(f"module x\nreplace y => {place.user}/y\n")
    (place.tree / "README.md").write_text(f"see {place.user}\n")
    (place.tree / "src" / "Cargo.toml").write_text(f'y = {{ path = "{place.user}/z" }}\n')
    assert place.targets() == ["user/y", "user/z"]
    assert place.targets(GOWORK=f"{place.user}/go.work") == ["user/y", "user/z", "user/go.work"]
    (place.root / "alias").symlink_to(place.user)
    flags = f"-I{place.root}/alias/h -L/usr/lib:{place.root}/alias/l"
    assert place.targets(GOFLAGS=flags)[2:] == ["user/h", "user/l"]


@pytest.mark.parametrize(
    ("environ", "config", "wanted"),
    [({}, "", False), ({"CARGO_TARGET_DIR": "/t"}, "", True), ({}, '[build]\ntarget-dir = "/t"\n', True)],
)
def test_a_shared_cargo_target_is_found(
    tmp_path: Path, environ: dict[str, str], config: str, wanted: bool
) -> None:
    """It is set by a variable or by the user's configuration."""
    (tmp_path / "config.toml").write_text(config)
    assert shares_cargo_target({**environ, "CARGO_HOME": str(tmp_path)}) is wanted


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("user", ["src"]),
        ("user/src", ["src"]),
        ("user/src/shop", ["src"]),
        ("user/build/__editable__.shop", ["src"]),
        ("other/src", ["src"]),
        ("clone", ["src"]),
    ],
)
def test_import_paths_are_in_the_checkout(place: Place, target: str, wanted: list[str]) -> None:
    """Each link corresponds to a directory of the commit."""
    links = [Link("python", place.site, place.root / target)]
    assert [str(one) for one in find_import_paths(place.checkout, links)] == wanted


def test_a_flat_layout_is_imported_from_the_project(place: Place) -> None:
    """Without src, the project's directory is the import path."""
    flat = Checkout(place.tree / "src", place.user / "src")
    links = [Link("python", place.site, place.user / "src")]
    assert find_import_paths(flat, links) == (Path(),)


def test_python_path_keeps_what_it_had() -> None:
    """Nothing is set without links."""
    assert extend_python_path([], {"PYTHONPATH": "/a"}) == {}
    assert extend_python_path([Path("/b")], {"PYTHONPATH": "/a"}) == {"PYTHONPATH": "/b:/a"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('[project]\nname = "A_b"\n', "a-b"),
        ('[tool.poetry]\nname = "x"\n', "x"),
        ("", ""),
        ("[project", ""),
        ("[project]\nname = 3\n", ""),
    ],
)
def test_the_name_of_the_project(tmp_path: Path, text: str, wanted: str) -> None:
    """It is normalized; a damaged file has none."""
    (tmp_path / "pyproject.toml").write_text(text)
    assert read_project_name(tmp_path) == wanted


def test_a_path_through_a_symbolic_link_is_below(tmp_path: Path) -> None:
    """PATH can name the project by another path."""
    (tmp_path / "real" / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "alias").symlink_to("real")
    root = tmp_path / "real"
    assert below(root, tmp_path / "alias" / ".venv" / "bin") == Path(".venv/bin")
    assert below(root, root / "x") == Path("x")
    assert below(root, tmp_path / "elsewhere") is None


def test_a_directory_that_cannot_be_read_is_no_error(place: Place) -> None:
    """Variables of another user name directories that this user cannot read."""
    # Refused for root too, unlike a directory without permissions.
    refused = "/" + "x" * 300
    assert place.targets(PATH=f"{refused}/bin:{refused}/shims", PYENV_ROOT=refused, VIRTUAL_ENV=refused) == []
    needs = Needs()
    mounts = plan_mounts(place.checkout, (), {"PATH": refused, "PYENV_ROOT": refused}, needs)
    assert [one.destination for one in mounts] == [place.user]
