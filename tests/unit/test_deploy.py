"""The files of deploy/: they can be parsed, name settings and options that exist, and end in exec."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ostler.cli.commands.work.worker import command as worker
from ostler.config.environment import read_environment
from ostler.config.settings import Settings
from ostler.engine.temporal.names import task_queue

DEPLOY = Path(__file__).parents[2] / "deploy"
KUBERNETES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
CORE = {"Secret", "ConfigMap", "Deployment", "PodDisruptionBudget"}


def documents(path: Path) -> list[Any]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


def resources(kind: str) -> Iterator[Any]:
    yield from (one for path in KUBERNETES for one in documents(path) if one["kind"] == kind)


def containers() -> Iterator[Any]:
    for deployment in resources("Deployment"):
        yield from deployment["spec"]["template"]["spec"]["containers"]


def settings_variables() -> Iterator[tuple[str, str]]:
    """Yield the variables of settings in all files, with a value."""
    for config in resources("ConfigMap"):
        yield from config["data"].items()
    for container in containers():
        yield from ((one["name"], one.get("value", "postgresql://db/x")) for one in container["env"])
    for service in documents(DEPLOY / "compose.yaml")[0]["services"].values():
        yield from service.get("environment", {}).items()


def test_the_settings_exist() -> None:
    """Each OSTLER_ variable is a setting with a valid value."""
    named = {name: value for name, value in settings_variables() if name.startswith("OSTLER_")}
    assert len(named) >= 6
    assert read_environment(Settings, named, {}).errors == ()


def test_each_reference_to_the_secret_has_a_key() -> None:
    """A pod with a missing key would not start."""
    (secret,) = resources("Secret")
    keys = set(secret["stringData"])
    used = re.findall(r"key: ([a-z-]+)", "".join(path.read_text() for path in KUBERNETES))
    assert keys == set(used)
    assert all(re.search("CHANGE-ME|example", value) for value in secret["stringData"].values())


def test_the_options_of_the_worker_exist() -> None:
    """The arguments of the containers are those of the commands."""
    (found,) = (one["args"] for one in containers() if one["name"] == "worker")
    assert found[0] == "worker"
    worker.make_context("worker", found[1:])


def test_the_scaler_reads_the_queue_of_the_workers() -> None:
    """Queue, namespace and address are those of the settings, and a worker always keeps the board."""
    (scaled,), (config,) = resources("ScaledObject"), resources("ConfigMap")
    metadata = scaled["spec"]["triggers"][0]["metadata"]
    assert metadata["taskQueue"] == task_queue(Settings().engine.queue)
    assert metadata["endpoint"] == config["data"]["OSTLER_ENGINE__ADDRESS"]
    assert scaled["spec"]["minReplicaCount"] >= 1
    names = {one["metadata"]["name"] for one in resources("Deployment")}
    assert scaled["spec"]["scaleTargetRef"]["name"] in names


def test_the_entry_point_runs_ostler_in_a_clone(tmp_path: Path) -> None:
    """It clones once, replaces itself by ostler, and starts with the old clone when the remote is gone."""
    remote, clone = tmp_path / "remote", tmp_path / "clone"
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(remote))
    subprocess.run(["git", "init", "-q", "-b", "main", str(remote)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    program = tmp_path / "ostler"
    program.write_text('#!/bin/sh\necho "$PPID $PWD $*"\n')
    program.chmod(0o755)
    environ = os.environ | {
        "REPOSITORY": str(remote),
        "CLONE": str(clone),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }

    def run() -> subprocess.CompletedProcess[str]:
        script = ["sh", str(DEPLOY / "ostler-in-clone.sh"), "worker", "--jobs", "2"]
        return subprocess.run(script, env=environ, capture_output=True, text=True, check=True)

    expected = f"{os.getpid()} {clone} worker --jobs 2\n"
    assert run().stdout == expected
    remote.rename(tmp_path / "gone")
    again = run()
    assert again.stdout == expected and "using the clone as it is" in again.stderr


@pytest.mark.full
@pytest.mark.parametrize("path", KUBERNETES, ids=lambda path: path.name)
def test_kubernetes_accepts_the_files(path: Path) -> None:
    """The schemas of Kubernetes, without unknown fields; it has none for the resources of KEDA."""
    import kubernetes_validate

    for one in documents(path):
        if one["kind"] in CORE:
            kubernetes_validate.validate(one, "1.31", strict=True)
        else:
            assert one["apiVersion"].startswith("keda.sh/")
