"""Analysis: a trace -> frozen results that hold DataFrames; one question per file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import first_use

# fmt: off
if TYPE_CHECKING:
    from . import card
    from .advice import input_rules, rules, run
    from .card import (
        Advice, Fix, Highlight, Rule, UserCall, advise, is_of_model, named,
        only_call, FoundAdvice, ranked, remark, rewritten, why_it_does_not_run,
    )
    from .advice.calls import trace_cause
    from .advice.facts import VISIBLE
    from .advice.host import batch_factor
    from .advice.input_rules import HIDDEN_BY_PREFETCH
    from .advice.rules import RULES, advice_table, find_advice, fitting
    from .advice.input_stages import COPIES_US, STAGES, sequential_words, stage_of
    from .advice.run import MappedFunction, Run, mapped_function
    from .attribution import drawn_rows
    from .common import (
        PS_PER_MS, PS_PER_US, amount, dense_codes, ends, head, median_and_interval, milliseconds, moments_of,
        number, percent, plural, tail_of_text, two_sided,
    )
    from .comparison.changes import (
        BUSY_MACHINE, CommonChange, FEWEST_CELLS, FEWEST_ROWS, Measured, Pace, StepEffect, UNCHANGED, common_change,
        compare_steps, measure, middle_mean, samples_per_step, step_effect,
    )
    from .comparison.comparison import RunDiff
    from .comparison.rows import (
        MAX_DEPTH, MAX_SIBLINGS, MOST_CELLS, Quantities, numbered, pair_lines, pair_names, pair_stages, run_cells,
        without_counters,
    )
    from .comparison.words import notices, since_last, verdict_of
    from .events import compute_events, compute_launches, framework_of, pool_links, program_calls
    from .experiments import (
        batch_sizes_sentence, changes_sentence, input_only_sentence,
        input_or_model_sentence, rate_table, run_frame, saved_ratio, saving_sentence, synthetic_sentence,
    )
    from .facts import Facts
    from .graph import options
    from .graph.nodes import NO_STACK, forward_name
    from .graph.op_graph import GRADIENT, TRAINABLE, name_ops
    from .graph.options import DETAILS, FIGURES, TreeOptions, TreeView, VIEWS, make_tree_options
    from .graph.tree import ShownStructure, Tree, build_tree, compute_shown_structure, framework_ops
    from .grouping import ComputeUnit, Grouping, N_UNITS, UNIT_RATIOS, group_events
    from .hosts.hosts import HostFacts, compute_environment, median_of_others, not_training, roles
    from .hosts.workers import Workers, compute_stragglers
    from .idle import idle_times, kernel_events, launch_calls
    from .input.iterators import enqueue_times, input_categories, input_category, input_ops, input_work
    from .input.pipeline import InputPipeline, compute_input_pipeline, limits_steps
    from .input.tf_data import TfData, compute_tf_data
    from .layers import ops_of_graph, scopes
    from .layers.layers import ENTRY_COLUMNS, Layers, PHASES, UNATTRIBUTED, compute_layers
    from .layers.ops_of_graph import match_ops
    from .layers.scopes import MAX_SCOPE_DEPTH, OpScopes, Scopes, compute_scopes, op_scopes, unwrapped
    from .machine import MOST_DIPS, MachineLoad, find_anomalies
    from .many_hosts import HostFile, host_file_list, reduce_file
    from .memory.growth import MemoryGrowth
    from .memory.memory import MemoryProfile, compute_memory, memory_by_op, is_of_host, judge_memory
    from .memory.moments import MOST_BYTES, OF_OTHER_STEPS
    from .names import (
        COMPILATION, OpCategory, by_ends, by_name, by_stem, framework_op, once, only_waits, parse_op_names,
        parsed_names,
    )
    from .ops.executions import Occurrences, op_occurrences, unit_of_name
    from .ops.kernels import Kernels, Launch, kernel_sums, OTHER_KERNELS, is_eligible_type, parse_launch
    from .ops.ops import (
        UnitSums, IDLE, OPS_COLUMNS, OpSums, aggregate_ops, by_type,
    )
    from .ops.other import OTHER_COPIES, compute_tf_functions, hlo_op_graph
    from .ops.shares import FAMILIES, families, hlo_families, op_families
    from .out_of_memory.failure import MemoryFailure, failure_alone
    from .out_of_memory.what_held import Progress, estimate_batch, parse_failure
    from .overview import IN_BROWSER, Overview, input_words
    from .places import (
        FrameTable, KERAS, KERAS_LOSS, KERAS_OPTIMIZER, TENSORFLOW, TF_DATA, UserFiles, bucket_of_file, frame_places,
    )
    from .hosts.workers import OTHER_EXCHANGES
    from .advice import of_hosts
    from .analysis import Analysis, merge_hosts
    from .summaries import HostSummary, MOST, OTHER_OPS, PackedFrame, Stack
    from .summarizing import summarize_host
    from .advice.of_hosts import HostAdvice, host_advice, merge_advice
    from .roofline import Peaks, Roofline, of_other_width, peaks_of
    from .part import Selection, select
    from .source import (
        EAGER_SEVERAL, EAGER_UNKNOWN, LINE_PHASES, NOT_TRACED, SEVERAL_LINES, SourceLines,
        compute_source_lines, sampled_frames, sampled_lines,
    )
    from .steps.categories import (
        CATEGORY_CODE, CATEGORY_LABELS, GUIDE_CATEGORIES, HostWork, Part, STEP_CATEGORIES, Waits, charge,
        tpu_span_types,
    )
    from .steps.spans import Pieces, choose_steps, distinct_names, kinds_of, on_stream, resolve
    from .steps.steps import (
        CATEGORIES, CaptureSummary, Steps, compute_steps, fetches_in_a_loop, guide_of, measure_interference, step_sentence,
    )
    from .table import Column, Sent, TABLES, Table, TableProperty, read_tables
    from .timeline import Flows, KINDS, compute_flows, flow_table
    from .verdict import Idle, idle_of, judge
    from .watching.anomalies import Anomaly, AnomalyFinder, Machine
    from .watching.outcome import BIN_COLUMNS, StepBins, outcome_of
    from .xla.programs import GraphsSwitchedOff, HloGraph, HloGraphs, estimate_costs, graphs_switched_off
# fmt: on

__getattr__, __dir__ = first_use(__name__)
