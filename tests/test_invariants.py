"""Each invariant of docs/invariants.md has tests, and they exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

ENGINE = "services/test_engine_invariants.py::test_any_sequence_of_operations_keeps_the_invariants"
"""It checks the invariants of the engine after every operation."""

PROVED_BY: dict[str, tuple[str, ...]] = {
    "Messages never change": (
        "domain/conversation/test_chain.py::test_every_field_participates",
        "domain/conversation/test_chain.py::test_the_predecessor_participates",
        "storage/test_store.py::test_two_servers_append_gaplessly_and_the_chain_verifies",
        "services/conversation/test_history.py::test_a_roll_back_hides_a_suffix_and_offers_it_as_a_draft",
        "services/conversation/test_history.py::test_a_fork_has_the_past_and_a_future_of_its_own",
        "services/conversation/test_purging.py::test_nothing_of_a_purged_conversation_is_left_in_any_file",
        "services/conversation/test_purging.py::test_the_rest_of_a_conversation_and_its_next_request_stay",
        "services/conversation/test_purging.py::test_forks_lose_what_they_inherited",
        "services/conversation/test_transfers.py::test_another_store_shows_the_same_context_and_goes_on_from_it",
        ENGINE,
    ),
    "Events are durable before they are shown": (
        "services/turns/test_turn_engine.py::test_an_event_is_durable_before_it_is_shown",
        "process/test_palimpsest.py::test_a_kill_in_the_middle_of_an_answer_loses_nothing_that_was_shown",
    ),
    "A step is committed once": (
        "storage/test_store.py::test_a_step_is_committed_once_with_its_journal_pruned",
        "storage/test_store.py::test_recovery_keeps_what_a_dead_server_showed_and_runs_twice_without_effect",
    ),
    "Every request fits its limit": (
        "domain/turns/test_journal.py::test_no_prepared_context_exists_over_its_limit",
        "services/turns/test_turn_engine.py::test_four_hundred_steps_in_one_turn_at_a_window_of_8000",
        ENGINE,
    ),
    "Tool calls keep their results": (
        "domain/context/test_cut.py::test_cutting_again_and_again_covers_every_message_once_and_splits_no_pair",
        "domain/turns/test_journal.py::test_every_call_has_a_result_wherever_the_step_breaks_off",
        ENGINE,
    ),
    "Summaries can be taken back": (
        "domain/context/test_cut.py::test_widening_gives_whole_exchanges_that_hold_the_range",
        "domain/context/test_cut.py::test_choosing_restores_originals_newest_first_within_the_target",
        "services/conversation/test_history.py::test_expanding_goes_down_a_level_at_a_time_and_stays",
        "services/conversation/test_history.py::test_undo_walks_back_through_every_change_and_redo_comes_forward_again",
        "services/conversation/test_history.py::test_regenerating_keeps_the_old_summary_in_the_forest",
        ENGINE,
    ),
    "A compaction makes the context smaller": (
        "services/context/test_contexts.py::test_a_compaction_makes_the_context_smaller_or_changes_nothing",
        ENGINE,
    ),
    "A request begins with the one before": (
        "services/context/test_contexts.py::test_between_compactions_a_request_begins_with_the_one_before",
        "services/maintenance/test_replay.py::test_a_long_turn_replays_without_a_broken_invariant",
        ENGINE,
    ),
    "Every request can be shown again": (
        "services/context/test_past_requests.py::test_a_request_is_shown_as_it_was_however_the_conversation_went_on",
        "services/context/test_past_requests.py::test_a_request_whose_words_were_purged_says_so",
        "simulation/test_simulation.py::test_what_was_found_is_mended",
    ),
    "Every rule is in every request": (
        "domain/context/rules/test_rule_set.py::test_every_open_rule_is_present_once_through_random_cuts",
        "services/context/test_contexts.py::test_what_the_user_ruled_stays_in_every_request_verbatim",
        ENGINE,
    ),
    "Each request of an editor has one answer": (
        "process/test_fuzz_palimpsest.py::test_every_request_is_answered_once",
        "services/turns/test_turn_engine.py::test_a_cancel_keeps_what_was_said_and_frees_the_conversation",
    ),
    "Logs hold no words": (
        "process/test_palimpsest.py::test_no_text_of_a_message_is_logged",
        "lsp/test_credentials.py::test_no_key_is_in_a_log_a_file_an_answer_an_export_or_a_childs_environment",
    ),
    "Tools stay inside the folder": (
        "services/offline/test_folder_index.py::test_links_are_not_followed",
        "services/offline/test_folder_index.py::test_a_link_put_in_place_after_the_look_is_not_followed",
        "services/workspace/test_workspace_files.py::test_a_link_put_in_place_while_a_path_is_opened_is_not_followed",
        "services/workspace/test_workspace_files.py::test_no_path_at_all_gets_a_byte_from_outside",
        "services/workspace/test_workspace_files.py::test_a_file_with_another_hard_link_is_refused",
    ),
    "Taking an edit back takes nothing else": (
        "domain/test_taking_back.py::test_nothing_that_was_typed_is_lost_wherever_it_was_typed",
        "services/tools/test_taking_back.py::test_thirty_edits_over_ten_files_with_typing_in_between_lose_no_character",
        "services/tools/test_taking_back.py::test_somebody_types_at_every_moment_in_between",
        "services/tools/test_taking_back.py::test_an_editor_that_goes_away_in_between_leaves_what_its_file_tells",
        "lsp/test_file_changes.py::test_a_new_file_in_which_somebody_types_at_the_last_moment_is_not_deleted",
        "lsp/test_file_changes.py::test_a_server_that_is_killed_in_between_leaves_what_the_file_tells",
    ),
    "A step counts all that it was given": (
        "services/turns/test_turn_engine.py::test_results_that_do_not_fit_force_a_final_answer",
        "services/turns/test_tool_batch.py::test_a_result_needs_room_only_where_the_next_request_would_not_fit",
    ),
    "A change is one unit of work": (
        "services/test_one_unit_of_work.py::test_a_change_that_is_cut_off_anywhere_leaves_the_conversation_free_and_in_step",
        "services/test_one_unit_of_work.py::test_a_turn_that_is_cancelled_anywhere_leaves_no_step_open",
        "services/test_one_unit_of_work.py::test_two_who_ask_at_once_get_one_state",
        "services/test_one_unit_of_work.py::test_a_purge_that_is_cut_off_shows_nothing_any_more_and_is_finished_by_the_next_server",
        "services/facts/test_librarian.py::test_what_was_read_before_its_words_were_hidden_is_not_kept",
        "services/facts/test_librarian.py::test_a_purge_stops_who_reads_the_words_and_lets_them_begin_afterwards",
    ),
    "Input is bounded": (
        "domain/test_foreign_json.py::test_what_is_read_can_be_written_and_encoded",
        "domain/turns/test_answers.py::test_an_answer_that_never_ends_is_stopped",
        "wire/codec/test_convert.py::test_half_a_character_is_refused_in_ids_names_and_paths",
        "services/tools/test_editor_tool_declarations.py::test_parameters_that_would_break_every_request_are_refused",
        "domain/facts/retrieval/test_passages.py::test_a_text_without_an_end_of_a_sentence_is_cut_in_one_pass",
        "domain/turns/test_journal.py::test_an_answer_of_many_pieces_is_put_together_at_once",
        "clients/test_odd_answers.py::test_any_value_in_any_place_gives_an_answer_or_our_own_error",
        "services/workspace/test_ignore_patterns.py::test_no_pattern_goes_back_over_its_stars",
        "services/conversation/test_import_files.py::test_a_line_that_is_no_message_is_refused_before_it_is_read",
        "lsp/test_strangers.py::test_one_frame_that_is_announced_as_large_is_not_waited_for",
        "process/test_hanging.py::test_a_server_whose_interpreter_is_held_ends",
    ),
    "Parts add up": (
        "domain/context/test_token_parts.py::test_parts_add_up_and_follow_their_weights",
        "domain/context/test_token_parts.py::test_segments_add_up_to_the_request_in_every_state",
        "services/context/test_context_events.py::test_every_start_has_one_end_and_all_parts_add_up",
        "services/context/test_stats.py::test_what_each_strategy_saved_is_the_sum_of_what_its_events_told",
    ),
    "A hub takes nothing on trust": (
        "hub/test_security.py::test_a_member_sees_own_teams_alone",
        "hub/test_security.py::test_no_function_works_in_another_team",
        "hub/test_security.py::test_members_write_through_functions_only",
        "hub/test_escapes.py::test_strangers_read_no_row_by_any_query",
        "hub/test_escapes.py::test_no_function_lets_strangers_in",
        "hub/test_escapes.py::test_readers_write_by_no_function",
        "hub/test_escapes.py::test_no_function_takes_a_lease_that_is_none",
        "hub/test_security.py::test_every_function_that_may_write_has_a_pinned_search_path",
        "hub/test_security.py::test_a_token_does_not_outlive_its_transaction",
        "hub/test_conversations.py::test_a_forged_message_is_refused",
        "hub/test_conversations.py::test_the_second_version_of_digests_covers_the_author",
        "hub/test_conversations.py::test_pushing_again_changes_nothing",
        "hub/test_addresses.py::test_less_is_refused",
    ),
    "What a colleague notes rules nothing": (
        "hub/test_hostile_facts.py::test_what_a_colleague_says_is_data_with_his_name_and_rules_nothing",
        "hub/test_hostile_facts.py::test_what_is_no_fact_is_passed_over_and_stops_nobody",
        "hub/test_hostile_facts.py::test_a_flood_takes_no_place_from_what_was_said_here",
        "lsp/test_facts.py::test_what_a_colleague_noted_has_his_name_wherever_it_is_shown",
    ),
}


def test_every_invariant_of_the_document_is_here() -> None:
    document = (TESTS.parent / "docs/invariants.md").read_text(encoding="utf-8")
    assert list(PROVED_BY) == re.findall(r"^### (.+)$", document, re.MULTILINE)


@pytest.mark.parametrize("name", [name for names in PROVED_BY.values() for name in names])
def test_the_named_test_exists(name: str) -> None:
    file, _, function = name.partition("::")
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert function in defined
