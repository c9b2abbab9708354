"""What a scenario file may say: pydantic models, extra keys forbidden, no coercion.

The field descriptions are the reference: docs/scenarios.md and `crucible schema` are generated from them.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, Strict, StrictBool, StrictInt, StrictStr, model_validator

from crucible.servers import Server

NAME = r"^[a-z0-9][a-z0-9._-]*$"
POLICY_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
DIMENSION = r"^[a-z][a-z0-9_]*$"
NOT_BLANK = r"\S"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
PATTERN_WORDS = {
    NAME: "lower-case letters, digits, '.', '_' and '-', beginning with a letter or digit",
    POLICY_ID: "letters, digits, '.', '_' and '-', beginning with a letter or digit",
    DIMENSION: "lower-case letters, digits and '_', beginning with a letter",
    NOT_BLANK: "text that is not blank",
    VARIABLE: "the name of a variable: letters, digits and '_', not beginning with a digit",
}
"""The patterns as people read them, in messages and in the docs."""

Name = Annotated[StrictStr, Field(pattern=NAME, max_length=80)]
Text = Annotated[StrictStr, Field(pattern=NOT_BLANK)]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Enforcement = Literal["block", "warn", "fail"]
MatchOp = Literal["starts_with", "ends_with", "equals", "contains", "glob", "regex"]

READING_TOOLS = ("read_file", "list_files", "search")
WRITING_TOOLS = ("write_file", "edit_file")
BUILTIN_TOOLS = (*READING_TOOLS, *WRITING_TOOLS, "bash")
TOOL_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "read_file": ("path", "offset", "limit"),
    "write_file": ("path", "content"),
    "edit_file": ("path", "old", "new", "all"),
    "list_files": ("path", "glob"),
    "search": ("pattern", "path", "glob"),
    "bash": ("command", "timeout"),
}
"""Arguments of the built-in tools; matchers may name these and no others."""
PATH_ARGUMENT = "path"
AgentPreset = Literal["claude-code", "codex", "gemini-cli", "opencode", "mini-swe-agent", "aider"]
"""Agent CLIs Crucible knows how to run."""


class _Strict(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, strict=True, serialize_by_alias=True)


class ExternalAgent(_Strict):
    """A whole agent CLI as an arm, run headless inside the sandbox. Exactly one of `preset` and `command`."""

    preset: AgentPreset | None = Field(default=None, description="An agent Crucible knows how to run.")
    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = Field(
        default=None,
        description="Program and arguments. `{prompt}`, `{system_prompt}`, `{model}`, `{max_turns}`, `{max_cost_usd}` and "
        "`{base_url}` are filled in; nothing else is.",
    )
    args: tuple[StrictStr, ...] = Field(default=(), description="Further arguments of a preset.")
    protocol: Literal["cli", "acp"] = Field(
        default="cli", description="`cli` prints a transcript and ends; `acp` speaks the Agent Client Protocol."
    )
    format: Text | None = Field(default=None, description="Format of what it prints, by the name of its reader.")
    api: Literal["anthropic", "openai", "openai-responses", "gemini"] | None = Field(
        default=None, description="The wire format it asks its model in."
    )
    env: dict[StrictStr, StrictStr] = Field(
        default_factory=dict, description="Environment variables, with the same places filled in as in `command`."
    )
    folders: tuple[Text, ...] = Field(
        default=(), description="Host folders it needs (its installation), visible read-only at their own path."
    )
    version: tuple[StrictStr, ...] = Field(default=(), description="Command that prints its version.")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.preset is None) == (self.command is None):
            raise ValueError("say either preset or command")
        return self


class Arm(_Strict):
    """One agent set-up under comparison."""

    id: Name = Field(description="Name of the arm, unique in the scenario.")
    description: StrictStr = Field(
        default="", description="What sets this arm apart, for people. Never shown to the judge."
    )
    model: Text = Field(description="Model name as litellm takes it: provider/model.")
    system_prompt: Text | None = Field(default=None, description="System prompt; absent means Crucible's neutral one.")
    extra_tools: tuple[Name, ...] = Field(
        default=(), description="Names of tool servers this arm gets beside the built-in tools."
    )
    agent: ExternalAgent | None = Field(default=None, description="A whole agent CLI in place of Crucible's own loop.")
    tool_protocol: Literal["native", "json"] = Field(
        default="native",
        description="`json` asks for one JSON action per turn instead of native tool calls, for models that have none or "
        "fail at them, as many small local ones do. Not with `agent`.",
    )
    baseline: StrictBool = Field(
        default=False,
        description="Marks the arm the other is compared with. Without it: the arm named `baseline`, "
        "else the last one.",
    )


class Budget(_Strict):
    """What one attempt may spend. Both arms are told it in the same words."""

    max_turns: Annotated[StrictInt, Field(ge=1, le=1000)] = Field(default=25, description="Model replies.")
    max_total_tokens: Annotated[StrictInt, Field(ge=1)] = Field(
        default=200_000,
        description="Billed tokens summed over all calls: input (cached or not) plus output. "
        "The re-sent history counts again every turn.",
    )
    max_wall_clock_seconds: Annotated[Number, Field(gt=0)] = Field(
        default=300,
        description="Seconds from the first model call; waiting for a provider's retry is not charged.",
    )
    max_cost_usd: Annotated[Number, Field(gt=0)] | None = Field(
        default=None, description="US dollars; needs a known price for the model."
    )


class Matcher(_Strict):
    """One condition on one tool call."""

    tool: Text = Field(description="Built-in tool name, or `<server>__<tool>` of an extra tool.")
    arg_key: Text = Field(description="Name of the argument that is compared.")
    op: MatchOp = Field(description="How it is compared. Paths are compared resolved, by component, and case-folded.")
    value: StrictStr = Field(description="What it is compared with.")
    not_: StrictBool = Field(default=False, alias="not", description="Turns the condition round.")


class Policy(_Strict):
    """A rule on tool calls. It applies when any of its matchers does."""

    id: Annotated[StrictStr, Field(pattern=POLICY_ID, max_length=80)] = Field(
        description="Name of the policy, unique in the scenario."
    )
    rule: Text = Field(description="The rule in words; a refused call is told it.")
    enforcement: Enforcement = Field(
        description="`block` refuses the call, `warn` records it, `fail` ends the attempt."
    )
    matchers: Annotated[tuple[Matcher, ...], Field(min_length=1)] = Field(
        description="A path matcher on any writing tool protects that path against every writing tool and against bash."
    )


class Dimension(_Strict):
    """One thing that is scored."""

    name: Annotated[StrictStr, Field(pattern=DIMENSION, max_length=60)] = Field(
        description="Name, unique in the rubric."
    )
    weight: Annotated[Number, Field(gt=0, le=1)] = Field(description="Share of the total; all weights sum to 1.")
    criteria: Text = Field(description="What the judge is asked to look for.")


class Rubric(_Strict):
    """What is scored, and how much each part weighs."""

    dimensions: Annotated[tuple[Dimension, ...], Field(min_length=1)] = Field(description="The dimensions.")


class Judge(_Strict):
    """Who scores the rubric."""

    model: Text = Field(description="Model name as litellm takes it, or `facts` to score from measurements only.")
    samples: Annotated[StrictInt, Field(ge=1, le=15)] = Field(
        default=1, description="Replies asked per dimension; the median counts. 3 is recommended."
    )


class Scenario(_Strict):
    """A frozen comparison: same fixture, same task, two arms, one rubric."""

    name: Name = Field(description="Name of the scenario; the file is called `<name>.md`.")
    description: StrictStr = Field(default="", description="The question this scenario answers.")
    fixture_path: Text = Field(description="The repository every attempt starts from, relative to the bench folder.")
    fixture_ref: Text | None = Field(
        default=None,
        description="Commit of a fixture that is a git repository; absent means its files as they lie.",
    )
    test_command: Text = Field(description="Command that runs the suite, in the workspace.")
    test_report: Text | None = Field(
        default=None,
        description="JUnit XML file the command writes, relative to the workspace. pytest needs none.",
    )
    reference_fix: Text = Field(description="Markdown file with the intended patch, relative to the bench folder.")
    task_prompt: Text = Field(description="What the agent is asked; sent as it stands, never templated.")
    arms: Annotated[tuple[Arm, ...], Field(min_length=2, max_length=2)] = Field(description="Exactly two arms.")
    budget: Budget = Field(default=Budget(), description="What one attempt may spend.")
    policies: tuple[Policy, ...] = Field(default=(), description="Rules on tool calls.")
    protected: tuple[Text, ...] = Field(
        default=(),
        description="Extra paths (globs) that are read-only and that grading takes from the fixture.",
    )
    network: StrictBool = Field(default=False, description="Whether the sandbox has a network.")
    servers: dict[Name, Server] = Field(
        default_factory=dict,
        description="Tool servers by the name that `extra_tools` uses; crucible.toml may define them too.",
    )
    rubric: Rubric = Field(description="What is scored.")
    judge: Judge | None = Field(
        default=None, description="Who scores the rubric; a flag or crucible.toml may say so too."
    )
    blocks: Annotated[StrictInt, Field(ge=1, le=1000)] = Field(default=5, description="Attempts per arm in one run.")

    @property
    def baseline(self) -> Arm:
        """The arm compared with: the marked one, else the one named `baseline`, else the last."""
        marked = [arm for arm in self.arms if arm.baseline]
        named = [arm for arm in self.arms if arm.id == "baseline"]
        return [*marked, *named, self.arms[-1]][0]

    @property
    def treatment(self) -> Arm:
        """The arm that is not the baseline."""
        return next(arm for arm in self.arms if arm is not self.baseline)

    def arm(self, arm_id: str) -> Arm:
        """The arm of that id; KeyError when there is none."""
        return {arm.id: arm for arm in self.arms}[arm_id]
