/** Whether the training waits for data, for which part of the input, and what to change. */

import { type RangePs, rangeInPs } from "../../data/columns";
import type { AdviceMeta, IteratorNode, PipelineMeta } from "../../data/meta";
import { EMPTY_TABLE, type Table } from "../../data/pack";
import {
  bottleneckOf,
  emptyStats,
  executionStats,
  executions,
  firstCallEnd,
  type GraphSize,
  inputOps,
  inputWait,
  keepsUp,
  latencyOf,
  type NodeStats,
  namesOf,
  nodeStats,
  type Placed,
  type PlacedNode,
  placeGraph,
} from "../../model/input";
import { cutNames } from "../../model/names";
import type { PlacedBox } from "../../model/op_graph";
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
import { copyButton, emptyState, h, inFrame, on, onKeys, say, selectBox, svg, textFits, watchSize } from "../../ui/dom";
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
  { name, isCritical }: { name: string; isCritical: boolean },
  cost: IteratorCost,
  place: PlacedBox,
  fits: (text: string) => boolean,
): SVGGElement {
  const settings = paramText(node);
  const batch = perBatch(cost);
  const sums = `${spoken(cost)}, ${plural(cost.calls, "call")}`;
  const group = svg("g", {
    class: `tfp-node${isCritical ? " critical" : " aside"}`,
    transform: `translate(${place.x} ${place.y})`,
    tabindex: 0,
    role: "button",
    "aria-pressed": "false",
    "aria-description": `${spoken(batch)}, ${formatCalls(batch.calls)} calls a batch`,
  });
  group.setAttribute("data-op-name", node.long_name);
  const parts = boxParts(name, cutNames([settings], fits).get(settings) ?? "", cost, place);
  const title = [node.long_name, settings, sums, started(cost)].filter(Boolean).join("\n");
  // A name that holds all that can be read in the box, in that order; without the blanks its texts run into each other.
  for (const part of parts) if (part.textContent) part.append(" ");
  group.setAttribute("aria-label", [title, ...parts.map((part) => part.textContent)].join(" "));
  group.append(svg("title", title), ...parts);
  return group;
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

function boxParts(name: string, settings: string, cost: IteratorCost, { width, height }: PlacedBox): SVGElement[] {
  const { self, total, calls } = perBatch(cost);
  const bar = self > 0 ? Math.max(1, ((width - 16) * self) / cost.scale) : 0;
  const start = started(cost);
  const dy = start ? 13 : 0;
  const parts = [
    svg("rect.box", { width, height }),
    svg("rect.tint", { x: 2, y: 2, width: width - 4, height: height - 4 }),
    svg("text.b", { x: 8, y: 17 }, name),
    svg("text", { x: 8, y: 30 }, settings),
    svg("text.k", { x: 8, y: 46 }, `${formatTime(self)} work`),
    svg("text", { x: 8, y: 59 }, `${formatTime(total)} total`),
    svg("text", { x: 8, y: 72 }, start),
    svg("rect.track", { x: 8, y: 66 + dy, width: width - 16, height: 8 }),
    svg("rect.self", { x: 8, y: 66 + dy, width: bar, height: 8 }),
    svg("rect.ring", { x: -3, y: -3, width: width + 6, height: height + 6 }),
  ];
  if (width <= CALLS_FROM_PX) return parts;
  return [...parts, svg("text", { x: width - 7, y: 46, "text-anchor": "end" }, `${formatCalls(calls)} ×`)];
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

type Points = readonly (readonly [number, number])[];

function arrow(points: Points, top: number, isCritical: boolean): SVGElement[] {
  const kind = isCritical ? " critical" : "";
  const last = points.length - 1;
  const [x1, y1] = points[last];
  // The line ends inside the head, so that its square end does not show.
  const path = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${i === last ? x - 5 : x} ${y + top}`).join("");
  return [
    svg("path", { class: `tfp-arrow${kind}`, d: path }),
    svg("path", { class: `tfp-arrow-head${kind}`, d: `M${x1} ${y1 + top}l-7 -4v8z` }),
  ];
}

function legend(): HTMLElement {
  const key = (text: string, kind: string) => {
    const line = svg("path", { class: `tfp-arrow${kind}`, d: "M0 4H22" });
    return h("span", svg("svg", { width: 26, height: 8, "aria-hidden": "true" }, line), text);
  };
  return h("span.tfp-keys.opt", key("critical path", " critical"), key("not critical", ""));
}

const SIZE: Omit<GraphSize, "width"> = { nodeHeight: 84, gap: 22, rowGap: 8, minNodeWidth: 92, maxNodeWidth: 168 };
const LINE_PX = 13;
const TOP = 20;

export class GraphPane {
  readonly element: HTMLElement;
  readonly #say = h("span.tfp-say", { role: "status" });
  readonly #canvas = h("div.tfp-graph");
  #boxes: SVGGElement[] = [];
  #scene: InputScene | null = null;
  /** What was brought into sight last; a scroll by hand stays until something else is to be seen. */
  #revealed = "";

  constructor(readonly view: TraceView) {
    const { signal, link } = view;
    this.element = h("div.tfp-pane", h("div.line", this.#say, h("span.sp"), legend()), this.#canvas);
    link.on("selection", () => this.#followSelection(), signal);
    link.on("hover", () => this.#followHover(), signal);
    const redraw = inFrame(() => this.#scene && this.show(this.#scene), signal);
    watchSize(this.#canvas, signal, redraw);
  }

  show(scene: InputScene): void {
    this.#scene = scene;
    const { pipeline, stats, nBatches, slow, isCritical, root } = scene;
    const { nodes } = pipeline;
    const batchPs = nBatches > 0 ? stats.totalPs[root] / nBatches : 0;
    const selfPerBatch = Array.from(stats.selfPs, (ps) => (nBatches > 0 ? ps / nBatches : 0));
    const scale = Math.max(batchPs, ...selfPerBatch, 1);
    this.#sayWhat(scene, batchPs, scale);
    const width = Math.max(320, this.#canvas.clientWidth || 900);
    const nodeHeight = SIZE.nodeHeight + (scene.rank === null ? 0 : LINE_PX);
    const parents = nodes.map((node) => node.parent);
    const placed = placeGraph(parents, { ...SIZE, nodeHeight, width });
    const attributes = { width: placed.width, height: placed.height + TOP, role: "group" };
    const drawing = svg("svg", { ...attributes, "aria-label": summary(scene, batchPs) });
    placed.arrows.forEach((points, i) => {
      if (points) drawing.append(...arrow(points, TOP, isCritical[i] && isCritical[nodes[i].parent]));
    });
    this.#boxes = this.#nodeBoxes(scene, placed, nodeHeight, scale);
    drawing.append(...this.#boxes);
    if (slow >= 0) {
      this.#boxes[slow].classList.add("bottleneck");
      drawing.append(bottleneckLabel(placed, slow, shareOfWait(scene)));
    }
    this.#canvas.replaceChildren(drawing);
    this.#reveal(scene, placed.nodes[slow >= 0 ? slow : root], placed.nodeWidth, nodeHeight);
    this.#followSelection();
  }

  /** Scrolls to the bottleneck, or to the root where there is none. */
  #reveal({ index, rank, slow }: InputScene, { x, y }: PlacedNode, width: number, height: number): void {
    const { clientWidth, clientHeight } = this.#canvas;
    const key = `${index} ${rank} ${slow} ${clientWidth}`;
    if (clientWidth === 0 || key === this.#revealed) return;
    this.#revealed = key;
    this.#canvas.scrollLeft = Math.max(0, x + width + SIZE.gap - clientWidth + Math.max(0, clientWidth / 2 - width));
    this.#canvas.scrollTop = y + TOP + height <= clientHeight ? 0 : y + TOP + height / 2 - clientHeight / 2;
  }

  #nodeBoxes(scene: InputScene, placed: Placed, height: number, scale: number): SVGGElement[] {
    const { pipeline, stats, nBatches, rank, isCritical } = scene;
    const { nodes } = pipeline;
    const names = nodes.map((node) => node.name);
    const cuts = cutNames(names, textFits(this.view.root, placed.nodeWidth - 18));
    const fits = textFits(this.view.root, placed.nodeWidth - 12);
    return nodes.map((node, i) => {
      const startPs = rank === null ? null : stats.startPs[i];
      const cost = { self: stats.selfPs[i], total: stats.totalPs[i], calls: stats.calls[i], startPs, nBatches, scale };
      const { x, y } = placed.nodes[i];
      const place = { x, y: y + TOP, width: placed.nodeWidth, height };
      const look = { name: cuts.get(node.name) ?? node.name, isCritical: isCritical[i] };
      const box = nodeBox(node, look, cost, place, fits);
      this.#listen(box, node, i);
      return box;
    });
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

  #listen(group: SVGGElement, node: IteratorNode, i: number): void {
    const { link, signal } = this.view;
    const toggle = () => toggleSelection(link, namesOf(node));
    const pointerenter = () => link.setHover(namesOf(node)[0]);
    on(group, signal, { click: toggle, pointerenter, pointerleave: () => link.setHover("") });
    onKeys(group, signal, ({ key }) => {
      const next = this.#neighbour(i, key);
      if (key === "Enter" || key === " ") toggle();
      else if (next !== null) this.#boxes[next]?.focus();
      else return false;
      return true;
    });
  }

  /** Right goes towards the step, left towards the sources, up and down among the inputs of one node. */
  #neighbour(i: number, key: string): number | null {
    const nodes = this.#scene?.pipeline.nodes ?? [];
    const inputs = (parent: number) => nodes.map((node, k) => (node.parent === parent ? k : -1)).filter((k) => k >= 0);
    if (key === "ArrowRight") return nodes[i].parent >= 0 ? nodes[i].parent : i;
    if (key === "ArrowLeft") return inputs(i)[0] ?? i;
    if (key !== "ArrowUp" && key !== "ArrowDown") return null;
    const siblings = inputs(nodes[i].parent);
    return siblings[siblings.indexOf(i) + (key === "ArrowDown" ? 1 : -1)] ?? i;
  }

  #followSelection(): void {
    const chosen = new Set(this.view.link.selection);
    this.#scene?.pipeline.nodes.forEach((node, i) => {
      this.#boxes[i]?.setAttribute("aria-pressed", String(namesOf(node).some((name) => chosen.has(name))));
    });
  }

  #followHover(): void {
    const { hover } = this.view.link;
    this.#scene?.pipeline.nodes.forEach((node, i) => {
      this.#boxes[i]?.classList.toggle("hover", namesOf(node).includes(hover));
    });
  }
}

function summary({ pipeline, nBatches, slow }: InputScene, batchPs: number): string {
  const { nodes, name } = pipeline;
  const bottleneck = slow >= 0 ? `, bottleneck ${nodes[slow].name}` : "";
  return `Input pipeline ${name}: ${plural(nodes.length, "iterator")}, ${formatTime(batchPs)} a batch over ${formatCount(nBatches)} batches${bottleneck}. Arrow keys move between iterators, Enter selects.`;
}

/** Over the box: from its left edge on, or up to its right edge where the drawing ends there. */
function bottleneckLabel({ nodes, nodeWidth, width }: Placed, slow: number, ratio: number): SVGElement {
  const { x, y } = nodes[slow];
  const share = ratio > 0 ? `: ${formatPercent(ratio)} of the wait` : "";
  const isLast = x > 0 && x + nodeWidth + SIZE.gap > width;
  const place = isLast ? { x: x + nodeWidth, "text-anchor": "end" } : { x };
  return svg("text.b", { ...place, y: y + TOP - 7 }, `Bottleneck${share}`);
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
