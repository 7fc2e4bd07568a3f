"""Every public table: its columns in order, with their types, on captures of a Keras fit, of a compiled one and of GPUs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tfprof_widgets as tfprof

STEP_TIMES = """step_time_ms:float device_compute_ms:float device_to_device_ms:float device_collectives_ms:float
    host_compute_ms:float kernel_launch_ms:float input_ms:float output_ms:float compile_ms:float other_ms:float"""
STEPS = f"""step:int name:text host:text start_ms:float {STEP_TIMES} source:text is_complete:bool session:int"""
TOTALS = "occurrences:int total_time_us:float avg_time_us:float"
SELF_TIMES = f"""{TOTALS} total_self_time_us:float avg_self_time_us:float self_time_ratio:float
    cumulative_ratio:float"""
ALLOCATION = "allocation_bytes:int requested_bytes:int occurrences:int region:text dtype:text shape:text"

TABLES: dict[str, str] = {
    "events": """plane:text line:text name:text start_ns:float duration_ns:float self_ns:float depth:int step:int""",
    "steps": STEPS,
    "workers": f"{STEPS} own_step:int bottleneck:text",
    "ops": f"""rank:int device:text type:text name:text {SELF_TIMES} eager:bool flop_rate_gflops:float
        memory_bandwidth_gibps:float tensor_core_ratio:float""",
    "kernels": f"""rank:int name:text registers_per_thread:int shared_memory_bytes:int block_dim:text grid_dim:text
        occupancy_pct:float tensor_core_eligible:bool uses_tensor_core:bool op_name:text {TOTALS} min_time_us:float
        max_time_us:float op_type:text""",
    "hlo_ops": f"""rank:int program_id:int module:text category:text name:text expression:text op_name:text op_type:text
        device:text {SELF_TIMES} flops:float bytes_accessed:float flop_rate_gflops:float memory_bandwidth_gibps:float
        source:text""",
    "layers": """device:text layer:text class_name:text kind:text forward_time_us:float backward_time_us:float
        optimizer_time_us:float other_time_us:float self_time_us:float self_time_ratio:float n_ops:int occurrences:int
        allocated_bytes:int peak_bytes:int""",
    "source_lines": """device:text file:text line:int function:text code:text bucket:text forward_time_us:float
        backward_time_us:float other_time_us:float self_time_us:float self_time_ratio:float n_ops:int occurrences:int
        top_op:text""",
    "scopes": """device:text scope:text name:text parent:text depth:int total_time_us:float self_time_us:float
        backward_time_us:float total_time_ratio:float n_ops:int occurrences:int""",
    "system": """time_ms:float cpu_pct:float process_cpu_pct:float rss_bytes:number disk_read_bytes:number
        disk_write_bytes:number net_recv_bytes:number net_sent_bytes:number memory_available_bytes:number n_threads:number""",
    "system_findings": "kind:text metric:text start_ms:float end_ms:float value:float unit:text text:text",
    "counters": "counter:text unit:text time_ms:float value:float",
    "overview.breakdown": "category:text ms:float std_ms:float ratio:float",
    "memory.summary": """allocator:text n_allocations:int n_deallocations:int capacity_bytes:int peak_heap_bytes:int
        peak_bytes:int peak_at_ms:float stack_bytes:int heap_bytes:int free_bytes:int fragmentation_ratio:float""",
    "input_pipeline.categories": "category:text time_ms:float ratio:float",
    "input_pipeline.ops": """op:text count:int total_time_ms:float total_time_ratio:float self_time_ms:float
        self_time_ratio:float category:text""",
    "input_pipeline.steps": """step:int name:text host:text start_ms:float step_time_ms:float input_ms:float
        input_ratio:float is_averaged:bool""",
    "input_pipeline.hosts": """host:text n_pipelines:int n_calls:int n_slow_calls:int total_time_ms:float
        max_latency_us:float pipeline:int bottleneck:text long_name:text input_ratio:float""",
    "input_pipeline.pipelines": """id:int name:text host:text is_device:bool n_calls:int n_slow_calls:int
        total_time_ms:float avg_latency_us:float min_latency_us:float max_latency_us:float startup_time_ms:float
        fill_time_ms:float steady_latency_us:float bottleneck:int bottleneck_name:text bottleneck_time_ms:float
        suggestion:text suggestion_code:text summary:text""",
    "input_pipeline.iterators": """id:int parent_id:int name:text long_name:text start_ms:float total_time_ms:float
        self_time_ms:float calls:int is_async:bool on_critical_path:bool is_bottleneck:bool params:object pipeline:int
        wait_time_ms:float n_iterators:int event_names:object fill_time_ms:float parallelism:float buffer_size:float
        is_autotuned:bool settings:text""",
}
"""What a user reaches by name."""

OF_AN_ALLOCATOR: dict[str, str] = {
    "timeline": """time_ms:float event:text requested_bytes:int allocation_bytes:int op:text step:int region:text
        dtype:text shape:text in_use_bytes:int stack_bytes:int heap_bytes:int free_bytes:int fragmentation_ratio:float
        address:number freed_at:int""",
    "peak": f"op:text {ALLOCATION} total_bytes:int",
    "steps": """step:int peak_bytes:int peak_at_ms:float start_bytes:int end_bytes:int growth_bytes:int
        n_allocations:int allocated_bytes:int""",
    "lifetimes": """op:text step:int region:text dtype:text shape:text allocation_bytes:int allocated_at_ms:float
        freed_at_ms:float lifetime_ms:float""",
    "unfreed": """op:text n_allocations:int n_steps:int allocated_bytes:int bytes_per_step:float held_bytes:int""",
}
"""Methods of `prof.memory`."""

EXECUTIONS = """rank:int start_ms:float latency_us:float is_slow:bool is_startup:bool bottleneck:int bottleneck_name:text
    bottleneck_time_us:float root_call:int"""

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module", params=["keras_fit", "xla_fit", "v100"])
def prof(request: pytest.FixtureRequest, capture_of: Callable[[str], Path]) -> tfprof.Profile:
    kind: str = request.param
    return tfprof.load(request.getfixturevalue("v100_xplane") if kind == "v100" else capture_of(kind))


IS_OF_TYPE: dict[str, Callable[[pd.Series], bool]] = {
    "int": pd.api.types.is_integer_dtype,
    "float": pd.api.types.is_float_dtype,
    "number": pd.api.types.is_numeric_dtype,
    "bool": pd.api.types.is_bool_dtype,
    "text": lambda column: all(isinstance(value, str) for value in column),
    "object": pd.api.types.is_object_dtype,
}


def check(frame: pd.DataFrame, columns: str) -> None:
    expected = dict(column.split(":") for column in columns.split())
    assert list(frame.columns) == list(expected)
    assert frame.index.equals(pd.RangeIndex(len(frame)))
    wrong = {
        name: (str(frame[name].dtype), kind) for name, kind in expected.items() if not IS_OF_TYPE[kind](frame[name])
    }
    assert wrong == {}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_its_columns_in_order_and_of_their_types(prof: tfprof.Profile, name: str) -> None:
    holder, _, attribute = name.rpartition(".")
    check(getattr(getattr(prof, holder) if holder else prof, attribute), TABLES[name])


@pytest.mark.parametrize("name", OF_AN_ALLOCATOR)
def test_a_table_of_an_allocator_has_its_columns(prof: tfprof.Profile, name: str) -> None:
    for allocator in prof.memory.allocators:
        check(getattr(prof.memory, name)(allocator), OF_AN_ALLOCATOR[name])


def test_growth_of_an_allocator(prof: tfprof.Profile) -> None:
    for allocator in prof.memory.allocators:
        growth = prof.memory.growth(allocator)
        assert growth.n_steps == len(prof.memory.steps(allocator))
        assert np.isnan(growth.bytes_per_step) == (growth.n_steps < 2)
        assert bool(growth.sentence) == growth.is_significant


def test_executions_of_a_pipeline(prof: tfprof.Profile) -> None:
    pipeline = prof.input_pipeline
    assert len(pipeline.pipelines)
    for row in pipeline.pipelines["id"].tolist():
        executions = pipeline.executions(row)
        check(executions, EXECUTIONS)
        assert executions["latency_us"].is_monotonic_decreasing
        assert list(pipeline.execution(row).columns) == list(pipeline.iterators.columns)
        assert set(pipeline.execution(row)["id"]) <= set(pipeline.iterators["id"])
    assert isinstance(pipeline.is_input_bound, bool)
    assert isinstance(pipeline.summary, str)
    parts = ("enqueue", "read_on_demand", "read_in_advance", "preprocessing", "unclassified")
    assert sum(getattr(pipeline, f"{part}_ms") for part in parts) == pytest.approx(pipeline.categories["time_ms"].sum())


def test_layers_lines_and_scopes_share_out_the_self_time_of_all_ops(prof: tfprof.Profile) -> None:
    for device, ops in prof.ops.groupby("device"):
        self_us = pytest.approx(ops["total_self_time_us"].sum())
        for table in (prof.layers, prof.source_lines, prof.scopes):
            side = table[table["device"] == device]
            assert side["self_time_us"].sum() == self_us
        phases = ["forward_time_us", "backward_time_us", "optimizer_time_us", "other_time_us"]
        assert prof.layers.loc[prof.layers["device"] == device, phases].to_numpy().sum() == self_us
    assert set(prof.layers["kind"]) <= {"layer", "loss", "metrics", "optimizer", "input", "other"}
    assert (prof.source_lines["bucket"] == "").eq(prof.source_lines["line"] > 0).all()


def test_what_a_capture_of_its_kind_must_hold(prof: tfprof.Profile, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.params["prof"]
    assert (len(prof.kernels) > 0) == (kind == "v100")
    assert (len(prof.hlo_ops) > 0) == (kind == "xla_fit")
    assert (prof.layers["kind"] == "layer").any()
    assert set(prof.workers["host"]) == set(prof.steps["host"])
    assert len(prof.workers) == len(prof.steps)


def test_the_ranks_count_from_one_the_most_costly_first(prof: tfprof.Profile) -> None:
    for table in (prof.ops, prof.kernels, prof.hlo_ops):
        assert table["rank"].tolist() == list(range(1, len(table) + 1))
    assert prof.kernels["total_time_us"].is_monotonic_decreasing
    for _, side in prof.hlo_ops.groupby("device"):
        assert side["total_self_time_us"].is_monotonic_decreasing
