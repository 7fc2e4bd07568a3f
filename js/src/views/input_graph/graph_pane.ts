/** One pipeline and what its nodes cost -> a graph of boxes from source to step, with keys, selection and hover. */

import { type GraphSize, type Placed, type PlacedNode, placeGraph } from "../../model/input/graph";
import { namesOf } from "../../model/input/pipeline";
import { cutNames } from "../../model/text/cut";
import { formatCount, formatInstant, formatPercent, formatTime, plural } from "../../model/text/format";
import { describeRange } from "../../model/time/span_text";
import type { IteratorNode } from "../../model/wire/meta";
import { h, on, onKeys, svg } from "../../ui/dom";
import { inFrame, textFits, watchSize } from "../../ui/page";
import { toggleSelection } from "../../ui/selecting";
import type { TraceView } from "../../ui/view";
import { arrow, legend, nodeBox } from "./iterator_box";
import { type InputScene, shareOfWait } from "./scene";

const SIZE: Omit<GraphSize, "width"> = { nodeHeight: 84, gap: 22, rowGap: 8, minNodeWidth: 92, maxNodeWidth: 168 };
/** Of the line that says when a node's first call began. */
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
