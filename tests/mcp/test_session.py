"""A tool server that behaves is asked; one that does not says so, and never more than its deadline later."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from crucible.agents.mcp.plans import ServerPlan
from crucible.agents.mcp.results import MOST_BYTES, outcome_of
from crucible.agents.mcp.server import ToolServer
from crucible.agents.mcp.transport import LONGEST_MESSAGE, messages_of
from crucible.errors import HarnessError
from crucible.redaction import MARK, guard
from crucible.world.types import ToolOutcome
from tests.mcp.conftest import SERVERS, Host, HostWorld, standin

KEY = "sk-standin-4711-0815"


def one(host: Host, plan: ServerPlan, tool: str, arguments: dict[str, Any] | None = None) -> ToolOutcome:
    """The outcome of one call of a fresh server."""

    async def body(server: ToolServer) -> ToolOutcome:
        return await server.call(tool, arguments or {}, 30)

    return host.run(plan, body)


def failure(host: Host, plan: ServerPlan, **environment: str) -> str:
    """What a server that does not start is said to have done."""

    async def body(server: ToolServer) -> None:
        pytest.fail("it started")

    with pytest.raises(HarnessError) as caught:
        host.run(plan, body, **environment)
    return "\n".join(caught.value.lines())


async def names(server: ToolServer) -> list[str]:
    return [tool["name"] for tool in server.listed]


# It answers


def test_a_server_says_who_it_is_lists_its_tools_and_answers(host: Host) -> None:
    async def body(server: ToolServer) -> tuple[str, str, bool, str]:
        said = await server.call("echo", {"text": "hello"}, 30)
        return server.hello.name, server.hello.version, said.ok, said.text

    assert ("standin", "1.2.3", True, "hello") == host.run(standin(), body)


@pytest.mark.slow
@pytest.mark.parametrize("over", ["stdio", "http"])
def test_a_server_made_with_the_sdk_answers(host: Host, free_port: int, over: str) -> None:
    port = free_port if over == "http" else None
    command = (sys.executable, str(SERVERS / "of_sdk.py"), *([str(port)] if port else []))

    async def body(server: ToolServer) -> tuple[str, str, ToolOutcome]:
        return server.hello.name, server.hello.version, await server.call("add", {"a": 2, "b": 40}, 30)

    name, version, outcome = host.run(ServerPlan("demo", "sdk", command, port=port), body)
    assert ("of-sdk", "9", True, "42") == (name, version, outcome.ok, outcome.text)


def test_a_server_that_serves_http_inside_is_dialled(host: Host, free_port: int) -> None:
    async def body(server: ToolServer) -> list[str]:
        return [(await server.call("echo", {"text": word}, 30)).text for word in ("one", "two")]

    assert ["one", "two"] == host.run(standin("--port", str(free_port), port=free_port), body)


def test_a_server_elsewhere_is_asked_at_its_address(host: Host, free_port: int) -> None:
    """Its process belongs to nobody here: it is found by its address alone."""

    async def body(server: ToolServer) -> str:
        address = f"http://127.0.0.1:{free_port}/mcp"
        other = ToolServer(ServerPlan("far", "far", url=address), HostWorld(host.folder))  # type: ignore[arg-type] # unused
        try:
            await other.start()
            return (await other.call("echo", {"text": "from outside"}, 30)).text
        finally:
            await other.close()

    assert "from outside" == host.run(standin("--port", str(free_port), port=free_port), body)


def test_what_a_server_wants_models_to_know_is_text_that_a_request_can_carry(host: Host) -> None:
    async def told(server: ToolServer) -> str:
        return server.hello.instructions

    assert "Ask echo first.?" == host.run(standin("instructs"), told)
    assert "" == host.run(standin(), told)


def test_all_pages_of_tools_are_listed(host: Host) -> None:
    assert host.run(standin(), names) == host.run(standin("pages"), names)


def test_lines_that_are_no_messages_are_counted_and_passed_over(host: Host) -> None:
    async def body(server: ToolServer) -> tuple[str, int, str]:
        said = await server.call("echo", {"text": "hello"}, 30)
        return said.text, server.traffic.noise, server.traffic.first

    assert ("hello", 3, "DEBUG: asked for initialize") == host.run(standin("noise"), body)


def test_environment_and_files_reach_the_server_and_the_key_is_repeated_by_nobody(host: Host) -> None:
    plan = standin(env={"PLAIN": "as it is"}, env_from=("STANDIN_KEY",), files={"settings.ini": "x = 1\n"})

    async def body(server: ToolServer) -> str:
        return (await server.call("environment", {}, 30)).text

    said = json.loads(host.run(plan, body, STANDIN_KEY=KEY, OTHER="not passed on"))
    assert ("as it is", MARK) == (said["PLAIN"], said["STANDIN_KEY"])
    assert "x = 1\n" == (host.folder / "settings.ini").read_text()


def test_what_prepares_a_server_has_run_before_it_starts(host: Host) -> None:
    plan = standin(prepare=(("sh", "-c", "echo indexed > index"), ("sh", "-c", "cat index index > index2")))
    host.run(plan, names)
    assert "indexed\nindexed\n" == (host.folder / "index2").read_text()


# What it returns


@pytest.mark.parametrize(
    ("tool", "ok", "text"),
    [
        ("error", False, "it did not work"),
        ("text_error", True, '{"error": "symbol not found: X"}'),
        ("structured", True, '{"found": [1, 2]}'),
        ("nothing", False, "error: Unknown tool: 'nothing'"),
        ("odd", True, "\ufffd ?"),
    ],
)
def test_an_answer_is_a_text_and_whether_it_worked(host: Host, tool: str, ok: bool, text: str) -> None:
    outcome = one(host, standin(), tool)
    assert (ok, text) == (outcome.ok, outcome.text)


def test_an_error_told_as_text_is_an_error_where_the_server_is_known_to_tell_it_so(host: Host) -> None:
    assert not one(host, standin(text_errors=True), "text_error").ok
    assert one(host, standin(text_errors=True), "echo", {"text": '{"error": 1, "more": 2}'}).ok


def test_what_is_no_text_is_named_with_its_type_and_size(host: Host) -> None:
    assert [
        "[image: image/png, 5 bytes, not shown]",
        "[link to file:///workspace/a.py: text/x-python]",
        "[resource x://y: application/zip, 5 bytes, not shown]",
        "[content of type hologram, not shown]",
    ] == one(host, standin(), "picture").text.splitlines()


@pytest.mark.slow
def test_of_fifty_megabytes_head_and_tail_are_kept_and_the_true_size(host: Host) -> None:
    outcome = one(host, standin(), "big")
    assert (True, 50_000_008) == (outcome.ok, outcome.size)
    assert ("beginxxx", "xxxend") == (outcome.text[:8], outcome.text[-6:])
    assert len(outcome.text) < MOST_BYTES + 100


def test_a_key_is_taken_out_before_the_cut_that_could_go_through_it() -> None:
    guard([KEY])
    text = "a" * (MOST_BYTES // 2 - 5) + KEY + "b" * MOST_BYTES
    outcome = outcome_of({"content": [{"type": "text", "text": text}]}, 0.0, text_errors=False)
    assert KEY[:5] not in outcome.text


@pytest.mark.parametrize(
    "result", [{}, {"content": None}, {"content": "text"}, {"content": [1, None, {}, {"type": 3}]}]
)
def test_a_result_that_is_not_what_mcp_says_is_an_empty_text(result: dict[str, Any]) -> None:
    assert "" == outcome_of(result, 0.0, text_errors=True).text


@pytest.mark.parametrize("line", ["", "[]", "null", "{", "[" * 100_000, '{"jsonrpc": "2.0"}', "1" * 9999])
def test_what_is_no_message_is_none(line: str) -> None:
    assert [] == messages_of(line)


def test_a_batch_is_several_messages() -> None:
    one = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert 2 == len(messages_of(json.dumps([one, one])))


# It does not start


def test_a_server_that_dies_at_once_is_named_with_what_it_said(host: Host) -> None:
    assert "tool server demo: did not shake hands: it ended with exit code 3; it said:\nno licence found" == failure(
        host, standin("print-and-die")
    )


def test_a_server_that_never_shakes_hands_fails_at_its_deadline(host: Host) -> None:
    assert "tool server demo: did not shake hands within 0.7 seconds" == failure(
        host, standin("hang", start_seconds=0.7)
    )


def test_a_server_that_never_lists_fails_at_its_deadline(host: Host) -> None:
    assert "tool server demo: did not list its tools within 0.3 seconds" == failure(
        host, standin("hang-list", list_seconds=0.3)
    )


def test_a_server_that_dies_while_listing_is_named_with_what_it_said(host: Host) -> None:
    assert "did not list its tools: it ended with exit code 4; it said:\nlist is broken" in failure(
        host, standin("die-list")
    )


def test_pages_that_go_round_are_not_followed_for_ever(host: Host) -> None:
    assert "its pages of tools go round" in failure(host, standin("round"))


def test_a_program_that_speaks_no_mcp_is_shown_by_what_it_prints(host: Host) -> None:
    plan = ServerPlan("demo", "demo", ("sh", "-c", "echo usage: demo; read asked; exit 2"))
    said = failure(host, plan)
    assert "did not shake hands: it ended with exit code 2" in said
    assert "\n1 lines of its standard output are no messages, the first: 'usage: demo'" in said


def test_what_a_server_printed_before_it_fell_silent_is_shown_too(host: Host) -> None:
    said = failure(host, standin("noise", "hang-list", list_seconds=0.3))
    assert "did not list its tools within 0.3 seconds\n1 lines of its standard output are no messages" in said


def test_a_command_that_is_not_there_is_named(host: Host) -> None:
    assert "tool server demo: there is no command 'no-such-server' inside" == failure(
        host, ServerPlan("demo", "demo", ("no-such-server",))
    )


def test_a_variable_that_is_not_set_is_named(host: Host) -> None:
    assert "tool server demo: needs STANDIN_KEY, not set in your environment" in failure(
        host, standin(env_from=("STANDIN_KEY",))
    )


def test_a_failed_preparation_is_named_with_what_it_said(host: Host) -> None:
    plan = standin(prepare=(("sh", "-c", "echo no disk >&2; exit 5"),))
    assert "was not prepared: sh -c echo no disk >&2; exit 5 ended with exit code 5; it said:\nno disk" in failure(
        host, plan
    )


def test_a_preparation_without_end_fails_at_its_deadline(host: Host) -> None:
    assert "was not prepared: sleep 30 did not end within 0.3 seconds" in failure(
        host, standin(prepare=(("sleep", "30"),), start_seconds=0.3)
    )


def test_a_server_elsewhere_that_is_not_there_is_named_with_its_address(host: Host, free_port: int) -> None:
    said = failure(host, ServerPlan("demo", "demo", url=f"http://127.0.0.1:{free_port}/mcp?token=secret"))
    assert f"did not shake hands: cannot be reached at http://127.0.0.1:{free_port}/mcp: ConnectError" in said
    assert "secret" not in said


def test_a_server_that_should_listen_and_ends_is_named_with_what_it_said(host: Host, free_port: int) -> None:
    assert "tool server demo: ended with exit code 3; it said:\nno licence found" == failure(
        host, standin("--port", str(free_port), "print-and-die", port=free_port)
    )


# It fails later


def test_a_dead_server_says_so_in_every_later_result(host: Host) -> None:
    async def body(server: ToolServer) -> list[tuple[bool, str]]:
        outcomes = [await server.call(tool, {}, 30) for tool in ("die", "error", "echo")]
        return [(outcome.ok, outcome.text) for outcome in outcomes]

    assert [(False, "tool server demo ended with exit code 7; it said:\nout of cheese")] * 3 == host.run(
        standin(), body
    )


def test_a_dead_server_inside_over_http_says_so_too(host: Host, free_port: int) -> None:
    async def body(server: ToolServer) -> list[tuple[bool, str]]:
        outcomes = [await server.call(tool, {}, 30) for tool in ("die", "error")]
        return [(outcome.ok, outcome.text) for outcome in outcomes]

    plan = standin("--port", str(free_port), port=free_port)
    assert [(False, "tool server demo ended with exit code 7; it said:\nout of cheese")] * 2 == host.run(plan, body)


@pytest.mark.parametrize("http", [False, True])
def test_after_a_call_that_hangs_the_server_is_still_asked(host: Host, free_port: int, http: bool) -> None:
    async def body(server: ToolServer) -> tuple[ToolOutcome, ToolOutcome]:
        return await server.call("hang", {}, 0.3), await server.call("echo", {"text": "here"}, 30)

    plan = standin("--port", str(free_port), port=free_port) if http else standin()
    hung, after = host.run(plan, body)
    assert (False, True, "hang of tool server demo did not answer within 0.3 seconds") == (
        hung.ok,
        hung.timed_out,
        hung.text,
    )
    assert (True, "here") == (after.ok, after.text)


def test_a_call_has_its_own_deadline_too(host: Host) -> None:
    assert (
        "hang of tool server demo did not answer within 0.2 seconds"
        == one(host, standin(call_seconds=0.2), "hang").text
    )


def test_a_line_without_end_ends_the_server(host: Host) -> None:
    async def body(server: ToolServer) -> list[str]:
        return [(await server.call(tool, {"text": ""}, 30)).text for tool in ("flood", "echo")]

    told = f"tool server demo sent a message of more than {LONGEST_MESSAGE:,} bytes and was ended"
    assert [told, told] == host.run(standin(), body)


def test_a_server_that_does_not_read_holds_up_nobody(host: Host) -> None:
    """A megabyte is more than a pipe takes."""

    async def body(server: ToolServer) -> list[bool]:
        large = {"text": "x" * 1_000_000}
        return [(await server.call("echo", large, 0.3)).timed_out for _ in range(3)]

    script = (
        "import json, sys, time\n"
        "for n in (1, 2, 3):\n"
        "    asked = json.loads(sys.stdin.readline())\n"
        "    if 'id' in asked:\n"
        "        info = {'name': 'deaf', 'version': '1'}\n"
        "        result = {'protocolVersion': '2025-06-18', 'capabilities': {}, 'serverInfo': info, 'tools': []}\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n"
        "time.sleep(60)\n"
    )
    plan = ServerPlan("demo", "deaf", (sys.executable, "-I", "-S", "-c", script))
    assert [True, True, True] == host.run(plan, body)


def test_an_attempt_that_is_cancelled_leaves_no_server(host: Host) -> None:
    async def body() -> list[int | None]:
        world = HostWorld(host.folder)
        server = ToolServer(standin("hang"), world)  # type: ignore[arg-type]  # what it asks of a world is there

        async def attempt() -> None:
            try:
                await server.start()
            finally:
                await server.close()

        task = asyncio.create_task(attempt())
        while not (world.programs or task.done()):  # noqa: ASYNC110 - the world has nothing to wait for
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task})
        codes = [program.process.returncode for program in world.programs]
        await world.close()
        return codes

    assert [-9] == asyncio.run(body())
