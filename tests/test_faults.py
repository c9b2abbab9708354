"""Faults seen in public tools of this kind, each planted by a test here that shows the right behaviour.

`file::test` names that test; `trick:id` a trick of the self-test that plants it through the whole pipeline.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

from tests.beside import beside

ROOT = Path(__file__).parent
AREAS = ("fixture/leak", "test integrity", "process", "write policy", "diff capture")
FAULTS: dict[str, tuple[str, ...]] = {
    # the fixture and what leaks
    "F01": ("world/test_world_snapshot.py::test_the_workspace_repository_has_one_root_commit_and_nothing_else",),
    "F02": ("trick:git-log", "runner/test_audit.py"),
    "F03": ("world/test_world_snapshot.py::test_a_ref_takes_the_files_of_that_commit_without_its_history",),
    "F04": ("world/test_world_sandbox.py::test_the_workspace_repository_has_one_commit_inside_too",),
    "F05": ("world/test_world_sandbox.py::test_a_second_world_sees_nothing_of_the_first",),
    "F06": ("world/test_world_sandbox.py::test_a_world_that_cannot_start_is_an_error_and_leaves_nothing",),
    "F07": ("world/test_world_snapshot.py::test_nothing_is_written_inside_the_fixture",),
    "F08": ("trick:stale-bytecode",),
    "F09": ("world/test_world_processes.py::test_who_was_still_alive_at_the_end_is_named",),
    # the tests are the grader's
    "F10": ("trick:conftest-outcome", "scoring/test_scaffolding_tricks.py"),
    "F11": ("trick:forged-report", "trick:exit-at-import"),
    "F12": ("scoring/test_scaffolding.py::test_added_files_that_steer_the_runner_are_left_out",),
    "F13": ("runner/test_audit.py::test_content_mode_kind_deletion_and_both_ends_of_a_rename_count",),
    "F14": ("scoring/test_grading.py::test_states",),
    "F15": ("trick:exit-at-import",),
    "F16": ("cli/test_cli.py",),
    "F17": ("runner/test_validate_repeat.py",),
    "F18": ("runner/test_validate_repeat.py::test_an_unsteady_test_is_quarantined_and_shown",),
    # processes
    "F19": ("world/test_world_processes.py::test_what_a_command_started_is_gone_once_it_timed_out",),
    "F20": (
        "world/test_world_processes.py::test_a_time_out_holds_against_descendants_that_ignore_sigterm_and_hold_the_pipe",
    ),
    "F21": (
        "world/test_world_processes.py::test_a_descendant_that_ignores_sigterm_and_holds_the_pipe_does_not_hold_the_call",
    ),
    "F22": ("world/test_world_processes.py::test_a_command_that_waits_for_input_gets_the_end_of_it",),
    "F23": ("world/test_world_processes.py::test_git_waits_for_no_pager_no_editor_and_no_password",),
    "F24": ("world/test_world_sandbox.py::test_a_flood_of_output_is_stopped_and_its_head_and_tail_kept",),
    "F25": (
        "world/test_world_processes.py::test_an_output_cut_between_the_bytes_of_a_character_shows_no_half_of_one",
        "world/test_world_processes.py::test_a_file_that_is_not_text_is_shown_and_ends_nothing",
    ),
    "F26": ("world/test_world_sandbox.py::test_no_variable_of_ours_is_in_any_environment", "runner/test_secrets.py"),
    "F27": ("world/test_world_sandbox.py::test_exit_codes_and_signals_are_told",),
    # write policies
    "F28": ("policy/test_policy_paths.py::test_detours_do_not_change_the_normal_form",),
    "F29": (
        "policy/test_policy_paths.py::test_a_path_that_leads_outside_has_no_form",
        "world/test_world_files.py::test_no_file_tool_reaches_outside_whatever_links_there_are",
    ),
    "F30": ("policy/test_policy_paths.py::test_a_longer_name_is_another_component",),
    "F31": ("world/test_world_files.py::test_no_file_tool_reaches_outside_whatever_links_there_are",),
    "F32": ("trick:hard-link",),
    "F33": ("trick:path-case", "policy/test_policy_paths.py::test_rules_that_allow_compare_case_exactly"),
    "F34": ("world/test_world_sandbox.py::test_no_way_of_writing_a_protected_path_works",),
    "F35": ("world/test_world_sandbox.py::test_no_way_of_writing_a_protected_path_works",),
    "F36": ("policy/test_policy_rules.py::test_a_mention_in_text_never_blocks",),
    "F37": ("trick:program-for-the-harness",),
    # what changed
    "F38": ("trick:commit",),
    "F39": ("world/test_world_change.py::test_every_way_of_changing_files_is_seen_alike_in_both_sandboxes",),
    "F40": ("trick:nested-repository",),
    "F41": ("trick:without-git", "world/test_world_diff.py::test_an_empty_change_is_an_empty_diff"),
    "F42": ("world/test_world_diff.py::test_the_diff_is_gits_own_form",),
    "F43": ("world/test_world_diff.py::test_a_cut_diff_is_whole_lines_within_the_cap_and_knows_its_true_size",),
    "F44": ("world/test_world_change.py::test_a_file_over_the_cap_is_known_by_hash_and_left_out_when_applied",),
    "F45": ("test_patch_parse.py",),
    "F46": ("world/test_world_files.py::test_a_one_line_edit_of_a_crlf_file_changes_one_line",),
    # tool servers, and what a page shows
    "F69": (
        "mcp/test_session.py::test_a_server_that_never_shakes_hands_fails_at_its_deadline",
        "mcp/test_session.py::test_a_server_that_dies_at_once_is_named_with_what_it_said",
    ),
    "F70": ("mcp/test_agent.py::test_nothing_of_a_server_is_left_after_the_attempt",),
    "F71": ("mcp/test_naming.py::test_two_servers_with_one_tool_name_offer_both",),
    "F81": ("web/test_hostile.py::test_no_page_holds_anything_that_acts",),
}


def names_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}


def exists(place: str, tricks: set[str]) -> bool:
    if place.startswith("trick:"):
        return place.removeprefix("trick:") in tricks
    file, _, test = place.partition("::")
    return (ROOT / file).is_file() and (not test or test in names_in(ROOT / file))


def test_every_fault_is_planted_by_a_test_that_is_there() -> None:
    from crucible.selftest.catalog import tricks

    known = {trick.id for trick in tricks()}
    missing = [(fault, place) for fault, places in FAULTS.items() for place in places if not exists(place, known)]
    assert [] == missing


def test_no_fault_of_these_areas_is_forgotten() -> None:
    faults = [json.loads(line) for line in beside("faults.jsonl").read_text("utf-8").splitlines()]
    assert {f["id"] for f in faults if f["area"] in AREAS} <= set(FAULTS)
