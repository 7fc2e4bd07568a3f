"""Tables of the memory, by allocator, and of what held it when it ran out."""

from __future__ import annotations

from .column import read_tables

TABLES = read_tables("""
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

ALLOCATOR = TABLES["memory.summary"].columns[0]
"""The column that tells the tables of several allocators apart where they are one."""
