"""Tables of the input: what of it the host did, pipelines and iterators of tf.data."""

from __future__ import annotations

from .column import read_tables

TABLES = read_tables("""
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
