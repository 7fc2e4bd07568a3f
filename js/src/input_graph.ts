/** The iterators of a tf.data pipeline -> a graph of boxes from source to step, with what each costs and what to change. */

import "./input_graph.css";
import { cutNames } from "./core/cut";
import { formatCount, formatMs, formatNumber, formatPercent, formatTime, plural } from "./core/format";
import { type GraphSize, type Placed, placeGraph } from "./core/graph";
import type { IteratorNode, PipelineMeta } from "./core/meta";
import type { RangePs } from "./core/ops";
import { bottleneckOf, type NodeStats, nodeStats } from "./core/pipeline";
import { describeRange, rangeInPs } from "./core/span_text";
import { EMPTY_TABLE } from "./core/wire";
import { copyButton, emptyState, h, svg } from "./draw/dom";
import { inFrame, textFits, watchSize } from "./draw/page";
import { mount, type TraceView } from "./view";

const SIZE: Omit<GraphSize, "width"> = { nodeHeight: 84, gap: 22, rowGap: 20, minNodeWidth: 92, maxNodeWidth: 168 };
const TOP = 20;

class InputGraph {
  #pipeline: PipelineMeta;
  #index = 0;
  readonly #head = h("div", { class: "bar" });
  readonly #say = h("span", { class: "tfp-say", role: "status" });
  readonly #canvas = h("div", { class: "tfp-graph" });
  readonly #aside = h("aside");
  #boxes: SVGGElement[] = [];

  constructor(readonly view: TraceView) {
    const { signal, link, data } = view;
    const { pipelines } = data.meta;
    this.#index = slowest(pipelines);
    this.#pipeline = pipelines[this.#index];
    this.#head.append(...(pipelines.length > 1 ? [this.#selector()] : []), this.#say, h("span", { class: "sp" }), legend());
    view.root.append(h("div", { class: "tfp-split" }, h("div", {}, this.#head, this.#canvas), this.#aside));
    const draw = inFrame(view.guard(() => this.#draw()), signal);
    link.on("time_range", draw, signal);
    link.on("selection", view.guard(() => this.#followSelection()), signal);
    link.on("hover", view.guard(() => this.#followHover()), signal);
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
      select.append(h("option", { value: i, selected: i === this.#index }, `${pipeline.name} · ${rootOf(pipeline)?.long_name ?? ""}`));
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

  #stats(): NodeStats {
    const { nodes } = this.#pipeline;
    const calls = this.view.data.table("iterator_calls") ?? EMPTY_TABLE;
    if (this.#range !== null || calls.n > 0) return nodeStats(calls, this.#index, nodes.length, this.#range);
    return {
      calls: Float64Array.from(nodes, (node) => node.calls),
      totalPs: Float64Array.from(nodes, (node) => node.total_time_ms * 1e9),
      selfPs: Float64Array.from(nodes, (node) => node.self_time_ms * 1e9),
    };
  }

  #draw(): void {
    const { nodes } = this.#pipeline;
    const stats = this.#stats();
    const root = Math.max(0, nodes.findIndex((node) => node.parent < 0));
    const nBatches = stats.calls[root];
    const isCritical = nodes.map((node) => node.on_critical_path);
    const slow = this.#range === null ? (this.#pipeline.bottleneck ?? -1) : bottleneckOf(stats.selfPs, isCritical);
    const batchPs = nBatches > 0 ? stats.totalPs[root] / nBatches : 0;
    const selfPerBatch = Array.from(stats.selfPs, (ps) => (nBatches > 0 ? ps / nBatches : 0));
    const scale = Math.max(batchPs, ...selfPerBatch, 1);
    this.#sayWhat(nBatches, batchPs, scale);
    const width = Math.max(320, this.#canvas.clientWidth || 900);
    const placed = placeGraph(nodes.map((node) => node.parent), { ...SIZE, width });
    const cuts = cutNames(nodes.map((node) => node.name), textFits(this.view.root, placed.nodeWidth - 18));
    const drawing = svg("svg", {
      width: placed.width,
      height: placed.height + TOP,
      role: "group",
      "aria-label": this.#summary(nBatches, batchPs, slow),
    });
    placed.arrows.forEach((points, i) => points && drawing.append(...arrow(points, isCritical[i] && isCritical[nodes[i].parent])));
    this.#boxes = nodes.map((node, i) => this.#box(node, i, placed, stats, nBatches, scale, cuts.get(node.name) ?? node.name));
    drawing.append(...this.#boxes);
    if (slow >= 0 && scale > 0) {
      this.#boxes[slow].classList.add("bottleneck");
      const share = batchPs > 0 ? `: ${formatPercent(Math.min(1, selfPerBatch[slow] / batchPs))} of a batch` : "";
      const { x, y } = placed.nodes[slow];
      drawing.append(svg("text", { class: "b", x, y: y + TOP - 7 }, `Bottleneck${share}`));
    }
    this.#canvas.replaceChildren(drawing);
    this.#advise(slow, stats, nBatches);
    this.#followSelection();
  }

  #sayWhat(nBatches: number, batchPs: number, scale: number): void {
    const { data } = this.view;
    const trace = { durationPs: data.meta.duration_ps, stepNames: data.meta.step_names };
    const where = this.#range === null ? "" : ` in ${describeRange(trace, data.table("steps"), this.#range)}`;
    if (nBatches === 0) {
      this.#say.replaceChildren(h("b", {}, `No batch was fetched${where}.`), " Clear the range to see all.");
      return;
    }
    const lead = h("b", {}, `One batch, on average of ${formatCount(nBatches)}${where}:`);
    this.#say.replaceChildren(lead, ` ${formatTime(batchPs)} from source to step. Bars: self time, on a common scale of ${formatTime(scale)}.`);
    this.#say.title = this.#say.textContent ?? "";
  }

  #box(node: IteratorNode, i: number, placed: Placed, stats: NodeStats, nBatches: number, scale: number, name: string): SVGGElement {
    const { x, y } = placed.nodes[i];
    const width = placed.nodeWidth;
    const height = SIZE.nodeHeight;
    const per = nBatches > 0 ? nBatches : 1;
    const self = stats.selfPs[i] / per;
    const total = stats.totalPs[i] / per;
    const calls = stats.calls[i] / per;
    const fits = textFits(this.view.root, width - 12);
    const params = paramText(node);
    const kind = node.on_critical_path ? " critical" : " aside";
    const group = svg("g", {
      class: `tfp-node${kind}`,
      transform: `translate(${x} ${y + TOP})`,
      tabindex: 0,
      role: "button",
      "aria-pressed": "false",
      "aria-label": `${node.name}, ${params}. Self ${formatTime(self)}, total ${formatTime(total)}, ${formatNumber(calls)} calls a batch`,
    });
    group.setAttribute("data-op-name", node.long_name);
    const all = `self ${formatTime(stats.selfPs[i])}, total ${formatTime(stats.totalPs[i])}, ${plural(stats.calls[i], "call")} in all`;
    group.append(
      svg("title", {}, `${node.long_name}\n${params}\n${all}`),
      svg("rect", { class: "box", width, height }),
      svg("rect", { class: "tint", x: 2, y: 2, width: width - 4, height: height - 4 }),
      svg("text", { class: "b", x: 8, y: 17 }, name),
      svg("text", { x: 8, y: 30 }, [...cutNames([params], fits).values()][0] ?? ""),
      svg("text", { class: "k", x: 8, y: 46 }, `${formatTime(self)} self`),
      svg("text", { x: 8, y: 59 }, `${formatTime(total)} total`),
    );
    if (width > 112) group.append(svg("text", { x: width - 7, y: 46, "text-anchor": "end" }, `${formatCalls(calls)} ×`));
    const bar = self > 0 ? Math.max(1, ((width - 16) * self) / scale) : 0;
    group.append(
      svg("rect", { class: "track", x: 8, y: 66, width: width - 16, height: 8 }),
      svg("rect", { class: "self", x: 8, y: 66, width: bar, height: 8 }),
      svg("rect", { class: "ring", x: -3, y: -3, width: width + 6, height: height + 6 }),
    );
    this.#listen(group, node, i);
    return group;
  }

  #listen(group: SVGGElement, node: IteratorNode, i: number): void {
    const { link, signal } = this.view;
    const toggle = () => {
      const isChosen = link.selection.length === 1 && link.selection[0] === node.long_name;
      link.setSelection(isChosen ? [] : [node.long_name]);
    };
    group.addEventListener("click", toggle, { signal });
    group.addEventListener("pointerenter", () => link.setHover(node.long_name), { signal });
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

  #advise(slow: number, stats: NodeStats, nBatches: number): void {
    const { suggestion, suggestion_code: code, summary, nodes } = this.#pipeline;
    const isOther = slow !== (this.#pipeline.bottleneck ?? -1) && slow >= 0;
    const per = Math.max(1, nBatches);
    const headline =
      slow < 0
        ? "No iterator of this pipeline kept a step waiting."
        : isOther
          ? `${nodes[slow].name} is the slowest here: ${formatTime(stats.selfPs[slow] / per)} a batch.`
          : summary || `${nodes[slow].name} is the bottleneck: ${formatTime(stats.selfPs[slow] / per)} a batch.`;
    const parts: Node[] = [h("h3", {}, headline)];
    if (suggestion && !isOther) parts.push(h("p", {}, suggestion));
    if (code && !isOther) {
      parts.push(h("pre", {}, code), h("p", {}, copyButton("Copy the fix", () => code, this.view.signal)));
    }
    const root = Math.max(0, nodes.findIndex((node) => node.parent < 0));
    const facts = h("dl", { class: "tfp-kv" });
    const fact = (term: string, text: string) => facts.append(h("dt", {}, term), h("dd", {}, text));
    fact("pipeline", this.#pipeline.name);
    fact("batches", formatCount(nBatches));
    if (nBatches > 0) fact("fetch", `${formatTime(stats.totalPs[root])} in all`);
    const { min_latency_ms: least, max_latency_ms: most } = this.#pipeline as Record<string, unknown>;
    if (typeof least === "number" && typeof most === "number") fact("a fetch", `${formatMs(least)} to ${formatMs(most)}`);
    this.#aside.replaceChildren(...parts, facts);
  }

  #summary(nBatches: number, batchPs: number, slow: number): string {
    const { nodes, name } = this.#pipeline;
    const bottleneck = slow >= 0 ? `, bottleneck ${nodes[slow].name}` : "";
    return `Input pipeline ${name}: ${plural(nodes.length, "iterator")}, ${formatTime(batchPs)} a batch over ${formatCount(nBatches)} batches${bottleneck}. Arrow keys move between iterators, Enter selects.`;
  }

  #followSelection(): void {
    const chosen = new Set(this.view.link.selection);
    this.#pipeline.nodes.forEach((node, i) => this.#boxes[i]?.setAttribute("aria-pressed", String(chosen.has(node.long_name))));
  }

  #followHover(): void {
    const { hover } = this.view.link;
    this.#pipeline.nodes.forEach((node, i) => this.#boxes[i]?.classList.toggle("hover", node.long_name === hover));
  }
}

function rootOf(pipeline: PipelineMeta): IteratorNode | undefined {
  return pipeline.nodes.find((node) => node.parent < 0);
}

/** The pipeline that took most time. */
function slowest(pipelines: readonly PipelineMeta[]): number {
  const time = pipelines.map((pipeline) => rootOf(pipeline)?.total_time_ms ?? 0);
  return time.indexOf(Math.max(...time));
}

function formatCalls(calls: number): string {
  return Number.isInteger(calls) ? formatCount(calls) : formatNumber(calls, 2);
}

/** What is known about an iterator besides its name, in a few words. */
export function paramText(node: IteratorNode): string {
  const { params } = node;
  const words: string[] = [];
  if (typeof params === "string" && params !== "") words.push(params);
  else if (params !== null && typeof params === "object") {
    for (const [key, value] of Object.entries(params)) words.push(`${key.replaceAll("_", " ")} ${String(value)}`);
  }
  if (node.is_async) words.unshift("runs ahead");
  return words.join(", ");
}

function arrow(points: readonly (readonly [number, number])[], isCritical: boolean): SVGElement[] {
  const kind = isCritical ? " critical" : "";
  const [x1, y1] = points[points.length - 1];
  const path = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${i === points.length - 1 ? x - 5 : x} ${y + TOP}`).join("");
  return [
    svg("path", { class: `tfp-arrow${kind}`, d: path }),
    svg("path", { class: `tfp-arrow-head${kind}`, d: `M${x1} ${y1 + TOP}l-7 -4v8z` }),
  ];
}

function legend(): HTMLElement {
  const key = (text: string, kind: string) =>
    h("span", {}, svg("svg", { width: 26, height: 8, "aria-hidden": "true" }, svg("path", { class: `tfp-arrow${kind}`, d: "M0 4H22" })), text);
  return h("span", { class: "tfp-keys" }, key("critical path", " critical"), key("not critical", ""));
}

export default mount("input_graph", (view) => {
  view.root.classList.add("tfp-input_graph");
  if (!view.data.meta.pipelines?.length) {
    const reason = "No tf.data iterator ran while the capture was on. Feed the model from a tf.data pipeline to see what each stage costs:";
    const code = "dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32).prefetch(tf.data.AUTOTUNE)\nmodel.fit(dataset)";
    view.root.append(emptyState("No input pipeline in this capture", reason, code, view.signal));
    return;
  }
  new InputGraph(view);
});
