"""Print the size of each workflow's history, as a program: `python histories.py ADDRESS WORD...`.

Each line is a JSON object; `texts` are those of the words that occur in the history.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from temporalio.client import Client


async def main(address: str, *words: str) -> None:
    client = await Client.connect(address)
    async for workflow in client.list_workflows():
        history = await client.get_workflow_handle(workflow.id, run_id=workflow.run_id).fetch_history()
        data = b"".join(event.SerializeToString() for event in history.events)
        texts = [word for word in words if word.encode() in data]
        line = {"id": workflow.id, "events": len(history.events), "size": len(data), "texts": texts}
        print(json.dumps(line), flush=True)


asyncio.run(main(*sys.argv[1:]))
sys.stdout.flush()
os._exit(0)  # the threads of temporalio may otherwise crash while Python ends
