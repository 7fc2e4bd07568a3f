"""Tables of what ran: ops, kernels, ops of XLA programs, layers, source lines, scopes, variables, trees, advice."""

from __future__ import annotations

from .column import read_tables

TABLES = read_tables("""
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
