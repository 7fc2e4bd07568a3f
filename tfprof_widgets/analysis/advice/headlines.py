"""A rule of the advice -> what to do, in a few words; the advice's title says why, its fix how."""

from __future__ import annotations

_STAGES = {
    "slow_read": "Read the data faster",
    "slow_map": "Make the map function cheaper",
    "no_prefetch": "Prefetch the input",
    "no_parallel_map": "Map the input in parallel",
    "sequential_stage": "Run the input's stages in parallel",
    "generator": "Replace the Python generator",
    "python_map": "Take Python out of the map function",
    "element_map": "Map whole batches",
    "filter_after": "Filter before the map",
    "few_threads": "Give the input's stages more threads",
}
_RULES = {
    "checkpoint_stall": "Save weights less often",
    "collective_bound": "Exchange gradients less often",
    "compilation": "Trace and compile less",
    "device_idle": "Keep the device busy between ops",
    "eager_hot_loop": "Put the step into a tf.function",
    "few_blocks": "Fill the GPU's multiprocessors",
    "h2d_bound": "Copy less to the device, or earlier",
    "host_callback": "Run Python less often between steps",
    "host_communication": "Exchange less with other hosts",
    "host_fallback": "Move ops from the host to the device",
    "idle_border": "Close the gap between steps",
    "inefficient_op": "Replace a costly op",
    "input_competes": "Let the input compute less",
    "input_bound": "Speed up the input",
    "launch_bound": "Launch fewer kernels",
    "layout_conversion": "Keep images in one layout",
    "low_precision_unused": "Compute in 16 bits",
    "low_utilisation": "Give the device more work at once",
    "memory_fragmentation": "Allocate memory asynchronously",
    "memory_growth": "Stop memory from growing",
    "memory_headroom": "A larger batch fits",
    "output_bound": "Fetch results less often",
    "new_iterator": "Make one iterator for all steps",
    "outside_steps": "Spend less time between steps",
    "retracing": "Stop tf.function from tracing again",
    "shuffle_fill": "Shuffle before elements are prepared",
    "small_batch": "Use a larger batch",
    "straggler": "Relieve the slowest worker",
    "straggler_step": "Find what happened in the slow steps",
    "task_communication": "Exchange fewer tensors between tasks",
    "tensor_core_unused": "Make sizes fit the Tensor Cores",
    "uneven_devices": "Balance the devices",
    "uneven_tasks": "Balance the tasks",
    "unfused_attention": "Compute attention in fewer kernels",
    "unfused_norm": "Fuse batch normalisation",
    "unfused_optimizer": "Launch fewer kernels in the optimizer",
    "useless_bias": "Drop the bias before batch normalisation",
    "validation": "Validate less often",
}


def headline_of(rule: str, stage: str) -> str:
    """What an advice of this rule, and stage of the input, asks for; "" of a rule that is not known."""
    return _STAGES.get(stage) or _RULES.get(rule, "")
