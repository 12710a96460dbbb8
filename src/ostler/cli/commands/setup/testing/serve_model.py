"""ostler testing serve-model"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from ostler.cli.commands.setup.testing.names import list_option, print_names, require_known
from ostler.cli.commands.setup.testing.serving import (
    TestServer,
    listening,
    port_option,
    print_request,
    program_argument,
    require_program,
    serve,
)
from ostler.cli.options import json_option
from ostler.errors import UsageError
from ostler.text import describe_os_error

if TYPE_CHECKING:
    from ostler.testing.fake_llm import Request, Scripted

_KEY = "test-key"
_ALWAYS = "[default: always]"


@click.command("serve-model")
@program_argument
@port_option
@click.option("--script", metavar="FILE", help="A YAML file with the answers; the last one is repeated.")
@click.option("--fault", metavar="NAME", help="Return this fault instead of an answer.")
@click.option(
    "--times",
    metavar="N",
    type=click.IntRange(1, 1000),
    help=f"Return the fault so many times, then answers.  {_ALWAYS}",
)
@list_option
@json_option
def serve_model(
    program: tuple[str, ...],
    port: int,
    script: str | None,
    fault: str | None,
    times: int | None,
    listing: bool,
    as_json: bool,
) -> int:
    """Serve a model with scripted answers.

    It has the APIs of Anthropic, OpenAI and Gemini. Without a script, every answer completes the phase of
    a task. The variables to use it are printed on stdout and the requests on stderr, until Ctrl-C. A
    COMMAND after -- is run with these variables, and its exit code is returned.
    """
    # The help does not need the kit.
    from ostler.testing.catalog import APIS, list_model_faults  # noqa: PLC0415
    from ostler.testing.fake_llm import FakeLlm  # noqa: PLC0415

    if listing:
        print_names({"api": APIS, "fault": list_model_faults()}, as_json)
        return 0

    def print_one(request: Request, answer: str) -> None:
        model = request.model if request.body else ""
        sent = {"method": request.method, "path": request.path, "model": model, "bytes": request.size}
        line = " ".join((f"{request.method:4}", request.path, model)).rstrip()
        print_request(f"{line} ({request.size} bytes) -> {answer}", {**sent, "answer": answer}, as_json)

    turns = _select_turns(script, fault, times)
    require_program(program)
    with listening(port), FakeLlm(turns, port, print_one) as llm:
        return serve(TestServer("model", llm.url, _get_variables(llm.url)), program, as_json)


def _select_turns(script: str | None, fault: str | None, times: int | None) -> list[Scripted]:
    from ostler.testing.fake_llm import complete_phase  # noqa: PLC0415  (the help does not need the kit)

    if script is not None and fault is not None:
        raise UsageError("pass --script or --fault, not both", "a script has entries such as {fault: NAME}")
    if times is not None and fault is None:
        raise UsageError("--times needs --fault", "in a script, repeat the entry")
    if fault is not None:
        turn = _find_fault(fault)
        return [turn] if times is None else [*[turn] * times, complete_phase]
    return [complete_phase] if script is None else _read_script(script)


def _find_fault(name: str) -> Scripted:
    from ostler.testing.catalog import MODEL_TURNS  # noqa: PLC0415  (the help does not need the kit)

    require_known("fault", name, MODEL_TURNS)
    return MODEL_TURNS[name]


def _read_script(path: str) -> list[Scripted]:
    from ostler.testing.fake_llm import read_script  # noqa: PLC0415  (the help does not need the kit)

    hint = "a script is a list of texts, {fault: NAME} and fields of an answer"
    try:
        turns = read_script(Path(path).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {describe_os_error(error)}", hint) from None
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise UsageError(f"{path}: {' '.join(str(error).split())}", hint) from None
    if not turns:
        raise UsageError(f"{path}: the list is empty", hint)
    return turns


def _get_variables(url: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": _KEY,
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": _KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": _KEY,
    }
