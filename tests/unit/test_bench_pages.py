"""The plots of docs/performance.md, and the agent with which other systems are compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"
DRAW = """
from growth.chart import draw
from growth.curve import Curve, Series
series = (Series("fast", (1.0, 3.0)), Series("slow", (40.0, None)))
for linear in (False, True):
    print(draw(Curve("id", "Title", "tasks", "ms", (10, 200), series, linear=linear)))
"""
AGENT = """
import sys
from pathlib import Path
from peers.agent import write_agent
write_agent(Path(sys.argv[1]), "instant", int(sys.argv[2]), False)
"""
IMPORT_ALL = """
import importlib
from growth.__main__ import MODULES
print(all(callable(importlib.import_module(f"growth.{name}").measure) for name in MODULES))
"""


def run_in_bench(code: str, *arguments: str) -> str:
    argv = [sys.executable, "-c", code, *arguments]
    return subprocess.run(argv, cwd=BENCH, capture_output=True, text=True, check=True).stdout


def call_agent(agent: Path, *arguments: str, stdin: str = "") -> str:
    home = {"HOME": str(agent.parent), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [agent, *arguments],
        cwd=agent.parent,
        env=home,
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return done.stdout


def test_every_curve_can_be_measured() -> None:
    """Each module that `make growth` names imports and has a function `measure`."""
    assert run_in_bench(IMPORT_ALL) == "True\n"


def test_a_plot_has_its_series_and_sizes() -> None:
    """Both kinds of scale name every series, the unit and what grows; a missing value has no point."""
    logarithmic, linear = run_in_bench(DRAW).strip().split("\n\n")
    for picture in (logarithmic, linear):
        assert all(f">{word}<" in picture for word in ("fast", "slow", "ms", "tasks"))
        assert picture.count("<circle") == 3
    assert ">10<" in logarithmic and ">200<" in logarithmic
    assert ">0<" in linear


def test_the_agent_answers_in_every_format(tmp_path: Path) -> None:
    """Its first call only works on; the second completes, in text, in lines of JSON and for the SDK."""
    agent = tmp_path / "bin" / "claude"
    run_in_bench(AGENT, str(agent), "2")
    assert "LOOP_COMPLETE" not in call_agent(agent, "-p", stdin="Write hello.txt\n")
    assert "LOOP_COMPLETE" in call_agent(agent, "-p", stdin="Write hello.txt\n")
    lines = call_agent(agent, "-p", "--output-format", "stream-json").splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["system", "assistant", "result"]
    assert json.loads(json.loads(lines[-1])["result"])["ac_compliance"] is True
    request = '{"type": "control_request", "request_id": "req_1"}\n{"type": "user"}\n'
    formats = ("--output-format", "stream-json", "--input-format", "stream-json")
    answer = json.loads(call_agent(agent, *formats, stdin=request).splitlines()[0])
    assert answer["response"]["request_id"] == "req_1"
