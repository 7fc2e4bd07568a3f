"""What travels for the roofline chart: of every op, as `prof.roofline` has it, and nothing where no GPU ran anything."""

from __future__ import annotations

import pytest

from tests.builders import event, line, plane, trace
from tests.unit.analysis.roofline.test_roofline import BYTES, GEMM, GEMM_FLOPS, TF32, compiled, drawn, kernel
from tfprof_widgets.analysis import Analysis
from tfprof_widgets.show import build_payload, lists

from .received import receive


def test_ops_travel_with_what_their_rates_are_made_of() -> None:
    results = drawn(compiled("gemm", 0, 10, GEMM), compiled("gemm", 20, 12, GEMM), compiled("sum", 40, 8))
    (found,) = receive(build_payload(results)).meta["roofline"]
    ops = found["ops"]
    assert ops["name"] == ["gemm", "sum"]
    assert ops["time_us"] == [22, 8]
    assert ops["flops"] == [2 * GEMM_FLOPS, 1e6]
    assert (ops["occurrences"], ops["parts"]) == ([2, 1], [2, 1])
    assert [found["kinds"][kind]["text"] for kind in ops["kind"]] == ["TF32 Tensor Core", "32-bit vector"]
    assert ops["peak"][0] == pytest.approx(TF32)
    assert [results.op_shares.name[op] for op in ops["op"]] == ["net/dense/MatMul", "net/add/AddV2"]
    assert found["bytes_per_s"] == BYTES
    assert (found["n_ops"], found["step_mfu"]) == (2, [None] * len(results.steps.frame))


def test_the_longest_ops_travel_and_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "_MOST_ROOFLINE_OPS", 1)
    (found,) = lists.roofline_list(drawn(compiled("gemm", 0, 10, GEMM), compiled("sum", 20, 30)))
    assert found["ops"]["name"] == ["sum"]
    assert found["n_ops"] == 2


def test_of_kernels_without_a_program_nothing_is_worked_out() -> None:
    results = drawn(kernel("volta_sgemm", 20, 5, tf_op="net/mul/Mul:Mul"))
    meta = receive(build_payload(results)).meta
    assert meta["roofline"] == []
    assert "roofline" not in results.__dict__


def test_nothing_travels_without_a_kernel() -> None:
    host = plane("/host:CPU", line("main", event("net/dense/MatMul:MatMul", 0, 2)))
    meta = receive(build_payload(Analysis(trace(host)))).meta
    assert "roofline" not in meta
    assert "roofline" not in meta["sections"]
