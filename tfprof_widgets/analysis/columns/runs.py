"""Tables of many hosts and of several runs: hosts, stragglers, communication, scaling, comparisons, experiments."""

from __future__ import annotations

from .column import read_tables

TABLES = read_tables("""
*numbers:
    metric                  text   what is compared
    unit                    text   of its numbers
    a                       float  in a
    b                       float  in b
    change                  float  b - a
    ratio                   float  b / a
    noise                   float  by how much it changes without a reason; NaN where that is not known
*times:
    a_ms                    float  own time in a, a step where both runs have steps
    b_ms                    float  own time in b
    change_ms               float  b - a
    ratio                   float  b / a
    a_count                 float  executions in a, a step
    b_count                 float  executions in b, a step
    noise_ms                float  by how much it changes without a reason; NaN where that is not known
    state                   text   `added`, `removed`, `slower`, `faster`, `same` or `unknown`
hosts: a host
    host                    text   its name
    role                    text   `worker`, `chief`, `parameter server` or `coordinator`
    n_steps                 int    steps that it ran
    step_time_ms            float  their mean; NaN without steps
    n_events                int    of its trace
    path                    text   of its file, empty where nobody knows
    task                    text   such as `/job:worker/replica:0/task:1`, empty where nothing names it
stragglers: a host that holds the others up, the costliest first
    host                    text   its name
    category                text   of the step time, in which it exceeds the others most
    n_steps                 int    aligned steps in which it came last
    n_aligned               int    aligned steps
    excess_ms               float  its own time over the median of the others, mean a step
    cost_ms                 float  how long the others wait for it, mean a step
    cost_ratio              float  that as part of the mean step time
communication: what a host exchanged, by kind and name, most exposed time first
    host                    text   its name
    kind                    text   of exchange, such as `collective`
    name                    text   of the op, tensor or kernel
    occurrences             int    how often
    total_time_us           float  of all of them
    exposed_time_us         float  the part in which nothing computed
    overlap_ratio           float  the part of the total time in which something did
    time_ratio              float  part of the host's step time that was exposed in its steps
    bytes                   int    in all, 0 where nobody tells
    type                    text   of the op, such as `CollectiveReduceV2`
scaling(profiles).frame: a run, the fewest workers first
    n_workers               int    hosts that train
    step_time_ms            float  the mean; NaN without steps
    speedup                 float  samples per second over those of the first row that has any
    efficiency_ratio        float  that over what as many workers would give at best
    communication_ratio     float  part of the step time in which hosts wait in an exchange
    largest_exchange        text   type of the exchange with the most time, empty without any
    largest_exchange_ratio  float  its part of the step time
    n_steps                 int    that are averaged
    n_missing               int    hosts that could not be read or captured
    title                   text   of the profile
diff(a, b).summary: a metric of the runs as wholes
    *numbers
    is_beyond_noise         bool   whether it changed beyond that
diff(a, b).categories: a category of the step time
    category                text   as the columns of the steps table are called
    a_ms                    float  own time in a, a step where both runs have steps
    b_ms                    float  own time in b
    change_ms               float  b - a
    ratio                   float  b / a
    noise_ms                float  by how much it changes without a reason; NaN where that is not known
    state                   text   `added`, `removed`, `slower`, `faster`, `same` or `unknown`
diff(a, b).ops: an op
    type                    text   such as `MatMul`
    name                    text   in b, or in a where b has none
    device                  text   the side it ran on, `Device` or `Host`
    *times
    a_name                  text   what it is called in a, empty where a has none
diff(a, b).layers: a Keras layer, or what is in none
    layer                   text   its path in the model, or what the row stands for
    class_name              text   the layer's class, empty where it is not known
    kind                    text   `layer`, `loss`, `metrics`, `optimizer`, `input` or `other`
    device                  text   the side it ran on, `Device` or `Host`
    *times
    a_name                  text   what it is called in a, empty where a has none
diff(a, b).source_lines: a line of your code
    file                    text   its path, or the title of a notebook's cell; empty for what is no line
    line                    int    its number, 0 for what is no line
    function                text   the function it is in
    code                    text   its text
    bucket                  text   what a row without a line stands for; empty for a line
    device                  text   the side it ran on, `Device` or `Host`
    *times
diff(a, b).kernels: a kernel by name and op
    name                    text   its C++ signature
    op_name                 text   the op that launched it
    *times
diff(a, b).iterators: a tf.data iterator
    name                    text   such as `Map`
    long_name               text   with the iterators around it
    *times
diff(a, b).memory: an allocator and metric
    allocator               text   its name, such as `GPU_0_bfc`
    *numbers
    state                   text   `added`, `removed`, `slower`, `faster`, `same` or `unknown`
experiment(...).frame: a run of a variant, in the order in which they ran
    variant                 text   of the experiment
    repeat                  int    the how many-th of the variant, from 0
    n_steps                 int    that were timed
    n_samples               int    in those
    seconds                 float  that they took [seconds]
    samples_per_second      float  the rate [samples/s]
    step_time_ms            float  mean time of a step
experiment(...).table: a variant
    variant                 text   of the experiment
    samples_per_second      float  the rate, of all runs [samples/s]
    low                     float  lower end of its 95 % interval [samples/s]
    high                    float  upper end of that [samples/s]
    step_time_ms            float  mean time of a step
    ratio                   float  its rate over that of the first variant
    ratio_low               float  lower end of the 95 % interval of the ratio [ratio, 1 is all]
    ratio_high              float  upper end of that [ratio, 1 is all]
watch.steps: a step that has ended, in the order of their ends
    number                  int    its own number, as Keras or the loop counts
    kind                    text   `train`, `validation`, `predict` or `other`
    start_s                 float  after the begin of the first step
    step_time_ms            float  how long it took
    wait_ms                 float  the part of it that waited for the next batch
    outside_ms              float  the part of it outside of the function that computes: callbacks, logs
    loss                    float  as Keras told it
    n_batches               int    that it took, several with `steps_per_execution`
    profiled                bool   whether a window of the profiler held it
    begins_epoch            bool   whether it is the first of an epoch
watch.samples: a sample of the machine, in time order
    time_ns                 number Unix time
    cpu_pct                 float  load of all cores that this process may run on
    process_cpu_pct         float  load by this process and those that it started, 100 for one core
    rss_bytes               number resident memory of this process
    tf_bytes                number held by TensorFlow's allocators of GPUs
    gpu_pct                 float  load of GPUs
    gpu_memory_bytes        number used on GPUs
    gpu_clock_mhz           float  of the slowest GPU [MHz]
    gpu_throttled           number 1 where a GPU is slowed down by heat or power, else 0
doctor().frame: a check
    check                   text   what was looked at
    status                  text   `ok`, `warning`, or `unknown` where it cannot be found out
    value                   text   what was found
    remedy                  text   a command or a line of code, empty where the status is `ok`
""")
