"""A project with document tasks, and a local model server that answers according to the request."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostler.testing.fake_llm import FakeLlm, Request, Turn, say
from world import World

SETTINGS = """
[executors.model_api]
provider = "openai"
[tiers]
sonnet = "gpt-test"
[[models]]
name = "writer"
executor = "model_api"
model = "gpt-test"
"""
WANTED = (
    "nothing",
    "the price",
    "the colour",
    "the address",
    "a picture",
    "a joke",
)  # by number of the draft
SKILLS = {
    "research": ("strategy", "You find out who buys."),
    "copy": ("creative", "You write copy."),
    "editor": ("creative", "You are the editor."),
    "summary": ("measure", "You sum up."),
}


class DocumentWorld(World):
    """The documents are written by the model server; no other program is started."""

    def __init__(self, directory: Path, *, git: bool = True) -> None:
        super().__init__(directory, git=git)
        (self.root / "ostler.toml").write_text(SETTINGS)
        for name, (squad, body) in SKILLS.items():
            self.skill(name, f"name: {name}\ndescription: {name}\nsquad: {squad}", body)

    def skill(self, name: str, matter: str, body: str) -> Path:
        folder = self.root / ".agents" / "skills" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(f"---\n{matter}\n---\n{body}\n")
        return folder

    def pipeline(self, name: str, text: str) -> None:
        folder = self.root / ".agents" / "pipelines"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(text)

    def asks(self, llm: FakeLlm) -> None:
        self.environ |= {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{llm.url}/v1"}

    def documents(self) -> dict[str, str]:
        """Every document by its path, without the random tail of its task id."""
        found = (self.root / "outputs").rglob("*.md")
        return {
            re.sub(r"-[a-z0-9]{4}\.md$", "", str(path.relative_to(self.root))): path.read_text()
            for path in found
        }


@contextmanager
def writing(world: DocumentWorld, rejects: int = 0) -> Iterator[FakeLlm]:
    """A model that writes the requested document, and a reviewer that rejects the first drafts."""
    with FakeLlm(lambda request: answer(request, rejects)) as llm:
        world.asks(llm)
        yield llm


def answer(request: Request, rejects: int) -> Turn:
    """The same answer for the same request, so that an interrupted run writes the same document."""
    asked = system_of(request) + "\n".join(request.history)
    if "# Review the phase" in asked:
        draft = max(map(int, re.findall(r"draft (\d+)", asked)))
        return say(verdict(draft > rejects, f"{WANTED[draft]} is missing"))
    goal = re.search(r"\*\*Goal:\*\* (.+)", asked)
    skill = next((name for name, (_, body) in SKILLS.items() if body in asked), "nobody")
    inputs = len(re.findall(r"### Input: Output of", asked))
    return say(
        f"# {goal[1] if goal else '?'}\n\nBy {skill}, from {inputs} inputs, draft {draft_of(request, asked)}."
    )


def draft_of(request: Request, asked: str) -> int:
    """The number of the next draft."""
    reported = re.search(r"This is revision #(\d+)", asked)
    replies = sum(message["role"] == "assistant" for message in request.body.get("messages", ()))
    return 1 + max(replies, int(reported[1]) if reported else 0)


def verdict(approved: bool, reason: str) -> str:
    printed = {"verdict": "approved" if approved else "rejected", "reason": reason, "findings": []}
    return json.dumps(printed)


def system_of(request: Request) -> str:
    messages = request.body.get("messages", ())
    return "\n".join(str(one["content"]) for one in messages if one["role"] == "system")
