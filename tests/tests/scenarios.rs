//! Each scenario is a folder of `tests/scenarios/`; its story stands in `tests/tests/snapshots/`.

use gg_tests::Scenario;

#[path = "scenarios/hooks.rs"]
mod hooks;

macro_rules! scenarios {
    ($($test:ident = $folder:literal;)*) => {$(
        #[tokio::test]
        async fn $test() {
            let played = Scenario::named($folder).play().await;
            insta::assert_snapshot!($folder, played.story());
        }
    )*

        #[test]
        fn every_folder_is_played() {
            let mut named = vec![$($folder),*];
            named.sort_unstable();
            let mut found: Vec<String> = std::fs::read_dir(gg_tests::package().join("scenarios"))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .filter(|name| !ELSEWHERE.contains(&name.as_str()))
                .collect();
            found.sort();
            assert_eq!(found, named);
        }
    };
}

/// Scenarios that another test plays.
const ELSEWHERE: &[&str] = &["everything"];

scenarios! {
    a_reply_without_calls_ends_by_its_text = "ends-by-text";
    finish_declares_an_outcome_and_the_first_one_stands = "finish-failure";
    wrong_calls_are_refused_with_what_would_be_right = "refusals";
    calls_run_in_order_and_every_one_has_its_result = "order";
    turns_are_limited = "turn-limit";
    a_loop_is_nudged_and_then_ended = "loop";
    an_agent_that_heeds_the_nudge_goes_on = "loop-left";
    empty_replies_are_nudged_and_then_fail = "empty-replies";
    a_reply_cut_off_by_its_limit_goes_on = "cut-off";
    a_window_over_its_threshold_is_compacted = "compaction-threshold";
    a_model_may_ask_for_compaction_which_comes_before_an_ending = "compaction-asked";
    a_request_that_the_server_finds_too_long_is_compacted_and_asked_once_more = "context-too-long";
    a_request_that_is_too_long_and_cannot_be_compacted_fails_with_both_reasons = "too-long-for-good";
    archived_turns_leave_a_stub_and_can_be_read_back = "archive";
    a_refused_archive_leaves_the_one_before_it_and_compaction_comes_after = "archive-twice";
    a_small_summarizer_of_its_own_is_asked_in_pieces = "summarizer-of-its-own";
    a_failing_summarizer_stops_nothing_while_the_window_fits = "summarizer-fails";
    a_model_that_fails_for_good_fails_the_agent = "model-fails";
    hooks_hold_every_call_they_are_about_before_it_runs = "hook-before";
    a_hook_that_is_late_refuses_and_is_stopped = "hook-late";
    what_hooks_say_after_a_call_is_added_to_its_result = "hook-after";
    an_agent_whose_ending_is_refused_goes_on = "hook-end";
    an_ending_that_is_always_refused_comes_to_the_turn_limit = "hook-end-never";
    a_hook_holds_the_agents_of_its_profile_whoever_spawned_them = "hook-subagent";
    commands_run_within_their_limits_and_hooks_hold_them = "shell";
    an_heir_and_its_spawner_keep_the_same_memories = "memories-inherited";
}
