/** Whether the training waits for data, for which part of the input, and what to change. */

import { type RangePs, rangeInPs } from "../../data/columns";
import type { AdviceMeta, IteratorNode, PipelineMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import {
  bottleneckOf,
  depthsOf,
  emptyStats,
  executionStats,
  executions,
  firstCallEnd,
  inputOps,
  inputWait,
  keepsUp,
  latencyOf,
  type NodeStats,
  namesOf,
  nodeStats,
} from "../../model/input";
import { cutNames } from "../../model/names";
import { type GraphBox, type PlacedBox, placeOpGraph } from "../../model/op_graph";
import { type Framework, frameworkOf } from "../../model/overview";
import { describeRange, perStep, scopeOf, stepsOfScope } from "../../model/range";
import {
  formatCount,
  formatInstant,
  formatMs,
  formatNumber,
  formatPercent,
  formatTime,
  plural,
  wrapCode,
} from "../../model/text";
import { labelList, labelled, type Pane, PaneSwitch } from "../../ui/controls";
import { copyButton, emptyState, h, inFrame, say, selectBox, svg, textFits, watchSize } from "../../ui/dom";
import { type CanvasListeners, GraphCanvas } from "../../ui/graph";
import { legendEntry } from "../../ui/share_bar";
import { ledgerPane } from "../../ui/table";
import { type TraceBuilder, type TraceView, toggleSelection } from "../../ui/view";
import {
  type InputOpRow,
  type InputScene,
  OP_LEDGER,
  PIPELINE_LEDGER,
  type PipelineRow,
  pipelineRow,
  WaitPane,
} from "./wait";

/** Of what was waited for, the part of the bottleneck; 0 where nothing was. */
function shareOfWait({ pipeline, range, rank, slow, stats }: InputScene): number {
  if (slow < 0) return 0;
  const isWhole = range === null && rank === null;
  const waits = isWhole ? pipeline.nodes.map((node) => node.wait_time_ms ?? 0) : stats.waitPs;
  let sum = 0;
  for (const wait of waits) sum += wait;
  return sum > 0 ? waits[slow] / sum : 0;
}

interface IteratorCost extends Readonly<Record<"total" | "calls" | "nBatches" | "scale", number>> {
  /** Sums in ps and calls. */
  readonly self: number;
  /** When the first call of one execution began (Infinity where it has none); null for an average of many. */
  readonly startPs: number | null;
}

/** Boxes narrower than this have no room for the calls beside the work. */
const CALLS_FROM_PX = 112;

function nodeBox(
  node: IteratorNode,
  { name, isCritical, isSlow, share }: { name: string; isCritical: boolean; isSlow: boolean; share: number },
  cost: IteratorCost,
  place: PlacedBox,
  fits: (text: string) => boolean,
): SVGGElement {
  const batch = perBatch(cost);
  const parts = boxParts(name, cutNames([paramText(node)], fits).get(paramText(node)) ?? "", cost, place);
  if (isSlow)
    parts.push(svg("text.b", { y: -5 }, `Bottleneck${share > 0 ? `: ${formatPercent(share)} of the wait` : ""}`));
  // A name that holds all that can be read in the box, in that order; without the blanks its texts run into each other.
  for (const part of parts) if (part.textContent) part.append(" ");
  return svg(
    "g",
    {
      class: `tfp-node${isCritical ? " critical" : " aside"}${isSlow ? " bottleneck" : ""}`,
      transform: `translate(${place.x} ${place.y + LABEL_PX})`,
      role: "button",
      "aria-label": [boxLines(node, cost).join("\n"), ...parts.map((part) => part.textContent)].join(" "),
      "aria-description": `${spoken(batch)}, ${formatCalls(batch.calls)} calls a batch`,
      "data-op-name": node.long_name,
    },
    ...parts,
  );
}

function boxLines(node: IteratorNode, cost: IteratorCost): string[] {
  const sums = `${spoken(cost)}, ${plural(cost.calls, "call")}`;
  return [node.long_name, paramText(node), sums, started(cost)].filter(Boolean);
}

function started({ startPs }: IteratorCost): string {
  if (startPs === null) return "";
  return Number.isFinite(startPs) ? `from ${formatInstant(startPs, 1e6)}` : "not called";
}

type BatchCost = Pick<IteratorCost, "self" | "total" | "calls">;

function perBatch({ self, total, calls, nBatches }: IteratorCost): BatchCost {
  const per = Math.max(1, nBatches);
  return { self: self / per, total: total / per, calls: calls / per };
}

function spoken({ self, total }: BatchCost): string {
  return `work ${formatTime(self)}, waiting for its inputs ${formatTime(Math.max(0, total - self))}, total ${formatTime(total)}`;
}

function boxParts(name: string, settings: string, cost: IteratorCost, place: PlacedBox): SVGElement[] {
  const { self, total, calls } = perBatch(cost);
  const [width, height] = [place.width, place.height - LABEL_PX];
  const bar = self > 0 ? Math.max(1, ((width - 16) * self) / cost.scale) : 0;
  const parts = [
    svg("rect.ground", { width, height }),
    svg("text.b", { x: 8, y: 17 }, name),
    svg("text.q", { x: 8, y: 30 }, settings),
    svg("text", { x: 8, y: 46 }, `${formatTime(self)} work`),
    svg("text.q", { x: 8, y: 59 }, `${formatTime(total)} total`),
    svg("text.q", { x: 8, y: 72 }, started(cost)),
    svg("rect.track", { x: 8, y: height - 18, width: width - 16, height: 8 }),
    svg("rect.self", { x: 8, y: height - 18, width: bar, height: 8 }),
  ];
  if (width <= CALLS_FROM_PX) return parts;
  return [...parts, svg("text.q", { x: width - 7, y: 46, "text-anchor": "end" }, `${formatCalls(calls)} ×`)];
}

function formatCalls(calls: number): string {
  return Number.isInteger(calls) || calls >= 100 ? formatCount(calls) : formatNumber(calls, 2);
}

function paramText({ params, settings, is_async: isAsync }: IteratorNode): string {
  const words: string[] = isAsync ? ["runs ahead"] : [];
  if (typeof settings === "string") words.push(settings);
  else if (typeof params === "string") words.push(params);
  else if (params !== null && typeof params === "object") {
    for (const [key, value] of Object.entries(params)) words.push(`${key.replaceAll("_", " ")} ${String(value)}`);
  }
  return words.filter(Boolean).join(", ");
}

function legend(): HTMLElement {
  const aside = legendEntry(h("i.tfp-path.aside"), "not critical");
  return h("span.tfp-keys.opt", legendEntry(h("i.tfp-path"), "critical path"), aside);
}

const NODE_PX = { least: 92, most: 168, height: 84 };
const GAP_PX = { gapX: 24, gapY: 4 };
/** Of the time at which an execution called it. */
const LINE_PX = 13;
/** Above each box, for what is said of the bottleneck. */
const LABEL_PX = 18;
/** Of an arrow on the critical path, as of many. */
const CRITICAL_N = 16;

export class GraphPane {
  readonly element: HTMLElement;
  readonly #say = h("span.tfp-say", { role: "status" });
  readonly #canvas: GraphCanvas;
  #scene: InputScene | null = null;
  /** What was brought into sight last; where the reader moved stays until something else is to be seen. */
  #revealed = "";

  constructor(readonly view: TraceView) {
    const { signal, link } = view;
    const pick = (box: GraphBox) => toggleSelection(link, this.#namesOf(box));
    const onKey = (key: string, box: GraphBox) => {
      if (key !== "Enter" && key !== " ") return false;
      pick(box);
      return true;
    };
    const listeners: CanvasListeners = {
      ...{ onClick: pick, onKey, onHover: (box) => link.setHover(box ? this.#namesOf(box)[0] : "") },
      tip: ({ id }) => {
        const [title, ...lines] = boxLines(this.#nodes[id - 1], this.#cost(id - 1));
        return { title, lines };
      },
      arrowTitle: ({ isControl }) => (isControl ? "not critical" : "critical path"),
    };
    this.#canvas = new GraphCanvas(listeners, signal);
    const head = h("div.line", this.#say, h("span.sp"), legend(), this.#canvas.zooms);
    this.element = h("div.tfp-pane", head, this.#canvas.element);
    link.on("selection", () => this.#mark(), signal);
    link.on("hover", () => this.#canvas.setHover((box) => this.#namesOf(box).includes(link.hover)), signal);
    watchSize(
      this.#canvas.element,
      signal,
      inFrame(() => this.#scene && this.show(this.#scene), signal),
    );
  }

  get #nodes(): readonly IteratorNode[] {
    return this.#scene?.pipeline.nodes ?? [];
  }
  #namesOf({ id }: GraphBox): readonly string[] {
    return namesOf(this.#nodes[id - 1]);
  }
  get #batchPs(): number {
    const { stats, nBatches, root } = this.#scene as InputScene;
    return nBatches > 0 ? stats.totalPs[root] / nBatches : 0;
  }
  get #scale(): number {
    const { stats, nBatches } = this.#scene as InputScene;
    return Math.max(this.#batchPs, ...Array.from(stats.selfPs, (ps) => (nBatches > 0 ? ps / nBatches : 0)), 1);
  }
  #cost(i: number): IteratorCost {
    const { stats, nBatches, rank } = this.#scene as InputScene;
    const startPs = rank === null ? null : stats.startPs[i];
    const sums = { self: stats.selfPs[i], total: stats.totalPs[i], calls: stats.calls[i] };
    return { ...sums, startPs, nBatches, scale: this.#scale };
  }

  show(scene: InputScene): void {
    this.#scene = scene;
    const { stats, slow, isCritical, root, index, rank } = scene;
    const nodes = this.#nodes;
    this.#sayWhat(scene, this.#batchPs, this.#scale);
    const inside = { kind: "op", inside: 0, isOpen: false, chain: [], nOps: 1 } as const;
    const boxes = nodes.map((_, i) => ({ ...inside, id: i + 1, value: stats.selfPs[i] }));
    const arrows = nodes.flatMap(({ parent }, i) => {
      const isOn = isCritical[i] && isCritical[parent];
      return parent < 0 ? [] : [{ from: i + 1, to: parent + 1, n: isOn ? CRITICAL_N : 1, isControl: !isOn }];
    });
    const room = this.#canvas.element.clientWidth || 900;
    const nColumns = 1 + Math.max(0, ...depthsOf(nodes.map(({ parent }) => parent)));
    const width = Math.max(NODE_PX.least, Math.min(NODE_PX.most, (room - 24) / nColumns - GAP_PX.gapX));
    const height = NODE_PX.height + LABEL_PX + (rank === null ? 0 : LINE_PX);
    const cut = { boxes, arrows, nMerged: 0, nArrows: arrows.length };
    this.#canvas.set(boxes, placeOpGraph(cut, { width, height, ...GAP_PX }));
    const cuts = cutNames(
      nodes.map(({ name }) => name),
      textFits(this.view.root, width - 18),
    );
    const fits = textFits(this.view.root, width - 12);
    this.#canvas.paint(({ id }, place) => {
      const node = nodes[id - 1];
      const look = { name: cuts.get(node.name) ?? node.name, isCritical: isCritical[id - 1], isSlow: id - 1 === slow };
      return nodeBox(node, { ...look, share: shareOfWait(scene) }, this.#cost(id - 1), place, fits);
    });
    this.#canvas.describe(summary(scene, this.#batchPs));
    this.#mark();
    const key = `${index} ${rank} ${slow} ${room}`;
    if (key !== this.#revealed) this.#canvas.start(boxes[slow >= 0 ? slow : root]);
    this.#revealed = key;
  }

  #sayWhat(scene: InputScene, batchPs: number, scale: number): void {
    const { data } = this.view;
    const { range, rank, ranked, nBatches, startupPs } = scene;
    const about = range === null ? "" : ` in ${describeRange(data.meta, data.table("steps"), range)}`;
    const where = h("span.tfp-about", about);
    if (nBatches === 0) {
      this.#say.replaceChildren(h("b", "No batch was fetched", where, "."), " Clear the range to see all.");
      this.#say.title = "";
      return;
    }
    const bars = `Bars: work, on a common scale of ${formatTime(scale)}.`;
    if (rank !== null) {
      const lead = h("b", `Execution of rank ${rank}, of ${formatCount(ranked.length)}`, where, ":");
      const begins = Number.isFinite(scene.stats.startPs[scene.root]) ? scene.stats.startPs[scene.root] : 0;
      say(this.#say, lead, ` ${formatTime(batchPs)}, from ${formatInstant(begins, 1e6)} on. ${bars}`);
    } else {
      const left = startupPs > 0 ? ` Left out: the first, ${formatTime(startupPs)} to start.` : "";
      const lead = h("b", `One batch, on average of ${formatCount(nBatches)}`, where, ":");
      say(this.#say, lead, ` ${formatTime(batchPs)} from source to step. ${bars}${left}`);
    }
  }

  #mark(): void {
    const chosen = new Set(this.view.link.selection);
    this.#canvas.setPressed((box) => this.#namesOf(box).some((name) => chosen.has(name)));
  }
}

function summary({ pipeline, nBatches, slow }: InputScene, batchPs: number): string {
  const { nodes, name } = pipeline;
  const bottleneck = slow >= 0 ? `, bottleneck ${nodes[slow].name}` : "";
  return `Input pipeline ${name}: ${plural(nodes.length, "iterator")}, ${formatTime(batchPs)} a batch over ${formatCount(nBatches)} batches${bottleneck}. Arrow keys move between iterators, Enter selects.`;
}

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
  const words = card ? [card.title, card.fix.words] : [];
  const code = card?.fix.code;
  const parts = opening(scene, verdict);
  // The card is about the bottleneck of the whole capture.
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
  const isWhole = scene.rank === null && scene.range === null;
  if (isWhole && typeof least === "number" && typeof most === "number" && most > 0) {
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
  readonly #pipelines: HTMLSelectElement;
  readonly #ranks: HTMLSelectElement;

  constructor(readonly view: TraceView) {
    const { signal, link, data } = view;
    this.#index = slowest(data.meta.pipelines);
    const make = (pane: PaneName) => this.#make(pane);
    const label = "Part of the analysis";
    this.#panes = new PaneSwitch(label, CHOICES, "graph", make, () => this.#update(), "Save the rows shown", signal);
    const { control, csvButton, element } = this.#panes;
    this.#pipelines = selectBox("Pipeline", signal, (value) => this.#choosePipeline(Number(value)));
    this.#ranks = selectBox("Execution", signal, (value) => {
      this.#rank = value === "" ? null : Number(value);
      this.#update();
    });
    this.#ranks.title = "Executions of the pipeline, longest first";
    const bar = h("div.bar", this.#pipelines, this.#ranks, h("span.sp"), control, csvButton);
    view.root.append(h("div.tfp-split", h("div", bar, element), this.#aside));
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

  get #calls(): Table {
    return this.view.data.table("iterator_calls") ?? EMPTY_TABLE;
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
    const range = rangeInPs(this.view.link.timeRange, this.view.data.table("steps"));
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
    const shown = { index: this.#index, pipeline, root, range, scope, ranked, rank };
    return { ...shown, stats, nBatches, startupPs, isCritical, slow, kept };
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
    if (range !== null || calls.n > 0)
      return { stats: nodeStats(calls, this.#index, nodes.length, range), startupPs: 0 };
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
    const choices = pipelines.map((pipeline, i) => {
      const text = `${pipeline.name} · ${pipeline.nodes[rootIndex(pipeline)]?.long_name ?? ""}`;
      return h("option", { value: i, selected: i === this.#index }, text);
    });
    this.#pipelines.replaceChildren(...choices);
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

function rootIndex({ nodes }: PipelineMeta): number {
  const root = nodes.findIndex((node) => node.parent < 0);
  return Math.max(0, root);
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
    if (view.data.meta.pipelines?.length) new InputView(view);
    else view.root.append(noPipelines(frameworkOf(view.data.meta), view.signal));
  },
  needs: ["pipelines", "iterator_calls", "steps", "step_totals"],
  forRange: ["occurrences"],
  about: "pipelines",
  atHost: "rebuilt",
};
