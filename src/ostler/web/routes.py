"""The HTTP API as one table: the server's routes and the OpenAPI document are made of it."""

from __future__ import annotations

from ostler.web import costs, events, machine, models, papers, pipelines, session, tasks, verbs
from ostler.web.route import Route

BASE = "/api/v1"
_TASK = "/tasks/{task}"
_ATTEMPT = "/tasks/{task}/attempts/{number:int}"
_RUN = "/pipelines/{run}"

# What a request says and what the answer is stand in the handler's own types.
ROUTES: tuple[Route, ...] = (
    Route("GET", "/session", "The project, and what tasks can be made of", session.show_session),
    Route("GET", "/tasks", "A page of tasks", tasks.list_tasks),
    Route("POST", "/tasks", "Write a task down", tasks.new_task, status=201),
    Route("GET", _TASK, "One task in full", tasks.show_task),
    Route("GET", f"{_TASK}/request", "What was asked, as it was said", tasks.show_request),
    Route("POST", f"{_TASK}/run", "Have a task run as soon as there is a place", verbs.run, slow=True),
    Route("POST", f"{_TASK}/pause", "Let a task rest where it stands", verbs.pause),
    Route("POST", f"{_TASK}/resume", "Let a resting task go on, with a word for its agent", verbs.resume),
    Route("POST", f"{_TASK}/cancel", "End a task; what it did is kept", verbs.cancel, slow=True),
    Route("POST", f"{_TASK}/retry", "Open a task again", verbs.retry),
    Route("POST", f"{_TASK}/skip", "Leave a phase out", verbs.skip),
    Route("POST", f"{_TASK}/rewind", "Go back to the beginning of a phase", verbs.rewind),
    Route("POST", f"{_TASK}/approve", "Say yes where a task waits for a person", verbs.approve),
    Route("POST", f"{_TASK}/reject", "Say no there; the work goes back with the reason", verbs.reject),
    Route(
        "GET", f"{_TASK}/timeline", "Phases, attempts and tools over time", papers.show_timeline, slow=True
    ),
    Route("GET", f"{_ATTEMPT}/story", "What an agent said and did, page by page", papers.show_story),
    Route("GET", f"{_ATTEMPT}/prompt", "What an agent was told", papers.show_prompt),
    Route("GET", f"{_ATTEMPT}/raw", "The bytes of an agent's output, to be saved", papers.get_raw),
    Route("GET", f"{_TASK}/diff", "What a task changed", papers.show_diff, slow=True),
    Route("GET", f"{_TASK}/files", "The files of a task's own directory", papers.list_files),
    Route("GET", f"{_TASK}/files/{{path:path}}", "One of them, to be saved", papers.get_file),
    Route("GET", "/events", "What happened, page by page", events.list_events),
    Route("GET", "/stream", "What happens, as server-sent events", stream=events.stream_events),
    Route("GET", "/pipelines", "Runs of pipelines, the newest first", pipelines.list_pipelines, slow=True),
    Route("POST", "/pipelines", "Begin a pipeline", pipelines.start_pipeline, status=201, slow=True),
    Route("GET", _RUN, "One run, step by step", pipelines.show_pipeline, slow=True),
    Route("POST", f"{_RUN}/resume", "Open again what failed of a run", pipelines.resume_pipeline, slow=True),
    Route("GET", "/models", "Models, and the limits that stand", models.list_models, slow=True),
    Route("GET", "/machine", "Memory, places for agents, who is at work", machine.show_machine, slow=True),
    Route("GET", "/cost", "What was spent, summed up", costs.show_cost, slow=True),
    Route("GET", "/cost/series", "What was spent, over time", costs.show_series, slow=True),
    Route("POST", "/keys", "A fresh one-time address of this server", session.make_key),
)
