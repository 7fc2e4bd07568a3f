/** Whether the training waits for data, for which part of the input, and what to change. */

import type { AdviceMeta, PipelineMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import type { RangePs } from "../../data/time";
import {
  bottleneckOf,
  emptyStats,
  executionStats,
  executions,
  firstCallEnd,
  inputOps,
  inputWait,
  keepsUp,
  latencyOf,
  type NodeStats,
  nodeStats,
} from "../../model/input";
import { type Framework, frameworkOf } from "../../model/overview";
import { perStep, rangeInPs, scopeOf, stepsOfScope } from "../../model/range";
import { formatCount, formatMs, formatTime, plural, wrapCode } from "../../model/text";
import { labelList, labelled, type Pane, PaneSwitch } from "../../ui/controls";
import { copyButton, emptyState, h, inFrame, on } from "../../ui/dom";
import { ledgerPane } from "../../ui/table";
import { type TraceBuilder, type TraceView, toggleSelection } from "../../ui/view";
import { GraphPane, type InputScene } from "./graph";
import { type InputOpRow, OP_LEDGER, PIPELINE_LEDGER, type PipelineRow, pipelineRow, WaitPane } from "./wait";

const CODE_CHARACTER_PX = 6.65;
const CODE_PADDING_PX = 16;

interface Finding {
  readonly scene: InputScene;
  readonly nPipelines: number;
  /** Whether the training waits for data at all, in one sentence about the whole capture. */
  readonly verdict: string;
  /** Of what to change in the run what is about its input: then that is the fix here, too. */
  readonly card: Pick<AdviceMeta, "title" | "fix"> | undefined;
}

function showAdvice(aside: HTMLElement, finding: Finding, signal: AbortSignal): void {
  const { scene, verdict, card } = finding;
  const { bottleneck } = scene.pipeline;
  const words = card ? [card.title, card.fix.words] : [scene.pipeline.suggestion];
  const code = card?.fix.code;
  const parts = opening(scene, verdict);
  // The suggestion is about the bottleneck of the whole capture.
  if (scene.kept === null && (scene.slow < 0 || scene.slow === (bottleneck ?? -1))) {
    parts.push(...words.filter(Boolean).map((text) => h("p", text)));
    if (code) {
      const copy = copyButton("Copy the fix", () => code, signal);
      parts.push(h("pre", wrapCode(code, codeColumns(aside))), h("p", copy));
    }
  }
  aside.replaceChildren(...parts, facts(finding));
}

/** First what is shown: of a range its own finding, of the whole capture the verdict. */
function opening(scene: InputScene, verdict: string): HTMLElement[] {
  const found = headline(scene);
  if (!verdict) return [h("h3", found)];
  if (scene.range === null) return [h("h3", verdict), ...(scene.kept === null ? [h("p", found)] : [])];
  return [h("h3", found), h("p.q", `The whole capture: ${verdict}`)];
}

function headline({ pipeline, rank, range, slow, stats, nBatches, kept }: InputScene): string {
  if (kept !== null) return `The input keeps up here: it costs ${formatMs(kept.ms)} of a step.`;
  if (slow < 0) return "No iterator of this pipeline kept a step waiting.";
  const { name } = pipeline.nodes[slow];
  const wait = formatTime(stats.waitPs[slow] / Math.max(1, nBatches));
  if (rank !== null) return `${name} held this execution up: waited ${wait} for its own work.`;
  if (range !== null) return `${name} is the slowest here: ${wait} of waiting a batch.`;
  return pipeline.summary || `${name} is the bottleneck: ${wait} a batch.`;
}

function facts({ scene, nPipelines }: Finding): HTMLElement {
  const { pipeline, root, stats, nBatches } = scene;
  const list = labelList("tfp-kv", "Figures of the pipeline");
  const fact = (label: string, text: string) => list.append(labelled(label, [text]));
  if (nPipelines > 1) fact("pipeline", `${pipeline.name} on ${String(pipeline.host ?? "this host")}`);
  const batches = nBatches === 1 ? "batch" : "batches";
  fact("fetched", `${formatCount(nBatches)} ${batches} in ${formatTime(stats.totalPs[root])} of the fetching thread`);
  const { min_latency_us: least, max_latency_us: most, n_slow_calls: nSlow } = pipeline;
  if (
    scene.rank === null &&
    scene.range === null &&
    typeof least === "number" &&
    typeof most === "number" &&
    most > 0
  ) {
    const more = scene.startupPs > 0 ? ", with the first" : "";
    fact("each", `${formatTime(least * 1e6)} to ${formatTime(most * 1e6)}${more}`);
    if (typeof nSlow === "number") fact("> 50 µs", `${formatCount(nSlow)}${more}`);
  }
  if (scene.slow >= 0) fact("long name", pipeline.nodes[scene.slow].long_name);
  return list;
}

function codeColumns(aside: HTMLElement): number {
  const padding = Number.parseFloat(getComputedStyle(aside).paddingLeft || "0") + CODE_PADDING_PX;
  return Math.max(16, Math.floor(((aside.clientWidth || 292) - padding) / CODE_CHARACTER_PX));
}

const CHOICES = [
  { value: "graph", text: "Graph" },
  { value: "waiting", text: "Waiting" },
  { value: "ops", text: "Input ops" },
  { value: "pipelines", text: "Pipelines" },
] as const;
type PaneName = (typeof CHOICES)[number]["value"];

/** What tf.data puts around a pipeline itself: nothing to speed up. */
const WRAPPERS: readonly string[] = ["Root", "Model"];

const MAX_RANKS = 200;

class InputView {
  #index = 0;
  /** Place among the executions of the range, longest first; null for the average. */
  #rank: number | null = null;
  readonly #panes: PaneSwitch<PaneName, InputScene>;
  readonly #aside = h("aside", { tabindex: 0, "aria-label": "What to change" });
  readonly #pipelines = h("select", { "aria-label": "Pipeline" });
  readonly #ranks = h("select", { "aria-label": "Execution", title: "Executions of the pipeline, longest first" });

  constructor(readonly view: TraceView) {
    const { signal, link, data } = view;
    this.#index = slowest(data.meta.pipelines);
    const make = (pane: PaneName) => this.#make(pane);
    const label = "Part of the analysis";
    this.#panes = new PaneSwitch(label, CHOICES, "graph", make, () => this.#update(), "Save the rows shown", signal);
    const { control, csvButton, element } = this.#panes;
    const bar = h("div.bar", this.#pipelines, this.#ranks, h("span.sp"), control, csvButton);
    view.root.append(h("div.tfp-split", h("div", bar, element), this.#aside));
    this.#listen(this.#pipelines, (value) => this.#choosePipeline(Number(value)));
    this.#listen(this.#ranks, (value) => {
      this.#rank = value === "" ? null : Number(value);
      this.#update();
    });
    const update = inFrame(() => this.#update(), signal);
    const begin = () => {
      this.#rank = null;
      update();
    };
    for (const field of ["time_range", "whole_capture"] as const) link.on(field, begin, signal);
    data.onTables(update, signal, ["iterator_calls", "occurrences", "steps"]);
    this.#panes.choose("graph");
    void data.ready(["advice"]).then(update); // it may come late
  }

  get #range(): RangePs {
    return rangeInPs(this.view.link.timeRange, this.view.data.table("steps"));
  }

  get #calls(): Table {
    return this.view.data.table("iterator_calls") ?? EMPTY_TABLE;
  }

  #listen(select: HTMLSelectElement, onValue: (value: string) => void): void {
    on(select, this.view.signal, { change: () => onValue(select.value) });
  }

  #choosePipeline(index: number): void {
    this.#index = index;
    this.#rank = null;
    this.#update();
  }

  #make(pane: PaneName): Pane<InputScene> {
    if (pane === "graph") return new GraphPane(this.view);
    if (pane === "waiting") return new WaitPane(this.view);
    return pane === "ops" ? this.#ops() : this.#summary();
  }

  #ops(): Pane<InputScene> {
    const { link, data } = this.view;
    const options = {
      ...OP_LEDGER,
      onPick: ({ name }: InputOpRow) => toggleSelection(link, [name]),
      isSelected: ({ name }: InputOpRow) => link.selection.includes(name),
    };
    const rows = ({ scope }: InputScene) =>
      inputOps(data.meta, data.table, scope).map((row, i) => ({ ...row, key: String(i) }));
    return ledgerPane(this.view, options, rows, ({ length }, { scope }) => {
      const each = (title: string) => perStep(title, stepsOfScope(data.table("steps"), scope));
      const times = { work: each("Work, ms"), waiting: each("Waiting, ms"), total: each("Total, ms") };
      return { name: plural(length, "input op"), count: each("Count"), ...times };
    });
  }

  #summary(): Pane<InputScene> {
    const options = {
      ...PIPELINE_LEDGER,
      onPick: ({ index }: PipelineRow) => this.#choosePipeline(index),
      isSelected: ({ index }: PipelineRow) => index === this.#index,
    };
    const rows = ({ range }: InputScene) =>
      this.view.data.meta.pipelines.map((pipeline, i) =>
        pipelineRow(pipeline, i, latencyOf(this.#calls, executions(this.#calls, i, range))),
      );
    return ledgerPane(this.view, options, rows, ({ length }) => ({ name: plural(length, "pipeline") }));
  }

  #scene(): InputScene {
    const pipeline = this.view.data.meta.pipelines[this.#index];
    const root = rootIndex(pipeline);
    const range = this.#range;
    const scope = scopeOf(this.view.link, this.view.data.table);
    const ranked = executions(this.#calls, this.#index, range);
    // The other panes are about the whole range, and so is then what is said beside them.
    const isOne = this.#panes.chosen === "graph" && this.#rank !== null && this.#rank < ranked.length;
    const rank = isOne ? this.#rank : null;
    const { stats, startupPs } = this.#stats(pipeline, root, range, rank === null ? -1 : ranked[rank]);
    const isWhole = range === null && rank === null;
    const isCritical = pipeline.nodes.map((node, i) =>
      rank === null ? node.on_critical_path : stats.isBlocking[i] === 1,
    );
    const works = isCritical.map((critical, i) => critical && !WRAPPERS.includes(pipeline.nodes[i].name));
    const wait = inputWait(this.view.data.table("steps") ?? EMPTY_TABLE, range);
    // Of one execution the slowest part is asked for, however short it was.
    const kept = rank === null && keepsUp(wait) ? wait : null;
    const longest = isWhole ? (pipeline.bottleneck ?? -1) : bottleneckOf(stats.waitPs, works);
    const slow = kept === null ? longest : -1;
    const nBatches = rank === null ? stats.calls[root] : 1;
    return {
      index: this.#index,
      pipeline,
      root,
      range,
      scope,
      ranked,
      rank,
      stats,
      nBatches,
      startupPs,
      isCritical,
      slow,
      kept,
    };
  }

  /** Of one execution; else sums over the range; over the whole capture without the first fetch, which starts the pipeline. */
  #stats(pipeline: PipelineMeta, root: number, range: RangePs, rootCall: number) {
    const { nodes } = pipeline;
    const calls = this.#calls;
    const startMs = Number(pipeline.startup_time_ms ?? 0);
    if (rootCall >= 0) return { stats: executionStats(calls, nodes.length, rootCall), startupPs: 0 };
    if (range === null && startMs > 0) {
      const from = firstCallEnd(calls, this.#index, root);
      const stats = nodeStats(calls, this.#index, nodes.length, [from, Number.POSITIVE_INFINITY]);
      if (stats.calls[root] > 0) return { stats, startupPs: startMs * 1e9 };
    }
    if (range !== null || calls.n > 0) {
      return { stats: nodeStats(calls, this.#index, nodes.length, range), startupPs: 0 };
    }
    const stats: NodeStats = {
      ...emptyStats(nodes.length),
      calls: Float64Array.from(nodes, (node) => node.calls),
      totalPs: Float64Array.from(nodes, (node) => node.total_time_ms * 1e9),
      selfPs: Float64Array.from(nodes, (node) => node.self_time_ms * 1e9),
    };
    return { stats, startupPs: 0 };
  }

  #update(): void {
    const scene = this.#scene();
    this.#fillSelectors(scene);
    this.#panes.pane.show(scene);
    const { pipelines, input, advice } = this.view.data.meta;
    const card = advice?.find(({ rule }) => rule === "input_bound");
    const found = { scene, nPipelines: pipelines.length, verdict: input?.verdict ?? "", card };
    showAdvice(this.#aside, found, this.view.signal);
  }

  #fillSelectors({ ranked, rank }: InputScene): void {
    const { pipelines } = this.view.data.meta;
    this.#pipelines.hidden = pipelines.length < 2;
    this.#pipelines.replaceChildren(
      ...pipelines.map((pipeline, i) => {
        const text = `${pipeline.name} · ${pipeline.nodes[rootIndex(pipeline)]?.long_name ?? ""}`;
        return h("option", { value: i, selected: i === this.#index }, text);
      }),
    );
    const duration = this.#calls.columns.duration_ps as Float64Array | undefined;
    const options = ranked.slice(0, MAX_RANKS).map((row, i) => {
      const text = `rank ${i} · ${formatTime(duration?.[row] ?? 0)}`;
      return h("option", { value: i, selected: i === rank }, text);
    });
    const average = h("option", { value: "", selected: rank === null }, `average of ${formatCount(ranked.length)}`);
    const rest = h("option", { disabled: true }, `${MAX_RANKS} longest of ${formatCount(ranked.length)}`);
    this.#ranks.hidden = ranked.length === 0 || this.#panes.chosen !== "graph";
    this.#ranks.replaceChildren(average, ...options, ...(ranked.length > MAX_RANKS ? [rest] : []));
  }
}

function rootIndex(pipeline: PipelineMeta): number {
  return Math.max(
    0,
    pipeline.nodes.findIndex((node) => node.parent < 0),
  );
}

function slowest(pipelines: readonly PipelineMeta[]): number {
  const time = pipelines.map((pipeline) => pipeline.nodes[rootIndex(pipeline)]?.total_time_ms ?? 0);
  return time.indexOf(Math.max(...time));
}

const TF_DATA_CODE =
  "dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).prefetch(tf.data.AUTOTUNE)\nmodel.fit(dataset)";

function noPipelines(framework: Framework, signal: AbortSignal): HTMLElement {
  const isOwn = framework === "TensorFlow";
  const reason = isOwn
    ? "No tf.data iterator ran while the capture was on. Feed the model from a tf.data pipeline to see what each stage costs:"
    : `${framework} records no input pipeline. What reads and prepares data is part of Python's time.`;
  const code = isOwn ? TF_DATA_CODE : "";
  return emptyState("No input pipeline in this capture", reason, code, signal);
}

export const inputGraph: TraceBuilder = {
  name: "input_graph",
  build(view) {
    if (!view.data.meta.pipelines?.length) {
      view.root.append(noPipelines(frameworkOf(view.data.meta), view.signal));
      return;
    }
    new InputView(view);
  },
  needs: ["pipelines", "iterator_calls", "steps", "step_totals"],
  forRange: ["occurrences"],
  about: "pipelines",
  isRebuilt: true,
};
