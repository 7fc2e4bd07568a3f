/** A pipeline as a graph of boxes from source to step, with keys, selection and hover. */

import type { IteratorNode, PipelineMeta } from "../../data/meta";
import type { RangePs, Scope } from "../../data/time";
import {
  type GraphSize,
  type InputWait,
  type NodeStats,
  namesOf,
  type Placed,
  type PlacedNode,
  placeGraph,
} from "../../model/input";
import { cutNames } from "../../model/names";
import { describeRange } from "../../model/range";
import { formatCount, formatInstant, formatNumber, formatPercent, formatTime, plural } from "../../model/text";
import { h, inFrame, on, onKeys, svg, textFits, watchSize } from "../../ui/dom";
import { type TraceView, toggleSelection } from "../../ui/view";

export interface InputScene {
  readonly index: number;
  readonly pipeline: PipelineMeta;
  /** The node that the training fetches from. */
  readonly root: number;
  readonly range: RangePs;
  /** Of figures that are not of batches. */
  readonly scope: Scope;
  /** Rows of the root calls of the range, longest first. */
  readonly ranked: readonly number[];
  /** Place in `ranked` of the execution shown; null for the average of all. */
  readonly rank: number | null;
  readonly stats: NodeStats;
  /** What the sums are divided by. */
  readonly nBatches: number;
  /** How long the first fetch took, where it is left out of the average. */
  readonly startupPs: number;
  readonly isCritical: readonly boolean[];
  /** The bottleneck of what is shown, -1 for none. */
  readonly slow: number;
  /** What the steps shown wait for data, where that is too little to matter; null where it matters or is not known. */
  readonly kept: InputWait | null;
}

/** Of what was waited for, the part of the bottleneck; 0 where nothing was. */
function shareOfWait({ pipeline, range, rank, slow, stats }: InputScene): number {
  if (slow < 0) return 0;
  const isWhole = range === null && rank === null;
  const waits = isWhole ? pipeline.nodes.map((node) => node.wait_time_ms ?? 0) : stats.waitPs;
  let sum = 0;
  for (const wait of waits) sum += wait;
  return sum > 0 ? waits[slow] / sum : 0;
}

interface IteratorCost {
  /** Sums in ps and calls. */
  readonly self: number;
  readonly total: number;
  readonly calls: number;
  /** When the first call of one execution began (Infinity where it has none); null for an average of many. */
  readonly startPs: number | null;
  readonly nBatches: number;
  readonly scale: number;
}

interface BoxPlace {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Boxes narrower than this have no room for the calls beside the work. */
const CALLS_FROM_PX = 112;

interface BoxHead {
  readonly name: string;
  readonly isCritical: boolean;
}

function nodeBox(
  node: IteratorNode,
  { name, isCritical }: BoxHead,
  cost: IteratorCost,
  place: BoxPlace,
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

function boxParts(name: string, settings: string, cost: IteratorCost, { width, height }: BoxPlace): SVGElement[] {
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
  return h("span.tfp-keys", key("critical path", " critical"), key("not critical", ""));
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
    watchSize(this.#canvas, redraw, signal);
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
    const placed = placeGraph(
      nodes.map((node) => node.parent),
      { ...SIZE, nodeHeight, width },
    );
    const drawing = svg("svg", {
      width: placed.width,
      height: placed.height + TOP,
      role: "group",
      "aria-label": summary(scene, batchPs),
    });
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
      const cost = {
        self: stats.selfPs[i],
        total: stats.totalPs[i],
        calls: stats.calls[i],
        startPs: rank === null ? null : stats.startPs[i],
        nBatches,
        scale,
      };
      const { x, y } = placed.nodes[i];
      const place = { x, y: y + TOP, width: placed.nodeWidth, height };
      const box = nodeBox(
        node,
        { name: cuts.get(node.name) ?? node.name, isCritical: isCritical[i] },
        cost,
        place,
        fits,
      );
      this.#listen(box, node, i);
      return box;
    });
  }

  #sayWhat(scene: InputScene, batchPs: number, scale: number): void {
    const { data } = this.view;
    const { range, rank, ranked, nBatches, startupPs } = scene;
    const about = range === null ? "" : ` in ${describeRange(data.meta, data.table("steps"), range)}`;
    const where = () => h("span.tfp-about", about);
    if (nBatches === 0) {
      this.#say.replaceChildren(h("b", "No batch was fetched", where(), "."), " Clear the range to see all.");
      this.#say.title = "";
      return;
    }
    const bars = `Bars: work, on a common scale of ${formatTime(scale)}.`;
    if (rank !== null) {
      const lead = h("b", `Execution of rank ${rank}, of ${formatCount(ranked.length)}`, where(), ":");
      const begins = Number.isFinite(scene.stats.startPs[scene.root]) ? scene.stats.startPs[scene.root] : 0;
      this.#say.replaceChildren(lead, ` ${formatTime(batchPs)}, from ${formatInstant(begins, 1e6)} on. ${bars}`);
    } else {
      const left = startupPs > 0 ? ` Left out: the first, ${formatTime(startupPs)} to start.` : "";
      const lead = h("b", `One batch, on average of ${formatCount(nBatches)}`, where(), ":");
      this.#say.replaceChildren(lead, ` ${formatTime(batchPs)} from source to step. ${bars}${left}`);
    }
    this.#say.title = this.#say.textContent ?? "";
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
