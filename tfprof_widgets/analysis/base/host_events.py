"""Exact names of host events the profiler's runtime emits -> the set XProf recognises (semantics 1.5)."""

from __future__ import annotations

_CONSUME = tuple(
    f"{stage}{end}"
    for stage in ("Prefetch", "ParallelInterleave", "ParallelMap", "MapAndBatch", "ParseExample", "ParallelBatch")
    for end in ("Produce", "Consume")
)

CAPTURED_FUNCTIONS = tuple(
    f"InstantiatedCapturedFunction::{run}" for run in ("Run", "RunWithBorrowedArgs", "RunInstantiated", "RunAsync")
)
"""Calls of the user's functions by tf.data."""

GET_NEXT = ("IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute")
"""The op kernels that fetch from an iterator."""

IMPLICIT_ROOTS = ("FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process")
"""Roots the runtime itself marks; they carry no name a user gave."""

KNOWN_HOST_EVENTS = frozenset(
    (
        "TraceContext",
        "SessionRun",
        "FunctionRun",
        "RunGraph",
        "RunGraphDone",
        "TfOpRun",
        "EagerExecute",
        "ExecutorState::Process",
        "ExecutorDoneCallback",
        "MemoryAllocation",
        "MemoryDeallocation",
        "RemotePerfCounter",
        *CAPTURED_FUNCTIONS,
        "ParallelForOp",
        "ForeverOp",
        "WhileOp-EvalCond",
        "WhileOp-StartBody",
        "ForOp",
        *GET_NEXT,
        "Iterator",
        "Iterator::Prefetch::Generator",
        *_CONSUME,
        "ParallelInterleaveInitializeInput",
        "BatchingSessionRun",
        "ProcessBatch",
        "OrbaxServing::ProcessBatch",
        "BrainSessionRun",
        "ConcatInputTensors",
        "MergeInputTensors",
        "ScheduleWithoutSplit",
        "ScheduleWithSplit",
        "ScheduleWithEagerSplit",
        "ASBSQueue::Schedule",
        "TfrtModelRun",
        "ServingModelRun",
        "KernelLaunch",
        "KernelExecute",
    )
)
"""Names XProf gives a type, so that an event of this name is never taken for a kernel launch."""
