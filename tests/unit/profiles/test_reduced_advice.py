"""The advice of a reduced profile where a user meets it: in the list, the summary and the report."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tfprof_widgets as tfprof
from tests.cluster import Cluster

SAID = "On all 3 hosts (14 % of all step time); shown for worker0001, where it costs most."


def test_what_hosts_say_is_in_the_list_the_summary_and_the_report(tmp_path: Path) -> None:
    run = Cluster(3, slow_input={1: 1.3}).draw(tmp_path)
    with ThreadPoolExecutor(1) as executor:
        prof = tfprof.load(run, executor=executor)
        (one,) = (one for one in prof.advice if one.rule == "input_bound")
        assert one.title.endswith(SAID)
        assert SAID in " ".join(prof.text().split())
        report = prof.report()
        assert SAID in report
        assert "- Look at: `prof.timeline()`; host `worker0001`; row " in report
