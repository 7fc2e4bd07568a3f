"""Tables over time: events, flows, steps, workers, what steps are made of, counters, samples of the machine."""

from __future__ import annotations

from .column import read_tables

TABLES = read_tables("""
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
    for one in TABLES["steps"].columns[TABLES["steps"].names.index("step_time_ms") + 1 :]
    if one.name.endswith("_ms")
}
"""What the time of a step goes to, and what that means."""
