"""P23: the time of a gate before its command starts, with an unchanged lockfile / `git worktree add`.

A project of 2000 files, installed in editable mode in an environment of 3000 files, whose lockfile is that of
the gate before. With a sandbox, with namespaces only, and without both, where the environment of the lockfile
is used. The command prints when it started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

from measure import MILLISECONDS, Result, interleave, not_measured, ratio, scratch, seconds, show

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from environment_world import EnvironmentWorld
from ostler.config.settings import Settings
from ostler.engine.steps.perform import perform
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.model.event import GateDecided
from ostler.model.plan import Gate
from ostler.sandbox import bubblewrap, unshare
from ostler.sandbox.box.tiers import choose_tier

ROUNDS = 7
FILES, PACKAGES = 2000, 3000
TARGET = "<= 2"
NAME = "gate on an unchanged lockfile, before the command starts / git worktree add"
COMMAND = Gate("command", command="date +%s.%N")


class Bench:
    def __init__(self, place: Path) -> None:
        self.world = EnvironmentWorld(place / "world", place / "shared")
        self.place, self._numbers = place, count()
        for number in range(PACKAGES):
            module = self.world.site / f"package_{number // 50}" / f"module_{number}.py"
            module.parent.mkdir(exist_ok=True)
            module.write_text("VALUE = 1\n" * 20)
        for part in range(FILES // 50):
            (self.world.root / f"data/part-{part}").mkdir(parents=True)
        files = {f"data/part-{number // 50}/{number}.txt": f"{number}\n" * 40 for number in range(FILES)}
        self.world.commit({"uv.lock": "tiny 1.0\n", **files})

    def plain(self) -> float:
        """git alone."""
        tree = self.place / f"plain-{next(self._numbers)}"
        add = ["git", "worktree", "add", "-q", "--detach", str(tree), self.world.gate.commit]
        return seconds(lambda: subprocess.run(add, cwd=self.world.root, check=True))

    def gate(self, settings: Settings, isolation: str) -> float:
        """One gate; the checkout is a new one or a kept one, as in a run."""
        gate = self.world.gate

        async def act(services: StepServices, context: TaskContext) -> StepResult | None:
            began = time.time()
            done = await perform(gate.step(COMMAND), context, services)
            assert isinstance(done, StepResult) and isinstance(done.event, GateDecided)
            event = done.event
            assert event.verdict == "pass" and event.check, event.reason
            assert event.check.isolation.startswith(isolation), event.check.isolation
            started.append(float(gate.output(event).split()[-1]) - began)
            return None

        started: list[float] = []
        gate.run(act, settings)
        return started[0]


def measure() -> list[Result]:
    with scratch() as place:
        bench = Bench(place)
        settings = bench.world.gate.settings
        rows = [compare(bench, "namespaces only", settings(), "bind-over")]
        if (chosen := choose_tier("auto", os.environ)).is_sandbox:
            rows.append(compare(bench, "sandbox on", settings(tier="auto"), "bind-over"))
        else:
            rows.append(not_measured("P23", f"{NAME}, sandbox on", TARGET, chosen.reason))
        bubblewrap.find_bubblewrap = unshare.find_unshare = lambda environ: None
        rows.append(compare(bench, "environment of the lockfile", settings(), "env:"))
        assert len(bench.world.builds) == 1, "the environment was built more than once"
    return rows


def compare(bench: Bench, name: str, settings: Settings, isolation: str) -> Result:
    bench.gate(settings, isolation)  # the first one finds the tools, and builds the environment
    plain, gate = interleave(bench.plain, lambda: bench.gate(settings, isolation), rounds=ROUNDS)
    return ratio("P23", f"{NAME}, {name}", gate, plain, TARGET, MILLISECONDS)


if __name__ == "__main__":
    show(measure())
