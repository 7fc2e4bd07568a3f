"""Every table of the package: its columns with types, units and meanings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

Kind = Literal["int", "float", "number", "bool", "text", "object"]
"""`number` is whole or not, as the numbers come; `object` is a list, a tuple or a dict."""

_TYPES: Mapping[Kind, type] = {
    "int": int,
    "float": float,
    "number": float,
    "bool": bool,
    "text": object,
    "object": object,
}
_UNITS = {
    "ps": "picoseconds",
    "ns": "nanoseconds",
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "micros": "microseconds",
    "bytes": "bytes",
    "pct": "percent",
    "ratio": "ratio, 1 is all",
    "gflops": "GFLOP/s",
    "gibps": "GiB/s",
    "tflops": "TFLOP/s",
    "gbps": "GB/s",
}
"""By the last word of a column's name."""


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    """As the table has it."""
    kind: Kind
    """`int`, `float`, `number` (whole or not, as the numbers come), `bool`, `text`, or `object` (a list, a tuple or a
    dict).
    """
    meaning: str
    """What it tells."""
    unit: str
    """In words; "" for a count, a text, and what another column gives the unit of."""


@dataclass(frozen=True)
class Table:
    """One table."""

    name: str
    """As a user reaches it from a profile: `ops`, `memory.peak`."""
    row: str
    """What one row is, and in which order they come."""
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> dict[str, type]:
        """From each column to `int`, `float`, `bool` or, for text and all else, `object`."""
        return {column.name: _TYPES[column.kind] for column in self.columns}


def unit_of(name: str) -> str:
    """The unit that the last word of a column's name tells; "" for none."""
    return _UNITS.get(name.rsplit("_", 1)[-1], "")


def read_tables(text: str) -> dict[str, Table]:
    """Tables as they are written in this package."""
    found: dict[str, Table] = {}
    name = row = ""
    for line in text.strip().splitlines():
        if line.startswith(" "):
            found[name] = Table(name, row, (*found[name].columns, *_columns(line, found)))
        else:
            name, _, row = line.partition(":")
            name, row = name.removeprefix("*"), row.strip()
            found[name] = Table(name, row, ())
    return {name: table for name, table in found.items() if table.row}


def _columns(line: str, known: Mapping[str, Table]) -> Iterator[Column]:
    prefix, is_group, group = line.strip().partition("*")
    if is_group and group in known:
        yield from (replace(one, name=f"{prefix}{one.name}") for one in known[group].columns)
        return
    name, kind, rest = line.split(maxsplit=2)
    meaning, _, unit = rest.partition(" [")
    yield Column(name, cast(Kind, kind), meaning, unit.removesuffix("]") or unit_of(name))


RUN_TABLES = read_tables("""
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


STEP_TABLES = read_tables("""
events: an event, in the order of the trace: by plane, line and start, the longest first
    plane                   text   the device or host, with the host in front where there are several
    line                    text   the thread or stream
    name                    text   of the event
    start_ns                float  after the trace origin, the picoseconds behind the point
    duration_ns             float  how long it took
    self_ns                 float  the part in which no event of its line ran inside it
    depth                   int    how many events of the line enclose it
    step                    int    row of the steps table, -1 for none
flows: an event that made another start
    kind                    text   `launch`, `producer`, `pool`, `tf_data` or `send_recv`
    from_event              int    the cause, a row of the events table
    to_event                int    the effect, a row of the events table
    from_name               text   of the cause
    to_name                 text   of the effect
    delay_ns                float  from the start of the cause to that of the effect
steps: a training step, by start
    step                    int    the row, 0 the first that was captured; not the step's own number
    name                    text   with that number, such as `train 3`; `train 2·3` in epoch 2 where numbers start again
    host                    text   on which it ran
    start_ms                float  after the trace origin
    step_time_ms            float  how long it took; the categories add up to it
    device_compute_ms       float  kernels run
    device_to_device_ms     float  copies within and between devices
    device_collectives_ms   float  devices or hosts exchange data, such as gradients, and compute nothing
    copy_to_device_ms       float  a copy to the device runs, and no kernel
    output_ms               float  a copy from the device runs, and no kernel
    kernel_launch_ms        float  the device idles until what it runs next is launched: in that call or op, or on the way
    dispatch_ms             float  Python, the eager runtime and the executor, before and between ops; the device idles
    host_compute_ms         float  ops compute on the CPU; the device idles
    input_ms                float  waiting for data
    sync_ms                 float  the host waits for the device, which has nothing to do
    compile_ms              float  functions are traced, programs compiled
    checkpoint_ms           float  weights are saved or restored
    other_ms                float  the device idles though work is queued, or nothing tells why
    source                  text   `marker` or `inferred`
    is_complete             bool   whether the capture holds all of it
    session                 int    of the profiler in which it ran
    n_batches               int    that it took in one call, several with `steps_per_execution`; 1 where nothing tells of more
    tensor_16bit_ratio      float  part of its kernel time on Tensor Cores in 16 bits or fewer; NaN where nothing is known
    tensor_tf32_ratio       float  the same on Tensor Cores in TF32
    vector_16bit_ratio      float  the same on ordinary cores in 16 bits
    vector_32bit_ratio      float  the same on ordinary cores in 32 bits or more
idle: a gap in the work of a device, in a row for each thing that it waited for, by device, then time
    gap                     int    its number
    device                  text   with the host in front where there are several
    step                    int    row of the steps table, -1 between steps
    position                text   `before`, `between` or `after` the kernels of the step; `outside` of steps
    start_ms                float  after the trace origin, when the device began to wait for that
    duration_us             float  how long it waited for that
    cause                   text   what it waited for, as the columns of the steps table are called
    gap_us                  float  how long the whole gap is
    kernel                  text   what the device runs next
    op                      text   that it is part of, "" where the trace does not tell
    layer                   text   of the op
    phase                   text   of it: `forward`, `backward`, `optimizer`, `input`, `other`; `border` at the edges of a step
    launch_us               float  how long the call took that launched it, NaN where the trace does not tell
    queue_depth             float  kernels that the device had left when that call began, NaN where the trace does not tell
kernel_launches: a kernel as in the kernels table, in its order
    rank                    int    the row there, from 1
    name                    text   its C++ signature
    op_name                 text   the framework op that launched it, empty where the trace names none
    occurrences             int    how often it was executed
    calls                   int    how often the trace holds the call that launched it
    launch_us               float  mean time of these calls, NaN without
    queue_depth             float  kernels that the device had left when such a call began, on average
    starved_ratio           float  part of the calls that found the device without any
workers: a step that all hosts share, host by host; `step` counts these
    *steps
    own_step                int    the row of the steps table
    bottleneck              text   the category of its step time that takes most
step_guide: a training step in the nine categories of TensorFlow's guide, as XProf charges them
    step                    int    the row
    name                    text   of the mark, such as `train 3`; `train 2·3` in the epoch 2 where numbers start again
    host                    text   on which it ran
    start_ms                float  after the trace origin
    step_time_ms            float  how long it took; the categories add up to it
    input_ms                float  waiting for data, or copying it to the device
    host_compute_ms         float  what the host recorded but launches: ops, and the runtime around them
    kernel_launch_ms        float  the host enqueues work
    device_compute_ms       float  kernels run
    device_to_device_ms     float  copies within and between devices
    device_collectives_ms   float  devices exchange data, such as gradients
    output_ms               float  results are copied to the host
    compile_ms              float  programs are compiled
    other_ms                float  nothing was recorded: Python, callbacks, waiting
overview.breakdown: a category of the step time
    category                text   as the columns of the steps table are called
    ms                      float  mean a step
    std_ms                  float  standard deviation between steps
    ratio                   float  part of the step time
counters: a change of a counter, by counter, then time
    counter                 text   its name
    unit                    text   of its values
    time_ms                 float  after the trace origin
    value                   float  until the next change
system: a sample of the machine
    time_ms                 float  after the trace origin, negative before the first window of the profiler
    cpu_pct                 float  load of all cores that this process may run on
    process_cpu_pct         float  load by this process, 100 for one core
    rss_bytes               number resident memory of this process
    disk_read_bytes         number read from all disks since the machine started
    disk_write_bytes        number written to all disks since then
    net_recv_bytes          number received over the network since then
    net_sent_bytes          number sent over the network since then
    memory_available_bytes  number memory of the machine that is left
    n_threads               number threads of this process
    children_cpu_pct        float  load by the processes that this one started, 100 for one core
system_findings: something odd in the samples, by kind and start
    kind                    text   such as `utilisation_dip`
    metric                  text   the column of the samples that shows it
    start_ms                float  after the trace origin
    end_ms                  float  after the trace origin
    value                   float  how much
    unit                    text   of the value
    text                    text   the finding in a sentence
""")

CATEGORIES = {
    one.name.removesuffix("_ms"): one.meaning
    for one in STEP_TABLES["steps"].columns[STEP_TABLES["steps"].names.index("step_time_ms") + 1 :]
    if one.name.endswith("_ms")
}
"""What the time of a step goes to, and what that means."""


MEMORY_TABLES = read_tables("""
*held:
    bytes                   int    in use
    ratio                   float  part of all bytes in use
    occurrences             int    allocations
    ops                     object names of ops to select
*state:
    stack_bytes             int    taken by the program's stack
    heap_bytes              int    allocated
    free_bytes              int    not in use
    fragmentation_ratio     float  1 - largest free block / free bytes
*tensor:
    region                  text   what the memory is for: `output`, `temp`, `persist/dynamic`, ...
    dtype                   text   of the tensor
    shape                   text   of the tensor
memory.summary: an allocator; what is in use is that at its peak
    allocator               text   its name, such as `GPU_0_bfc`
    n_allocations           int    during the capture
    n_deallocations         int    during the capture
    capacity_bytes          int    in use and free together, on a host at most what the machine has; 0 where no limit is known
    peak_heap_bytes         int    most ever allocated, before the capture too
    peak_bytes              int    most in use during the capture, stack and heap
    peak_at_ms              float  when that was, after the trace origin
    *state
memory.timeline: an allocation or deallocation of the allocator, in time order, with its state after that
    time_ms                 float  after the trace origin
    event                   text   `allocation` or `deallocation`
    requested_bytes         int    that the op asked for
    allocation_bytes        int    that the allocator gave
    op                      text   that allocated it
    step                    int    row of the steps table, -1 between steps
    *tensor
    in_use_bytes            int    stack and heap
    *state
    address                 number where the memory begins
    freed_at                int    of an allocation the row in which it is given back, else -1
memory.peak: allocations of one op and tensor that lived at the peak, largest first
    op                      text   that allocated it
    allocation_bytes        int    that the allocator gave for one
    requested_bytes         int    that the op asked for one
    occurrences             int    how many there are
    *tensor
    total_bytes             int    of all of them, as given
memory.held_at_peak: allocations of one op and tensor that were in use at the peak
    *memory.peak
memory.steps: what a step did to the allocator
    step                    int    row of the steps table
    peak_bytes              int    most in use, stack and heap
    peak_at_ms              float  the last time it was that high, after the trace origin
    start_bytes             int    in use at its begin
    end_bytes               int    in use at its end
    growth_bytes            int    their difference
    n_allocations           int    during the step
    allocated_bytes         int    during the step
memory.lifetimes: an allocation, in the order in which they were made
    op                      text   that allocated it
    step                    int    row of the steps table, -1 between steps
    *tensor
    allocation_bytes        int    that the allocator gave
    allocated_at_ms         float  after the trace origin
    freed_at_ms             float  after the trace origin; NaN where it was not given back
    lifetime_ms             float  between the two
memory.unfreed: an op that allocates in a step what is held some steps later, most held first
    op                      text   that allocated it
    n_allocations           int    that are held so long
    n_steps                 int    steps in which it made them
    allocated_bytes         int    of all of them
    bytes_per_step          float  that a step adds [bytes]
    held_bytes              int    the part not given back until the session ends
memory_failure.by_op: an op that held memory when it ran out, largest first
    op                      text   that allocated it
    dtype                   text   of the largest of its tensors
    shape                   text   of the largest of its tensors
    *held
memory_failure.by_layer: a Keras layer that held memory when it ran out, largest first
    layer                   text   its path
    kind                    text   as in the layers table
    *held
memory_failure.by_line: a line of code that held memory when it ran out, largest first
    line                    text   `file:line`, or what is no line
    code                    text   its text
    *held
""")

ALLOCATOR = MEMORY_TABLES["memory.summary"].columns[0]
"""The column that tells the tables of several allocators apart where they are one."""


OP_TABLES = read_tables("""
*costs:
    self_time_us            float  time of its ops without what ran inside them
    self_time_ratio         float  part of the self time of all ops of the side
    n_ops                   int    how many ops it is made of
    occurrences             int    executions of its ops
*figures:
    micros                  number execution time, on the accelerator and on the CPU
    accelerator_micros      number execution time on the accelerator
    cpu_micros              number execution time on the CPU
    bytes                   int    memory that was asked for
    peak_bytes              int    the most held at some point
    residual_bytes          int    held when the op had ended
    output_bytes            int    of the outputs
    params                  int    parameters of variables
    float_ops               int    float operations [float operations]
    occurrence              int    ops
    run_count               int    executions
*self_times:
    occurrences             int    how often it was executed
    total_time_us           float  time of all executions, with what ran inside
    avg_time_us             float  mean time of an execution
    total_self_time_us      float  time of all executions without what ran inside, over all threads and streams
    avg_self_time_us        float  the mean of that
    self_time_ratio         float  part of the self time of its side
    cumulative_ratio        float  the same of all rows of its side up to this one
*units:
    tensor_16bit_ratio      float  part of its kernel time on Tensor Cores in 16 bits or fewer; NaN where nothing is known
    tensor_tf32_ratio       float  the same on Tensor Cores in TF32
    vector_16bit_ratio      float  the same on ordinary cores in 16 bits
    vector_32bit_ratio      float  the same on ordinary cores in 32 bits or more
ops: an op, those of devices before those of the host, most self time first
    rank                    int    the row, from 1
    device                  text   the side it ran on, `Device` or `Host`
    type                    text   such as `MatMul`
    name                    text   of the op in its graph, or its type where it was run eagerly
    *self_times
    eager                   bool   whether it was run eagerly, outside of any function
    flop_rate_gflops        float  arithmetic over total time; NaN where nothing is known
    memory_bandwidth_gibps  float  bytes accessed over total time; NaN where nothing is known
    tensor_core_ratio       float  part of its kernel time on Tensor Cores; NaN where nothing is known
    *units
select().op_statistics(by="type"): an op type, those of devices before those of the host, most self time first
    rank                    int    the row, from 1
    device                  text   the side it ran on, `Device` or `Host`
    type                    text   such as `MatMul`
    n_ops                   int    how many ops of the type ran
    *self_times
copies: the copies of one tensor, direction and kind of memory on GPUs, most exposed time first
    direction               text   `host to device`, `device to host`, `device to device` or `host to host`
    source                  text   memory read: `pageable`, `pinned`, `device`, ...; empty where the trace does not tell
    destination             text   memory written, likewise
    op                      text   that made the tensor, else the one that copies; empty where the trace names none
    read_by                 text   the op that reads the tensor, empty where the trace does not tell
    tensor                  text   TensorFlow's name of the edge between the two, empty where there is none
    occurrences             int    copies
    bytes                   int    of all of them, 0 where the trace does not tell
    bytes_per_copy          float  the mean; NaN where the trace does not tell [bytes]
    total_time_ms           float  on the device
    gb_per_s                float  bytes over that time, 10^9 a second; NaN where the trace does not tell [GB/s]
    hidden_time_ms          float  the part beside kernels of the same device
    exposed_time_ms         float  the part in which no kernel ran there
    round_trips             int    copies that bring back in a step what was copied to the host, or what was made of it there
kernels: a kernel by name, launch and op, most total time first
    rank                    int    the row, from 1
    name                    text   its C++ signature
    registers_per_thread    int    of the launch
    shared_memory_bytes     int    static and dynamic, of a block
    block_dim               text   threads of a block, `x,y,z`
    grid_dim                text   blocks of the grid, `x,y,z`
    occupancy_pct           float  warps that may be active, of the most that the device holds
    tensor_core_eligible    bool   whether Tensor Cores could serve its op, as told by the op's name
    uses_tensor_core        bool   whether it runs on Tensor Cores
    unit                    text   such as `16-bit Tensor Core`, `32-bit vector` or `64-bit vector`; empty unknown
    op_name                 text   the framework op that launched it, empty where the trace names none
    occurrences             int    how often it was executed
    total_time_us           float  time of all executions, with what ran inside
    avg_time_us             float  mean time of an execution
    min_time_us             float  the shortest execution
    max_time_us             float  the longest execution
    op_type                 text   the type of that op, empty without
hlo_ops: an op of an XLA program, devices before the host, most self time first
    rank                    int    the row, from 1
    program_id              int    of the program, -1 where the trace does not say
    module                  text   the program's name
    category                text   such as `convolution fusion`
    name                    text   of the instruction
    expression              text   the instruction as HLO text
    op_name                 text   the framework op it was compiled from, empty without
    op_type                 text   the type of that op, empty without
    device                  text   the side it ran on, `Device` or `Host`
    *self_times
    flops                   float  float operations of one execution; NaN where nothing is known [float operations]
    bytes_accessed          float  bytes that one execution reads and writes; NaN where nothing is known [bytes]
    flop_rate_gflops        float  arithmetic over total time; NaN where nothing is known
    memory_bandwidth_gibps  float  bytes accessed over total time; NaN where nothing is known
    source                  text   `file:line` that made it, empty where nothing tells
program_memory: a buffer of an XLA program that lives when the program holds most, by program, the largest first
    program_id              int    of the program
    module                  text   the program's name
    kind                    text   `temporary`, `parameter`, `output`, `constant`; `unused` for what nothing lives in
    bytes                   int    of the buffer
    peak_ratio              float  part of all buffers of the program
    name                    text   of the instruction that gives it
    expression              text   the instruction as HLO text
    op_name                 text   the framework op it was compiled from, empty without
    op_type                 text   the type of that op, empty without
    layer                   text   of the op, empty where nothing tells
    file                    text   with the line that made the op, empty where nothing tells
    line                    int    its number, 0 likewise
roofline: an op that ran on a GPU, most time first
    name                    text   of the HLO instruction, or of the op where no program was compiled
    op_name                 text   the framework op that it is most of
    layer                   text   the layer that it works for
    unit                    text   what most of its kernel time is on, as in `kernels`; empty unknown
    occurrences             int    how often it was executed
    time_us                 float  time of its kernels, and of copies within memory, all executions
    time_ratio              float  part of the time of all
    flops                   float  float operations of all executions; NaN where nothing is known [float operations]
    bytes                   float  that they read and write; NaN where nothing is known [bytes]
    known_ratio             float  part of `time_us` in which both are known
    flop_rate_tflops        float  float operations a second
    bandwidth_gbps          float  bytes a second
    intensity               float  float operations a byte
    mfu_ratio               float  float operations as part of what its units could do; of a step, in all of its time
    roof_ratio              float  time that the device needs at least, of the time taken; NaN where that is not known
    bound                   text   `compute` or `memory`; `cache` where it moved more than the memory could; empty unknown
layers: a Keras layer, or what is in none, by side, most self time first
    device                  text   the side it ran on, `Device` or `Host`
    layer                   text   its path in the model, or what the row stands for
    class_name              text   the layer's class, empty where it is not known
    kind                    text   `layer`, `loss`, `metrics`, `optimizer`, `input` or `other`
    forward_time_us         float  self time of its ops in the forward pass
    backward_time_us        float  the part that gradients take
    optimizer_time_us       float  the part that updates its variables
    other_time_us           float  the rest
    *costs
    *units
    allocated_bytes         int    allocated during the capture, on devices where any tells; on its first row only
    peak_bytes              int    in use at the peak of the device's allocator, else the fullest; on its first row only
source_lines: a line of your code, or what no line is charged with, by side, most self time first
    device                  text   the side it ran on, `Device` or `Host`
    file                    text   its path, or the title of a notebook's cell; empty for what is no line
    line                    int    its number, 0 for what is no line
    function                text   the function it is in
    code                    text   its text
    bucket                  text   what a row without a line stands for; empty for a line
    forward_time_us         float  self time of its ops but for gradients
    backward_time_us        float  the part that gradients take
    other_time_us           float  the rest
    *costs
    top_op                  text   its op with the most self time
scopes: a name scope by side, each after the one around it, the root first
    device                  text   the side it ran on, `Device` or `Host`
    scope                   text   its path, empty for the root
    name                    text   the last part of the path
    parent                  text   the scope around it, empty for a child of the root and for the root
    depth                   int    how many scopes are around it
    total_time_us           float  self time of all ops in the scope and below
    self_time_us            float  self time of the ops directly in it
    backward_time_us        float  the part of the total that gradients take
    total_time_ratio        float  the total as part of the root's
    n_ops                   int    ops in the scope and below
    occurrences             int    executions of those
variables: a variable of the program
    name                    text   of the variable
    shape                   object a tuple, -1 for an unknown size; None for an unknown shape
    dtype                   text   such as `float32`, empty where nobody says
    n_params                int    how many numbers it holds, 0 where that is not known
    bytes                   int    that they take, 0 where that is not known
    layer                   text   its path from the model, empty outside of any
    trainable               bool   whether an optimizer may change it
    device                  text   as TensorFlow names devices, empty for none
tree(view): a node of the tree, down first, the root first; figures are its own, `total_...` with all below it
    name                    text   of the scope, op, op type or line of code
    depth                   int    how far from the root
    parent                  int    its row, -1 of the root
    op                      int    number of the op, -1 where the node is none
    *figures
    total_*figures
    input_shapes            object shapes of the inputs of its own ops
    device                  text   devices of its own ops, apart by `|`
    op_types                object types of its own ops
overview.top_ops: an op that does not only wait for data, the most self time within the averaged steps first
    name                    text   of the op in its graph, or its type where it was run eagerly
    type                    text   such as `MatMul`
    device                  text   the side it ran on, `Device` or `Host`
    occurrences             int    how often it was executed
    self_time_ms            float  time without what ran inside
    self_time_ms_per_step   float  the mean of that a step [milliseconds]
    self_time_ratio         float  part of the self time of all such ops of the side
overview.tf_functions: a `tf.function` that was called
    function                text   its name
    compiler                text   `xla`, `other` or `mixed`, empty for eager calls alone
    tracing_count           int    how often it was traced since the process began
    eager_calls             int    calls that ran it as Python
    concrete_calls          int    calls of a concrete function
    traced_calls            int    calls that traced it
    not_traced_calls        int    calls that ran a graph that was there
    self_time_ms            float  time of all its calls, without those of other functions inside
    expensive_time_ms       float  the part of traced and eager calls
    expensive_ratio         float  that as part of the whole
advice_table: a piece of advice, the largest gain first
    rule                    text   the rule that gave it
    severity                text   `high`, `medium` or `low`
    title                   text   what to change, in a sentence
    gain_ratio              float  part of the step time that it could win at most
    fix                     text   what to do: words, and code that can be pasted
    view                    text   the view that shows it
""")


INPUT_TABLES = read_tables("""
input_pipeline.categories: a category of the host's time for input
    category                text   enqueueing, reading on demand or ahead, preprocessing, or other
    time_ms                 float  self time over all host threads, waiting for each other included
    ratio                   float  part of all categories
input_pipeline.ops: an input op, most self time first
    op                      text   its name
    count                   int    executions
    total_time_ms           float  with what ran inside
    total_time_ratio        float  part of all input ops
    self_time_ms            float  without what ran inside on its thread; it may wait for other threads meanwhile
    self_time_ratio         float  part of all input ops
    category                text   enqueueing, reading on demand or ahead, preprocessing, or other
    work_time_ms            float  without the iterators that it takes elements from; what its function ran counts
    waiting_time_ms         float  for those iterators, on whatever thread; with the work it is the total time
input_pipeline.steps: a training step
    step                    int    the row
    name                    text   of the mark, such as `train 3`
    host                    text   on which it ran
    start_ms                float  after the trace origin
    step_time_ms            float  how long it took; the categories add up to it
    input_ms                float  waiting for data, or copying it to the device
    input_ratio             float  that as part of the step's time
    is_averaged             bool   whether the averages of the overview count it
input_pipeline.hosts: a host with tf.data, the most input-bound first
    host                    text   its name
    n_pipelines             int    that ran on it
    n_calls                 int    of their roots
    n_slow_calls            int    of those over 50 µs
    total_time_ms           float  of those calls
    max_latency_us          float  the slowest call
    pipeline                int    row of the pipelines table of that call, -1 for none
    bottleneck              text   the iterator that held that call up
    long_name               text   the same with the iterators around it
    input_ratio             float  part of the time of the host's steps; NaN without any
input_pipeline.pipelines: a tf.data pipeline, in order of first use
    id                      int    the row
    name                    text   `Host:k` or `Device:k`
    host                    text   on which it ran
    is_device               bool   whether it feeds a device from another pipeline
    n_calls                 int    of its root
    n_slow_calls            int    of those over 50 µs
    total_time_ms           float  of those calls
    avg_latency_us          float  mean time of a call
    min_latency_us          float  the quickest call
    max_latency_us          float  the slowest call
    startup_time_ms         float  of first calls of an epoch, left out of what follows
    fill_time_ms            float  waited while a shuffle filled its buffer
    steady_latency_us       float  mean time of the other calls
    bottleneck              int    row of the iterators table, -1 for none
    bottleneck_name         text   its long name
    bottleneck_time_ms      float  how long the consumer waited for its own work
    suggestion              text   what to change; empty where the pipeline keeps up
    summary                 text   the pipeline in a sentence
input_pipeline.iterators: a tf.data iterator, a consumer before what it consumes
    id                      int    the row
    parent_id               int    row of the consumer, -1 for a root
    name                    text   such as `Map`
    long_name               text   with the iterators around it
    start_ms                float  of the first call, after the trace origin
    total_time_ms           float  of all calls
    self_time_ms            float  its work: all calls without those it waited for, on whatever thread
    calls                   int    how many
    is_async                bool   whether it works ahead of its consumer
    on_critical_path        bool   whether it was waited for in half of the root's time or more
    is_bottleneck           bool   whether it holds its pipeline up
    params                  object stats of its last call
    pipeline                int    row of the pipelines table
    wait_time_ms            float  for how long the root call waited for its own work, without first calls
    n_iterators             int    objects merged
    event_names             object names of their events
    fill_time_ms            float  of a shuffle: waited while it filled its buffer
    parallelism             float  as last seen; NaN where the trace does not tell
    buffer_size             float  as last seen; NaN where the trace does not tell
    is_autotuned            bool   whether tf.data chooses them
    settings                text   all of these in words
input_pipeline.executions: an execution of a pipeline, slowest first
    rank                    int    0 is the slowest
    start_ms                float  after the trace origin
    latency_us              float  how long it took
    is_slow                 bool   over 50 µs
    is_startup              bool   the first of an epoch
    bottleneck              int    row of the iterators table, -1 for none
    bottleneck_name         text   its long name
    bottleneck_time_us      float  how long the execution waited for its own work
    root_call               int    number of the call of the root
input_pipeline.execution: an iterator that took part in one execution of a pipeline
    *input_pipeline.iterators
""")


TABLES: dict[str, Table] = STEP_TABLES | OP_TABLES | MEMORY_TABLES | INPUT_TABLES | RUN_TABLES


def tell_columns(owner: type, prefix: str = "") -> None:
    """Add what a row is, and its columns, to the docstrings of the members of a class that give a table."""
    for name in dir(owner):
        table, member = TABLES.get(prefix + name), inspect.getattr_static(owner, name)
        if table is not None and member.__doc__ is not None:  # python -OO has no docstrings
            told = [f"A table: a row is {table.row}.", inspect.cleandoc(member.__doc__)]
            told = told if isinstance(member, property) else told[::-1]
            member.__doc__ = "\n\n".join([*filter(None, told), _listed(table)])


def _listed(table: Table) -> str:
    lines = [
        f"    {one.name} ({', '.join(filter(None, (one.kind, one.unit)))}): {one.meaning}" for one in table.columns
    ]
    return "\n".join(["Columns:", *lines])
