/** The iterators of a tf.data pipeline -> a graph of boxes from source to step, with what each costs and what to change. */

import "./input_graph.css";
import { cutNames } from "./core/cut";
import { formatCount, formatPercent, formatTime, plural } from "./core/format";
import { type GraphSize, type Placed, type PlacedNode, placeGraph } from "./core/graph";
import type { IteratorNode, PipelineMeta } from "./core/meta";
import type { RangePs } from "./core/ops";
import { bottleneckOf, firstCallEnd, type NodeStats, nodeStats } from "./core/pipeline";
import { describeRange, rangeInPs } from "./core/span_text";
import { EMPTY_TABLE } from "./core/wire";
import { emptyState, h, svg } from "./draw/dom";
import { arrow, legend, nodeBox } from "./draw/iterator_box";
import { inFrame, textFits, watchSize } from "./draw/page";
import { showAdvice } from "./input/advice";
import { mount, type TraceView } from "./view";

const SIZE: Omit<GraphSize, "width"> = { nodeHeight: 84, gap: 22, rowGap: 20, minNodeWidth: 92, maxNodeWidth: 168 };
const TOP = 20;

class InputGraph {
  #pipeline: PipelineMeta;
  #index = 0;
  readonly #head = h("div", { class: "bar" });
  readonly #say = h("span", { class: "tfp-say", role: "status" });
  readonly #canvas = h("div", { class: "tfp-graph" });
  readonly #aside = h("aside", { tabindex: 0, "aria-label": "What to change" });
  #boxes: SVGGElement[] = [];
  /** How long the first fetch took, where it is left out of the averages. */
  #startPs = 0;

  constructor(readonly view: TraceView) {
    const { signal, link, data } = view;
    const { pipelines } = data.meta;
    this.#index = slowest(pipelines);
    this.#pipeline = pipelines[this.#index];
    this.#head.append(
      ...(pipelines.length > 1 ? [this.#selector()] : []),
      this.#say,
      h("span", { class: "sp" }),
      legend(),
    );
    view.root.append(h("div", { class: "tfp-split" }, h("div", {}, this.#head, this.#canvas), this.#aside));
    const draw = inFrame(
      view.guard(() => this.#draw()),
      signal,
    );
    link.on("time_range", draw, signal);
    link.on(
      "selection",
      view.guard(() => this.#followSelection()),
      signal,
    );
    link.on(
      "hover",
      view.guard(() => this.#followHover()),
      signal,
    );
    data.onChange(() => data.isComplete && draw(), signal);
    watchSize(this.#canvas, draw, signal);
    this.#draw();
  }

  get #range(): RangePs {
    return rangeInPs(this.view.link.timeRange, this.view.data.table("steps"));
  }

  #selector(): HTMLElement {
    const select = h("select", { "aria-label": "Pipeline" });
    this.view.data.meta.pipelines.forEach((pipeline, i) => {
      select.append(
        h(
          "option",
          { value: i, selected: i === this.#index },
          `${pipeline.name} · ${rootOf(pipeline)?.long_name ?? ""}`,
        ),
      );
    });
    select.addEventListener(
      "change",
      this.view.guard(() => {
        this.#index = Number(select.value);
        this.#pipeline = this.view.data.meta.pipelines[this.#index];
        this.#draw();
      }),
      { signal: this.view.signal },
    );
    return select;
  }

  /** Sums over the range; over the whole capture without the first fetch, where that one had to start the pipeline. */
  #stats(root: number): NodeStats {
    const { nodes } = this.#pipeline;
    const calls = this.view.data.table("iterator_calls") ?? EMPTY_TABLE;
    const startMs = Number(this.#pipeline.startup_time_ms ?? 0);
    this.#startPs = 0;
    if (this.#range === null && startMs > 0) {
      const from = firstCallEnd(calls, this.#index, root);
      const stats = nodeStats(calls, this.#index, nodes.length, [from, Infinity]);
      if (stats.calls[root] > 0) {
        this.#startPs = startMs * 1e9;
        return stats;
      }
    }
    if (this.#range !== null || calls.n > 0) return nodeStats(calls, this.#index, nodes.length, this.#range);
    return {
      calls: Float64Array.from(nodes, (node) => node.calls),
      totalPs: Float64Array.from(nodes, (node) => node.total_time_ms * 1e9),
      selfPs: Float64Array.from(nodes, (node) => node.self_time_ms * 1e9),
    };
  }

  /** Of what steps waited for in the whole capture, the part of one iterator; in a range, its self time in a batch. */
  #share(slow: number, selfPs: number, batchPs: number): number {
    const waits = this.#pipeline.nodes.map((node) => node.wait_time_ms ?? 0);
    const sum = waits.reduce((total, wait) => total + wait, 0);
    if (this.#range === null && sum > 0) return waits[slow] / sum;
    return batchPs > 0 ? Math.min(1, selfPs / batchPs) : 0;
  }

  #draw(): void {
    const { nodes } = this.#pipeline;
    const root = rootIndex(this.#pipeline);
    const stats = this.#stats(root);
    const nBatches = stats.calls[root];
    const isCritical = nodes.map((node) => node.on_critical_path);
    const slow = this.#range === null ? (this.#pipeline.bottleneck ?? -1) : bottleneckOf(stats.selfPs, isCritical);
    const batchPs = nBatches > 0 ? stats.totalPs[root] / nBatches : 0;
    const selfPerBatch = Array.from(stats.selfPs, (ps) => (nBatches > 0 ? ps / nBatches : 0));
    const scale = Math.max(batchPs, ...selfPerBatch, 1);
    this.#sayWhat(nBatches, batchPs, scale);
    const width = Math.max(320, this.#canvas.clientWidth || 900);
    const placed = placeGraph(
      nodes.map((node) => node.parent),
      { ...SIZE, width },
    );
    const drawing = svg("svg", {
      width: placed.width,
      height: placed.height + TOP,
      role: "group",
      "aria-label": this.#summary(nBatches, batchPs, slow),
    });
    placed.arrows.forEach((points, i) => {
      const isOnPath = isCritical[i] && isCritical[nodes[i].parent];
      if (points) drawing.append(...arrow(points, TOP, isOnPath));
    });
    this.#boxes = this.#nodeBoxes(placed, stats, nBatches, scale);
    drawing.append(...this.#boxes);
    if (slow >= 0) {
      this.#boxes[slow].classList.add("bottleneck");
      drawing.append(bottleneckLabel(placed.nodes[slow], this.#share(slow, selfPerBatch[slow], batchPs)));
    }
    this.#canvas.replaceChildren(drawing);
    const nPipelines = this.view.data.meta.pipelines.length;
    const finding = { pipeline: this.#pipeline, nPipelines, root, slow, stats, nBatches };
    showAdvice(this.#aside, finding, this.view.signal);
    this.#followSelection();
  }

  #nodeBoxes(placed: Placed, stats: NodeStats, nBatches: number, scale: number): SVGGElement[] {
    const { nodes } = this.#pipeline;
    const names = nodes.map((node) => node.name);
    const cuts = cutNames(names, textFits(this.view.root, placed.nodeWidth - 18));
    const fits = textFits(this.view.root, placed.nodeWidth - 12);
    return nodes.map((node, i) => {
      const cost = { self: stats.selfPs[i], total: stats.totalPs[i], calls: stats.calls[i], nBatches, scale };
      const { x, y } = placed.nodes[i];
      const place = { x, y: y + TOP, width: placed.nodeWidth, height: SIZE.nodeHeight };
      const box = nodeBox(node, cuts.get(node.name) ?? node.name, cost, place, fits);
      this.#listen(box, node, i);
      return box;
    });
  }

  #sayWhat(nBatches: number, batchPs: number, scale: number): void {
    const { data } = this.view;
    const where = this.#range === null ? "" : ` in ${describeRange(data.meta, data.table("steps"), this.#range)}`;
    if (nBatches === 0) {
      this.#say.replaceChildren(h("b", {}, `No batch was fetched${where}.`), " Clear the range to see all.");
      return;
    }
    const left = this.#startPs > 0 ? ` Left out: the first, ${formatTime(this.#startPs)} to start.` : "";
    const lead = h("b", {}, `One batch, on average of ${formatCount(nBatches)}${where}:`);
    const bars = `Bars: self time, on a common scale of ${formatTime(scale)}.`;
    this.#say.replaceChildren(lead, ` ${formatTime(batchPs)} from source to step. ${bars}${left}`);
    this.#say.title = this.#say.textContent ?? "";
  }

  #listen(group: SVGGElement, node: IteratorNode, i: number): void {
    const { link, signal } = this.view;
    const toggle = () => {
      const names = namesOf(node);
      const isChosen = link.selection.length === names.length && names.every((name) => link.selection.includes(name));
      link.setSelection(isChosen ? [] : names);
    };
    group.addEventListener("click", toggle, { signal });
    group.addEventListener("pointerenter", () => link.setHover(namesOf(node)[0]), { signal });
    group.addEventListener("pointerleave", () => link.setHover(""), { signal });
    group.addEventListener(
      "keydown",
      (event) => {
        const next = this.#neighbour(i, event.key);
        if (event.key === "Enter" || event.key === " ") toggle();
        else if (next !== null) this.#boxes[next]?.focus();
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
      { signal },
    );
  }

  /** Right goes towards the step, left towards the sources, up and down among the inputs of one node. */
  #neighbour(i: number, key: string): number | null {
    const { nodes } = this.#pipeline;
    const inputs = (parent: number) => nodes.map((node, k) => (node.parent === parent ? k : -1)).filter((k) => k >= 0);
    if (key === "ArrowRight") return nodes[i].parent >= 0 ? nodes[i].parent : i;
    if (key === "ArrowLeft") return inputs(i)[0] ?? i;
    if (key !== "ArrowUp" && key !== "ArrowDown") return null;
    const siblings = inputs(nodes[i].parent);
    return siblings[siblings.indexOf(i) + (key === "ArrowDown" ? 1 : -1)] ?? i;
  }

  #summary(nBatches: number, batchPs: number, slow: number): string {
    const { nodes, name } = this.#pipeline;
    const bottleneck = slow >= 0 ? `, bottleneck ${nodes[slow].name}` : "";
    return `Input pipeline ${name}: ${plural(nodes.length, "iterator")}, ${formatTime(batchPs)} a batch over ${formatCount(nBatches)} batches${bottleneck}. Arrow keys move between iterators, Enter selects.`;
  }

  #followSelection(): void {
    const chosen = new Set(this.view.link.selection);
    this.#pipeline.nodes.forEach((node, i) => {
      this.#boxes[i]?.setAttribute("aria-pressed", String(namesOf(node).some((name) => chosen.has(name))));
    });
  }

  #followHover(): void {
    const { hover } = this.view.link;
    this.#pipeline.nodes.forEach((node, i) => {
      this.#boxes[i]?.classList.toggle("hover", namesOf(node).includes(hover));
    });
  }
}

function bottleneckLabel({ x, y }: PlacedNode, ratio: number): SVGElement {
  const share = ratio > 0 ? `: ${formatPercent(ratio)} of the wait` : "";
  return svg("text", { class: "b", x, y: y + TOP - 7 }, `Bottleneck${share}`);
}

/** What the events of an iterator are called, by which it is selected. */
function namesOf(node: IteratorNode): readonly string[] {
  return node.event_names?.length ? node.event_names : [node.long_name];
}

function rootIndex(pipeline: PipelineMeta): number {
  return Math.max(
    0,
    pipeline.nodes.findIndex((node) => node.parent < 0),
  );
}

function rootOf(pipeline: PipelineMeta): IteratorNode | undefined {
  return pipeline.nodes[rootIndex(pipeline)];
}

/** The pipeline that took most time. */
function slowest(pipelines: readonly PipelineMeta[]): number {
  const time = pipelines.map((pipeline) => rootOf(pipeline)?.total_time_ms ?? 0);
  return time.indexOf(Math.max(...time));
}

export default mount("input_graph", (view) => {
  view.root.classList.add("tfp-input_graph");
  if (!view.data.meta.pipelines?.length) {
    const reason =
      "No tf.data iterator ran while the capture was on. Feed the model from a tf.data pipeline to see what each stage costs:";
    const code =
      "dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).prefetch(tf.data.AUTOTUNE)\nmodel.fit(dataset)";
    view.root.append(emptyState("No input pipeline in this capture", reason, code, view.signal));
    return;
  }
  new InputGraph(view);
});
