"""The models that a call may use, after settings and task were applied."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.call import PermissionSetting

BUILT_IN_TIERS = ("opus", "sonnet", "haiku")  # more are in [tiers]
DEFAULT_TIER = "sonnet"
LOGIN_MARK = "@"  # in the key of a login: separates the type of the agent from what makes it different


class Login(Struct, frozen=True):
    """Which account an agent logs in to."""

    key: str = ""  # the same in every project that logs in like this; empty: not determined
    label: str = ""  # on screens


class ModelConfig(Struct, frozen=True):
    """One model of a pool: executor, model and account."""

    name: str  # as in the settings
    executor: str  # registered name
    model: str = ""  # empty: the agent's own default
    account: str = ""  # account whose limits apply; empty: the executor's
    cost_weight: int = 50
    timeout_seconds: float | None = None
    enabled: bool = True
    fallback: bool = False
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    login: Login = Login()
    permissions: PermissionSetting | None = None  # that the task allows; None: as in the settings


class ModelPool(Struct, frozen=True):
    """The models that a call may use, in the order of the settings."""

    models: tuple[ModelConfig, ...]

    @property
    def enabled(self) -> tuple[ModelConfig, ...]:
        """The models that are called; the others are only named."""
        return tuple(one for one in self.models if one.enabled)

    @property
    def has_cooldowns(self) -> bool:
        """Whether failures put a model into cooldown: the only model would stop all tasks."""
        return len(self.enabled) > 1

    @property
    def primary(self) -> tuple[ModelConfig, ...]:
        return tuple(one for one in self.models if not one.fallback)

    @property
    def fallback(self) -> tuple[ModelConfig, ...]:
        return tuple(one for one in self.models if one.fallback)
