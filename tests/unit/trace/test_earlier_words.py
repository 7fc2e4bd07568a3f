"""Notices of profiles that were saved by earlier versions: one sentence for each fact, in the words of today."""

from __future__ import annotations

from tfprof_widgets.trace.earlier_words import files_in_part, in_todays_words, is_of_source_map, lines_known

JOINED = (
    "Source lines are known of 8917 of 40838 graph ops (a bound). Float operations were counted of 0 of 2853 graph ops "
    "(2 s). The text of 2 of 36 source files was cut (262144 bytes each, 4194304 in all)."
)


def test_a_notice_of_three_facts_becomes_three_in_the_words_of_today() -> None:
    assert in_todays_words([JOINED]) == (
        "Source lines were read of the first 8,917 of 40,838 graph ops: the view of lines says for how much of the time they "
        "are known.",
        "No FLOP counts of graph ops that XLA did not compile: counting ran out of time.",
        "2 of 36 source files are shown in part: at most 256 KiB of each, 4 MiB in all.",
    )


def test_counts_of_some_ops_are_not_called_none() -> None:
    (told,) = in_todays_words(["Float operations were counted of 20 of 2853 graph ops (2 s)."])
    assert told == "FLOP counts are known for 20 of 2,853 graph ops that XLA did not compile: counting ran out of time."


def test_what_is_written_today_and_what_nobody_knows_stays() -> None:
    written = (lines_known(1, 2), files_in_part(1, 2, 2**18, 2**22), "It stopped. The text of a song was cut.", "")
    assert in_todays_words(written) == written


def test_what_tells_a_lack_of_a_source_map_is_told_from_the_rest() -> None:
    assert all(map(is_of_source_map, in_todays_words([JOINED])))
    assert not is_of_source_map("A profiler made XLA launch 10 CUDA graphs kernel by kernel.")
