"""The cache of environments: what is used, what is deleted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from ostler.sandbox.environments.cache import EnvironmentCache
from ostler.sandbox.environments.recipe import PROJECT, Recipe

RECIPE = Recipe("python", ("uv.lock",), {"uv.lock": b"1", "sub/a.txt": b"2"}, "true", ("python3", "3.11"))


@pytest.fixture
def cache(tmp_path: Path) -> EnvironmentCache:
    found = EnvironmentCache(tmp_path / "cache")
    lock = found.lock_to_use(RECIPE.key)
    assert lock is not None
    lock.release()
    return found


def build(cache: EnvironmentCache, recipe: Recipe = RECIPE, size: int = 10) -> Path:
    """Build an environment with one module of this size."""
    place = cache.start_build(recipe)
    (place / "env").mkdir()
    (place / "env" / "module.py").write_text("x" * size)
    cache.publish(recipe.key, place)
    found = cache.find(recipe.key)
    assert found is not None
    return found.path


def test_a_published_environment_is_found(cache: EnvironmentCache) -> None:
    """Its files are read-only, and those of the recipe are in it."""
    assert cache.find(RECIPE.key) is None
    path = build(cache)
    assert (path / PROJECT / "sub" / "a.txt").read_bytes() == b"2"
    assert (path / "env" / "module.py").stat().st_mode & 0o222 == 0 and path.stat().st_mode & 0o222 == 0


def change(path: Path) -> None:
    path.chmod(0o600)
    path.write_text("y" * 10)
    path.chmod(0o400)


def add(path: Path) -> None:
    path.parent.chmod(0o700)
    path.with_name("new.py").touch()


def delete(path: Path) -> None:
    path.parent.chmod(0o700)
    path.unlink()


@pytest.mark.parametrize("damage", [change, add, delete])
def test_a_changed_environment_is_not_used(cache: EnvironmentCache, damage: object) -> None:
    """Root can write to read-only files; the next build replaces the environment."""
    path = build(cache)
    assert callable(damage)
    damage(path / "env" / "module.py")
    assert cache.find(RECIPE.key) is None
    assert build(cache) == path


def test_a_compiled_module_is_no_change(cache: EnvironmentCache) -> None:
    """pytest writes rewritten modules beside those of its plugins if it can."""
    path = build(cache)
    (path / "env").chmod(0o700)
    (path / "env" / "__pycache__").mkdir()
    (path / "env" / "__pycache__" / "module.pyc").touch()
    assert cache.find(RECIPE.key) is not None


def test_an_unfinished_build_is_not_used(cache: EnvironmentCache) -> None:
    """The next build deletes it; so does the cleanup."""
    left = cache.start_build(RECIPE)
    assert cache.find(RECIPE.key) is None
    second = cache.start_build(RECIPE)
    assert not left.exists() and second.exists()
    assert cache.remove_unused() == [] and not second.exists()


def test_the_least_recently_used_is_deleted_first(cache: EnvironmentCache) -> None:
    """A used environment is kept even if it is the oldest."""
    recipes = [replace(RECIPE, facts=(str(number),)) for number in range(3)]
    for age, recipe in enumerate(recipes):
        path = build(cache, recipe, size=1_000_000)
        os.utime(path.with_name(f"{recipe.key}.seal"), (age + 1, age + 1))
    assert [one.key for one in cache.list()] == [one.key for one in recipes]
    cache.find(recipes[1].key)
    lock = cache.lock_to_use(recipes[0].key)
    assert lock is not None
    with lock:
        assert [one.key for one in cache.remove_until(2.5)] == [recipes[2].key]
    assert cache.remove_until(2.5) == []
    assert [one.key for one in cache.remove_unused()] == [recipes[0].key, recipes[1].key]
    assert cache.list() == []


def test_a_lock_excludes_builds_while_it_is_used(cache: EnvironmentCache) -> None:
    """Several gates use an environment at once; one process builds it."""
    first, second = cache.lock_to_use("k"), cache.lock_to_use("k")
    assert first and second and cache.lock_to_build("k") is None
    first.release()
    second.release()
    builder = cache.lock_to_build("k")
    assert builder and cache.lock_to_use("k") is None and cache.lock_to_build("k") is None
    builder.release()


def test_a_failure_is_reported_for_some_minutes(cache: EnvironmentCache, tmp_path: Path) -> None:
    """After that, another attempt is due."""
    build_path = cache.start_build(RECIPE)
    cache.record_failure(RECIPE.key, build_path, "no network")
    assert cache.find_failure(RECIPE.key) == "no network" and not build_path.exists()
    os.utime(tmp_path / "cache" / f"{RECIPE.key}.failed", (1, 1))
    assert cache.find_failure(RECIPE.key) == ""


@pytest.mark.parametrize(
    "other",
    [
        replace(RECIPE, facts=("python3", "3.12")),
        replace(RECIPE, command="false"),
        replace(RECIPE, kind="node"),
        replace(RECIPE, files={"uv.lock": b"2", "sub/a.txt": b"2"}),
        replace(RECIPE, files={"uv.lock": b"1"}),
        replace(RECIPE, relevant={"uv.lock": b"2"}),
    ],
)
def test_each_part_of_a_recipe_changes_the_key(other: Recipe) -> None:
    """The same recipe has the same key; a part of a file that does not count has no effect."""
    assert other.key != RECIPE.key == replace(RECIPE, lockfiles=()).key
    pinned = replace(RECIPE, relevant={"uv.lock": b"r"})
    assert pinned.key == replace(pinned, files={"uv.lock": b"changed", "sub/a.txt": b"2"}).key
