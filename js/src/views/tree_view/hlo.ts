/** The HLO op that costs most, or the selected one, as a drawing: the instructions of a fusion, else what is around it. */

import type { HloGraphMeta } from "../../data/meta";
import { tipName } from "../../model/names";
import {
  type GraphBox,
  graphOfOps,
  type HloNode,
  heatOf,
  heatPercent,
  hloBoxes,
  hloNode,
  isInside,
  placeOpGraph,
} from "../../model/op_graph";
import { formatCount, formatPercent, formatTime, plural } from "../../model/text";
import { h, on, textFits } from "../../ui/dom";
import type { Tip } from "../../ui/plot";
import { type TraceView, toggleSelection } from "../../ui/view";
import { type BoxWords, boxElement, GraphCanvas, heatLegend } from "./graph";

const TEXT_PX = 150 - 14;
const LETTER_PX = 6.5;
const PS_PER_US = 1e6;

export class HloPane {
  readonly element: HTMLElement;
  readonly #select = h("select", { "aria-label": "HLO op" });
  readonly #say = h("span.tfp-say.q", { role: "status" });
  readonly #legend = h("span.tfp-heat-legend");
  readonly #canvas: GraphCanvas;
  /** Names by which ops can be selected. */
  readonly #known: ReadonlySet<string>;
  #at = -1;
  /** What was selected here: that is no wish for another graph. */
  #picked = "";
  #selected: ReadonlySet<string> = new Set();

  constructor(
    readonly view: TraceView,
    readonly graphs: readonly HloGraphMeta[],
  ) {
    const { signal, link } = view;
    const { meta } = view.data;
    this.#known = new Set(meta.op_name.map((name) => meta.names[name]));
    this.#canvas = new GraphCanvas(
      {
        onClick: (box) => this.#pick(box),
        onDoubleClick: (box) => this.#goTo(box),
        onKey: (key, box) => this.#act(key, box),
        onHover: (box) => link.setHover(box === null ? "" : this.#opOf(box)),
        tip: (box) => this.#tip(box),
      },
      signal,
    );
    on(this.#select, signal, { change: () => this.#show(Number(this.#select.value)) });
    const bar = h("div.tfp-tree-line", this.#select, this.#say, h("span.sp"), this.#legend, this.#canvas.zooms);
    this.element = h("div.tfp-tree-graph.tfp-hlo-graph", bar, this.#canvas.element);
  }

  get #graph(): HloGraphMeta {
    return this.graphs[this.#at];
  }
  #node(box: GraphBox): HloNode {
    return hloNode(this.#graph, box.id - 1);
  }
  #opOf(box: GraphBox): string {
    const { op } = this.#node(box);
    return this.#known.has(op) ? op : "";
  }
  /** A share of work or a time; "" for none. */
  #amount(value: number): string {
    return isInside(this.#graph) ? formatPercent(value) : formatTime(value * PS_PER_US);
  }

  /** After a change of the selection, and when it is first shown. */
  follow(): void {
    const { selection } = this.view.link;
    this.#selected = new Set(selection);
    const isOwn = selection.length === 0 || (selection.length === 1 && selection[0] === this.#picked);
    const found = isOwn ? this.#at : graphOfOps(this.graphs, this.#selected);
    if (!isOwn) this.#picked = "";
    const next = Math.max(0, found < 0 ? this.#at : found);
    if (next === this.#at) this.#paint();
    else this.#show(next);
  }

  #show(at: number): void {
    this.#at = at;
    const cut = hloBoxes(this.#graph);
    this.#canvas.set(cut.boxes, placeOpGraph(cut));
    this.#paint();
    this.#canvas.start(cut.boxes[isInside(this.#graph) ? cut.boxes.length - 1 : this.#graph.centre]);
  }

  #paint(): void {
    const graph = this.#graph;
    const largest = Math.max(0, ...graph.values);
    this.#canvas.paint((box, place) => {
      const share = heatOf(box.value, largest);
      const fits = textFits(this.#canvas.element, TEXT_PX);
      const look = { share, heat: heatPercent(share), isCurrent: box.id - 1 === graph.centre, fits };
      return boxElement(box, place, { ...look, ...this.#words(box) });
    });
    const title = isInside(graph) ? "Share of estimated work" : "Self time, whole capture";
    this.#legend.replaceChildren(...heatLegend(title, largest, (value) => this.#amount(value)));
    this.#fillSelect();
    this.#describe();
  }

  #words(box: GraphBox): BoxWords {
    const { label, shape, opcode } = this.#node(box);
    const note = box.value > 0 ? this.#amount(box.value) : "";
    const room = Math.floor(TEXT_PX / LETTER_PX) - note.length - (note ? 1 : 0);
    const op = this.#opOf(box);
    return {
      name: label,
      figure: cutEnd(bare(shape), room),
      note,
      spoken: [`${label}: ${opcode}`, bare(shape), note, op].filter(Boolean).join(", "),
      marked: op && this.#selected.has(op) ? "all" : "none",
      node: op || undefined,
    };
  }

  #tip(box: GraphBox): Tip {
    const { name, opcode, shape, op, value } = this.#node(box);
    const isPart = isInside(this.#graph);
    const amount = isPart
      ? `${this.#amount(value)} of the fusion's estimated work`
      : `${this.#amount(value)} self time`;
    const what = isPart && opcode === "parameter" ? "read from outside the fusion" : opcode;
    const can = [this.#opOf(box) && "click selects its op", this.#graphOf(box) >= 0 && "double click draws it"];
    const words = can.filter(Boolean).join(", ");
    const lines = [`${what} · ${tipName(shape)}`, tipName(op), value > 0 ? amount : "", words];
    return { title: tipName(name), lines: lines.filter(Boolean) };
  }

  /** Those that the selected ops run in first, each by time. */
  #fillSelect(): void {
    const options = this.graphs.map(({ name, ops, self_us }, i) => {
      const text = [name, formatTime(self_us * PS_PER_US), tipName(ops[0] ?? "")].filter(Boolean).join(" · ");
      return h("option", { value: i, selected: i === this.#at }, text);
    });
    const isMeant = this.graphs.map(({ ops }) => ops.some((op) => this.#selected.has(op)));
    const meant = options.filter((_, i) => isMeant[i]);
    if (meant.length === 0) this.#select.replaceChildren(...options);
    else
      this.#select.replaceChildren(
        h("optgroup", { label: "Of the selected ops" }, ...meant),
        h("optgroup", { label: "Others" }, ...options.filter((_, i) => !isMeant[i])),
      );
    this.#select.value = String(this.#at);
  }

  #describe(): void {
    const { names, n_nodes, category, module } = this.#graph;
    const isPart = isInside(this.#graph);
    const nodes = names.length < n_nodes ? `${names.length} of ${plural(n_nodes, "instruction")}` : "";
    const what = nodes || plural(n_nodes, "instruction");
    const words = [isPart ? `${what} of a fusion` : `${what}: what it reads, what reads it, two levels`];
    if (nodes) words[0] += isPart ? ", nearest to its result" : ", the nearest";
    words.push(category, module);
    const nOps = this.view.data.nRows("hlo_ops");
    if (this.graphs.length < nOps)
      words.push(`${formatCount(this.graphs.length)} of ${formatCount(nOps)} HLO ops, those that cost most`);
    this.#say.textContent = words.filter(Boolean).join(" · ");
    this.#say.title = this.#say.textContent;
    const keys =
      "arrow keys move between boxes, Space selects, Enter draws what is around, plus and minus zoom, 0 fits";
    this.#canvas.describe(`Graph of HLO instructions, data flows to the right: ${keys}`);
  }

  #pick(box: GraphBox): void {
    this.#picked = this.#opOf(box);
    toggleSelection(this.view.link, [this.#picked].filter(Boolean));
  }

  /** The graph of a node itself, -1 for none. */
  #graphOf(box: GraphBox): number {
    const { name } = this.#node(box);
    const at = this.graphs.findIndex((one) => one.name === name && one.module === this.#graph.module);
    return at === this.#at ? -1 : at;
  }

  #goTo(box: GraphBox): void {
    const at = this.#graphOf(box);
    if (at >= 0) this.#show(at);
  }

  setHover(name: string): void {
    this.#canvas.setHover((box) => name !== "" && this.#opOf(box) === name);
  }

  #act(key: string, box: GraphBox): boolean {
    if (key === "Enter" && this.#graphOf(box) >= 0) this.#goTo(box);
    else if (key === "Enter" || key === " ") this.#pick(box);
    else if (key === "Escape" && this.#selected.size > 0) this.view.link.setSelection([]);
    else return false;
    return true;
  }
}

/** A shape without layouts. */
function bare(shape: string): string {
  return shape.replace(/\{[^}]*\}/g, "");
}

function cutEnd(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}
