"""For P12: the agent program that streams, and a bare starlette server that reads it without a store."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

AGENTS, PER_SECOND, SECONDS = 8, 100, 4
TICKS = PER_SECOND * SECONDS // AGENTS  # of each agent
EVENTS = TICKS * AGENTS  # that each client must receive
# Each tick prints four messages and one tool use, whose command is the time at which it is printed.
PROGRAM = """#!{python}
import json, time

def say(block):
    message = {{"id": "m", "role": "assistant", "content": [block], "usage": {{"input_tokens": 1}}}}
    print(json.dumps({{"type": "assistant", "session_id": "s", "message": message}}), flush=True)

print(json.dumps({{"type": "system", "subtype": "init", "session_id": "s", "model": "none"}}), flush=True)
began = time.monotonic()
for tick in range({ticks}):
    time.sleep(max(0, began + tick * {seconds} / {ticks} - time.monotonic()))
    for _ in range(4):
        say({{"type": "text", "text": "I look at the next file. " * 8}})
    say({{"type": "tool_use", "id": f"t{{tick}}", "name": "Bash", "input": {{"command": str(time.time())}}}})
result = {{"subtype": "success", "is_error": False, "session_id": "s", "result": "done"}}
print(json.dumps({{"type": "result", **result}}))
"""


def write_agent(path: Path) -> Path:
    """Write the program of one agent."""
    path.write_text(PROGRAM.format(python=sys.executable, ticks=TICKS, seconds=SECONDS))
    path.chmod(0o755)
    return path


def serve_bare(agent: Path, clients: int) -> None:
    """Serve each tool use of the agents from a queue per client; prints the port and ends with stdin."""
    asyncio.run(_serve(agent, clients))


async def _serve(agent: Path, clients: int) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    queues: list[asyncio.Queue[bytes]] = []

    async def lines(queue: asyncio.Queue[bytes]) -> AsyncGenerator[bytes]:
        while True:
            yield await queue.get()

    async def stream(request: Request) -> Response:
        queues.append(asyncio.Queue())
        return StreamingResponse(lines(queues[-1]), media_type="text/event-stream")

    async def read_agents() -> None:
        while len(queues) < clients:
            await asyncio.sleep(0.05)
        await asyncio.gather(*(_read_agent(agent, queues) for _ in range(AGENTS)))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        app = Starlette(routes=[Route("/api/v1/stream", stream)])
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        print(json.dumps([listening.getsockname()[1], ""]), flush=True)
        serving = asyncio.create_task(server.serve([listening]))
        reading = asyncio.create_task(read_agents())
        await asyncio.to_thread(sys.stdin.read)
        reading.cancel()
        server.should_exit = True
        await serving


async def _read_agent(agent: Path, queues: list[asyncio.Queue[bytes]]) -> None:
    program = await asyncio.create_subprocess_exec(str(agent), stdout=asyncio.subprocess.PIPE)
    assert program.stdout is not None
    async for line in program.stdout:
        for block in json.loads(line).get("message", {}).get("content", ()):
            if block["type"] == "tool_use":
                data = json.dumps({"type": "tool_used", "detail": block["input"]["command"]})
                for queue in queues:
                    queue.put_nowait(f"data: {data}\n\n".encode())
    await program.wait()
