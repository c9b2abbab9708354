"""What docs/scenarios.md says beside the tables of fields, which are made from the models."""

from __future__ import annotations

INTRO = """\
# Scenario files

<!-- Written by `python -m crucible.scenario.docs`; change crucible/scenario/, not this file. -->

A scenario is one Markdown file, `scenarios/<name>.md`, that freezes a comparison: the same fixture, the same task,
two arms, one rubric. The YAML between the two `---` lines is the scenario. What follows it is for people; the loader
does not read it.

`crucible validate NAME` says whether a scenario holds: the fixture is red as it is and green with the reference fix.
`crucible new NAME` writes the stubs of a new one.
"""

ARMS = """\
## What an arm can be

Without more, an arm is a model with the built-in tools, in Crucible's own loop. Beside that:

```yaml
arms:
  - id: with-graph              # tool servers beside the built-in tools; their tools are called graph__callers and so on
    model: anthropic/claude-sonnet-4-6
    extra_tools: [graph]
  - id: local                   # a model without native tool calls
    model: ollama_chat/qwen2.5-coder:3b
    tool_protocol: json
  - id: claude-code             # a whole agent CLI, asking its model through Crucible's own proxy
    model: anthropic/claude-sonnet-4-6
    agent:
      preset: claude-code
servers:
  graph:
    command: /opt/graph/bin/graph-mcp
    folders: [/opt/graph]
    allow: [callers, callees]
```

With `tool_protocol: json` the tools are described in the system prompt, and every reply is one JSON object:
`{"tool": "bash", "arguments": {"command": "ls"}}`, or `{"done": "what was done"}` at the end. Where the provider takes a
JSON Schema for a reply (llama.cpp, Ollama, vLLM and others do), it is given one that allows nothing else. Code fences and
prose around the object are put up with. A reply without exactly one such object is answered with what is wrong with it, as
a malformed native call is, and costs a turn; five in a row end the attempt as the agent's failure. The results of calls
are user messages.

In either protocol an attempt ends with a reply that calls no tool. One that was cut off at its length limit before it called
any is no such reply: the model is told so and may go on; five in a row end the attempt.

"""

RULES = """\
## How the file is read

- **Fences.** The first line is exactly `---`, and the next such line at column 0 ends the YAML. Trailing blanks,
  CRLF line ends, a byte order mark and a file that ends with the fence are all fine. Four dashes are not a fence.
- **Text is text.** YAML takes some unquoted words for something else: `no` is false, `010` is 8, `12:30` is 750,
  `2024-01-01` is a date. Where text is wanted, such a value is refused: quote it. Nothing is converted; `"25"` is no
  number, and `010` is refused where a number is wanted too. A key with nothing after it is refused: delete it.
- **One meaning.** Duplicate keys, unknown keys, anchors, aliases, merge keys and tags are refused.
- **All at once.** Every problem of a file is one line, `file:line: what, got what, nearest known name`, and the exit
  code is 2.

Beyond single fields:

- the name is the file's name without `.md`;
- `fixture_path` and `reference_fix` are there, inside the bench folder; `test_report` and `protected` stay inside the
  workspace. None is absolute or has `..` in it;
- arm ids, policy ids and dimension names are unique, and at most one arm is marked `baseline: true`;
- weights sum to 1, within 0.001;
- a matcher names a built-in tool and one of its arguments, or `<server>__<tool>` of a server that some arm has in
  `extra_tools`;
- a server of `servers` is in some arm's `extra_tools`; a name in `extra_tools` that is not in `servers` is one of
  crucible.toml or of a preset, which is looked up when a run starts;
- an arm with an `agent` has no `tool_protocol: json`;
- a `regex` compiles, and no matcher but `equals` has an empty value.

A scenario is known by the SHA-256 of its file, body included, as `sha256sum` prints it: an edited file is another
scenario.

## In an editor

`docs/scenario.schema.json` is the JSON Schema; `crucible schema` prints it. Editors use it when a comment at
the top of the YAML says where it is, from the scenario file on:

```yaml
# yaml-language-server: $schema=../docs/scenario.schema.json
```
"""

EXAMPLE = """\
---
name: asd-vs-baseline
description: >
  Does ASD+CTX help gpt-4o-mini fix a real bug faster / better?
fixture_path: fixtures/asd-vs-baseline/repo
test_command: python3 -m pytest -q
reference_fix: fixtures/asd-vs-baseline/REFERENCE_FIX.md
task_prompt: |
  The store package has a failing test. Fix the bug in the source
  (not the tests) and re-run the suite.
arms:
  - id: assisted
    description: Same model with ASD + CTX MCP tools available.
    model: anthropic/claude-sonnet-4-6
    extra_tools: [asd, ctx]
    system_prompt: ...
  - id: baseline
    description: Same model, filesystem+bash only.
    model: anthropic/claude-sonnet-4-6
budget:
  max_turns: 25
  max_total_tokens: 60000
  max_wall_clock_seconds: 300
policies:
  - id: P1
    rule: Do not modify any file under tests/.
    enforcement: block
    matchers:
      - tool: write_file
        arg_key: path
        op: starts_with
        value: tests/
rubric:
  dimensions:
    - name: correctness
      weight: 0.40
      criteria: Tests pass. Bonus if the fix matches reference.
    - name: minimality
      weight: 0.25
      criteria: Diff as small as reference. No incidental changes.
    - name: reasoning_quality
      weight: 0.20
      criteria: Located the bug deliberately, not by trial and error.
    - name: efficiency
      weight: 0.15
      criteria: Fewer tool calls, fewer tokens at equal quality.
---

The markdown body below the YAML is human commentary — the loader ignores it.
"""
