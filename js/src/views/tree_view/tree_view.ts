/** Where the cost goes by name scope, graph, type and call, in the figure that the reader chooses. */

import type { FigureKey, HloGraphMeta } from "../../data/meta";
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
import { textFilter } from "../../model/ops";
import { CAPTURE_CODE, COMPILE_CODE, frameworkOf } from "../../model/overview";
import type { Cell } from "../../model/scopes";
import { around, findNodes, nodeOfOp, opOfNode, Structure } from "../../model/structure";
import { formatCount, formatPercent, formatTime, plural } from "../../model/text";
import {
  type Choice,
  emptyState,
  h,
  inFrame,
  noOps,
  on,
  onKeys,
  say,
  segmented,
  selectBox,
  setAria,
  textFits,
} from "../../ui/dom";
import { type CanvasListeners, GraphCanvas } from "../../ui/graph";
import { IciclePlace, type IcicleSource } from "../../ui/icicle";
import type { Tip } from "../../ui/plot";
import { categorySwatch, legendEntry } from "../../ui/share_bar";
import { follow, type TraceBuilder, type TraceView, toggleSelection } from "../../ui/view";
import { type BoxWords, boxElement, GraphPane, heatLegend } from "./graph";
import {
  amount,
  cellLook,
  type NodeListeners,
  nodeOfCell,
  nodeTip,
  TablePane,
  TreeModel,
  type ViewKind,
} from "./table";

const TEXT_PX = 150 - 14;
const LETTER_PX = 6.5;
const PS_PER_US = 1e6;

/** A way to show the model; `update` after a change of the selection alone. */
interface TreePane {
  readonly element: HTMLElement;
  draw(): void;
  update(): void;
  goTo(node: number): void;
  setHover(name: string): void;
}

class HloPane implements TreePane {
  readonly element: HTMLElement;
  readonly #select: HTMLSelectElement;
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
    readonly goTo: (node: number) => void,
  ) {
    const { signal, link } = view;
    const { meta } = view.data;
    this.#known = new Set(meta.op_name.map((name) => meta.names[name]));
    const listeners: CanvasListeners = {
      onClick: (box) => this.#pick(box),
      onDoubleClick: (box) => this.#drawAround(box),
      onKey: (key, box) => this.#act(key, box),
      onHover: (box) => link.setHover(box === null ? "" : this.#opOf(box)),
      tip: (box) => this.#tip(box),
      arrowTitle: () => "reads",
    };
    this.#canvas = new GraphCanvas(listeners, signal);
    this.#select = selectBox("HLO op", signal, (at) => this.#show(Number(at)));
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

  draw(): void {
    const { selection } = this.view.link;
    this.#selected = new Set(selection);
    const isOwn = selection.length === 0 || (selection.length === 1 && selection[0] === this.#picked);
    const found = isOwn ? this.#at : graphOfOps(this.graphs, this.#selected);
    if (!isOwn) this.#picked = "";
    const next = Math.max(0, found < 0 ? this.#at : found);
    if (next === this.#at) this.#paint();
    else this.#show(next);
  }

  update(): void {
    this.draw();
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
    const amount = `${this.#amount(value)} ${isPart ? "of the fusion's estimated work" : "self time"}`;
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
    const [others, own] = [options.filter((_, i) => !isMeant[i]), options.filter((_, i) => isMeant[i])];
    const groups = [
      h("optgroup", { label: "Of the selected ops" }, ...own),
      h("optgroup", { label: "Others" }, ...others),
    ];
    this.#select.replaceChildren(...(own.length === 0 ? options : groups));
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
    say(this.#say, words.filter(Boolean).join(" · "));
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

  #drawAround(box: GraphBox): void {
    const at = this.#graphOf(box);
    if (at >= 0) this.#show(at);
  }

  setHover(name: string): void {
    this.#canvas.setHover((box) => name !== "" && this.#opOf(box) === name);
  }

  #act(key: string, box: GraphBox): boolean {
    if (key === "Enter" && this.#graphOf(box) >= 0) this.#drawAround(box);
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

class SearchBox {
  readonly #input = h("input", {
    ...{ type: "search", placeholder: "Find: text or /regex/", "aria-label": "Find a scope, op or type" },
    title: "Enter goes to the next, Shift+Enter back, Esc ends",
  });
  readonly #say = h("span.q.tfp-found", { role: "status" });
  readonly elements: readonly HTMLElement[] = [this.#input, this.#say];

  constructor(
    readonly model: TreeModel,
    readonly listeners: { onFound(): void; onGoTo(node: number): void },
    signal: AbortSignal,
  ) {
    const search = inFrame(() => this.search(), signal);
    on(this.#input, signal, { input: search });
    onKeys(this.#input, signal, (event) => this.#key(event));
  }

  /** Anew, as after a change of the tree or of the figure. */
  search(): void {
    const { model } = this;
    const text = this.#input.value;
    const { test, error } = textFilter(text);
    setAria(this.#input, "invalid", error !== "");
    model.hitAt = -1;
    if (text.trim() === "" || error !== "") model.hits = null;
    else {
      const { structure, tree } = model;
      const about = { names: structure.meta.names, typeOf: (op: number) => structure.typeOf(op) };
      const options = { isPath: text.trim().slice(1, -1).includes("/"), total: model.figures().total };
      model.hits = findNodes(tree, about, test, options);
    }
    this.#describe(error);
    this.listeners.onFound();
  }

  #describe(error = ""): void {
    const { hits, hitAt, structure, nEntries } = this.model;
    if (error !== "") this.#say.textContent = `Not searched: ${error}`;
    else if (hits === null) this.#say.textContent = "";
    else if (hitAt >= 0) this.#say.textContent = `${formatCount(hitAt + 1)} of ${formatCount(hits.length)} found`;
    else {
      const all = nEntries - 1 + structure.nOps;
      this.#say.textContent = `${formatCount(hits.length)} of ${formatCount(all)} found${hits.length > 0 ? ", Enter: next" : ""}`;
    }
  }

  #key(event: KeyboardEvent): boolean {
    const { model } = this;
    if (event.key === "Escape" && this.#input.value !== "") {
      this.#input.value = "";
      this.search();
    } else if (event.key === "Enter" && model.hits !== null && model.hits.length > 0) {
      const n = model.hits.length;
      model.hitAt = event.shiftKey ? (Math.max(0, model.hitAt) - 1 + n) % n : (model.hitAt + 1) % n;
      this.#describe();
      this.listeners.onGoTo(model.hits[model.hitAt]);
    } else return false;
    return true;
  }
}

/** So wide a node is seen in the whole. */
const WIDE_PX = 16;

class IciclePane implements IcicleSource, TreePane {
  readonly element: HTMLElement;
  readonly #place: IciclePlace;

  constructor(
    readonly model: TreeModel,
    readonly listeners: NodeListeners,
  ) {
    this.#place = new IciclePlace(this, model.view);
    const { crumbs, say, element, legend } = this.#place;
    this.element = h("div.tfp-tree-icicle", h("div.tfp-tree-line", crumbs, say), element, legend);
  }

  get tree() {
    return this.model.tree;
  }

  nameOf(row: number): string {
    return this.model.nameOf(row);
  }

  draw(): void {
    this.#place.draw();
  }

  update(): void {
    this.draw();
  }

  scene() {
    const { model } = this;
    const values = model.values(model.figure.key);
    const { own, total } = model.figures();
    const n = model.nEntries;
    const hits = model.hits === null ? null : new Set(model.hits);
    const lookOf = (cell: Cell) => cellLook(model, cell, hits);
    const times = { ownPs: own.subarray(0, n), totalPs: total.subarray(0, n) };
    return { times, psOf: (op: number) => values[op], lookOf };
  }

  goTo(node: number): void {
    const { tree } = this.model;
    const { zoom, width } = this.#place;
    const op = opOfNode(tree, node);
    const place = op >= 0 ? this.model.places[op] : tree.parent[node];
    if (!around(tree, place).includes(zoom) && zoom !== node) {
      // Where it is wide enough in all, nothing needs to be left.
      const isWide = this.model.share(node) * width >= WIDE_PX;
      this.#place.zoomTo(isWide ? 0 : Math.max(0, place));
    }
    this.draw();
  }

  setHover(name: string): void {
    this.#place.setHover((cell) => cell.kind === "op" && this.model.isNamed(cell.op, name));
  }

  nothing(): string {
    return `Nothing here has ${this.model.figure.noun} ${this.model.basis}.`;
  }

  words(zoom: number, merged: readonly string[]): readonly string[] {
    const { model } = this;
    const share = zoom === 0 ? [] : [`${formatPercent(model.share(zoom))} of ${model.figure.noun}`];
    return [amount(model, model.total(zoom)), ...share, model.basis, ...merged];
  }

  onPick(op: number): void {
    this.listeners.onPick(nodeOfOp(this.model.tree, op));
  }

  onOpen(row: number): void {
    if (row === 0) this.listeners.onClear();
    else this.listeners.onPick(row);
  }

  onHover(cell: Cell | null): Tip | null {
    const { model } = this;
    this.listeners.onHover(cell === null || cell.kind === "rest" ? null : nodeOfCell(model, cell));
    if (cell?.kind !== "rest") return cell && nodeTip(model, nodeOfCell(model, cell));
    const title = `${formatCount(cell.n)} smaller in ${model.nameOf(cell.row)}`;
    return { title, lines: [amount(model, cell.ps)] };
  }
}

const KINDS: readonly Choice<ViewKind>[] = [
  { value: "scope", text: "Scope" },
  { value: "graph", text: "Graph" },
  { value: "op", text: "Op type" },
  { value: "code", text: "Code" },
  { value: "hlo", text: "HLO" },
];

const WITH_GRAPH = 'tfprof.load("profile_100", graph="graph.pb")';

class TreeWidget {
  readonly #model: TreeModel;
  readonly #listeners: NodeListeners;
  readonly #icicle: IciclePane;
  readonly #table: TablePane;
  readonly #search: SearchBox;
  readonly #place = h("div.tfp-tree-place");
  readonly #count = h("span.q");
  readonly #figures: HTMLSelectElement;
  readonly #sides = sidesLegend();
  readonly #made = new Map<ViewKind, readonly TreePane[]>();
  #panes: readonly TreePane[] = [];

  constructor(
    readonly view: TraceView,
    structure: Structure,
  ) {
    const { signal } = view;
    const asked = KINDS.find(({ value }) => value === view.options.view)?.value ?? "scope";
    this.#model = new TreeModel(view, structure, asked);
    this.#listeners = {
      onPick: (node: number) => this.#pick(node),
      onHover: (node) => view.link.setHover(this.#model.hoverName(node)),
      onClear: () => view.link.setSelection([]),
    };
    this.#icicle = new IciclePane(this.#model, this.#listeners);
    this.#table = new TablePane(this.#model, this.#listeners, signal);
    const searching = { onFound: () => this.#draw(), onGoTo: (node: number) => this.#goTo(node) };
    this.#search = new SearchBox(this.#model, searching, signal);
    const options = structure.figures.map(({ key, text }) => h("option", { value: key }, text));
    this.#figures = selectBox("Figure", signal, (key) => this.#chooseFigure(key as FigureKey), ...options);
    view.root.append(h("div.tfp-fill", this.#toolbar(), this.#place));
    const compute = () => {
      this.#model.compute();
      this.#search.search();
    };
    follow(view, { compute, select: () => this.#follow(), hover: () => this.#showHover() });
    this.#choose(asked);
  }

  #toolbar(): HTMLElement {
    const { signal } = this.view;
    const { structure } = this.#model;
    const { n_ops, n_named } = structure.meta;
    const named = n_named < n_ops ? `${n_named.toLocaleString("en-US")} of ` : "";
    this.#count.textContent = `${named}${n_ops.toLocaleString("en-US")} ${n_ops === 1 ? "op" : "ops"}`;
    this.#count.title = named ? "The others cost least; they are summed by scope." : "";
    const choose = (kind: ViewKind) => this.#choose(kind);
    const kinds = segmented("By what the cost is cut", KINDS, this.#model.kind, choose, signal);
    const search = this.#search.elements;
    return h("div.bar", kinds, this.#figures, ...search, h("span.sp"), this.#sides, this.#count);
  }

  #choose(kind: ViewKind): void {
    this.#model.kind = kind;
    const why = this.#whyEmpty(kind);
    this.#panes = why === null ? (this.#made.get(kind) ?? this.#make(kind)) : [];
    if (why === null) this.#made.set(kind, this.#panes);
    this.#place.replaceChildren(...(why === null ? this.#panes.map(({ element }) => element) : [why]));
    this.#place.dataset.kind = kind;
    this.#figures.hidden = kind === "hlo";
    this.#showSides();
    this.#search.search();
  }

  #make(kind: ViewKind): TreePane[] {
    const { view } = this;
    if (kind === "graph") return [new GraphPane(this.#model, this.#listeners, view.signal)];
    const select = (node: number) => view.link.setSelection(this.#model.opsToSelect(node));
    if (kind === "hlo") return [new HloPane(view, this.#hlos, select)];
    return kind === "op" ? [this.#table] : [this.#icicle, this.#table];
  }

  get #hlos(): readonly HloGraphMeta[] {
    return this.view.data.meta.hlo_graphs ?? [];
  }

  #whyEmpty(kind: ViewKind): HTMLElement | null {
    const { meta } = this.#model.structure;
    const { signal } = this.view;
    const framework = frameworkOf(this.view.data.meta);
    const capture = meta.is_stored || framework !== "TensorFlow" ? "" : CAPTURE_CODE[framework];
    if (kind === "code" && meta.no_code) {
      return emptyState("No call stacks in this profile", `Lines are unknown because ${meta.no_code}`, capture, signal);
    }
    if (kind === "graph" && meta.no_edges) {
      const reason = `What feeds what is unknown because ${meta.no_edges}`;
      return emptyState("No graph of ops in this profile", reason, meta.is_stored ? WITH_GRAPH : capture, signal);
    }
    if (kind === "hlo" && this.#hlos.length === 0) {
      if (this.view.data.nRows("hlo_ops") === 0) {
        const code = COMPILE_CODE[framework];
        const why = `XLA compiled nothing that ran here${code ? ":" : "."}`;
        return emptyState("No XLA program in this capture", why, code, signal);
      }
      const reason = "What its XLA programs are made of is unknown: the trace does not hold them.";
      return emptyState("No HLO in this capture", reason, "", signal);
    }
    return null;
  }

  #chooseFigure(key: FigureKey): void {
    const figure = this.#model.structure.figures.find((one) => one.key === key);
    if (figure === undefined) return;
    this.#model.figure = figure;
    this.#showSides();
    this.#search.search();
  }

  /** What the two colours of a bar mean, where there are two. */
  #showSides(): void {
    const { figure, kind, structure } = this.#model;
    const keys = ["accelerator_micros", "cpu_micros"] as const;
    const hasBoth = keys.every((key) => structure.figures.some((known) => known.key === key));
    this.#sides.hidden = figure.key !== "micros" || kind === "graph" || kind === "hlo" || !hasBoth;
  }

  #draw(): void {
    for (const pane of this.#panes) pane.draw();
  }

  /** Selects the ops of a node, or none where exactly they are selected. */
  #pick(node: number): void {
    const names = this.#model.opsToSelect(node);
    toggleSelection(this.view.link, names);
    if (names.length > 0 && this.#model.kind !== "graph" && this.#model.hits === null) this.#table.reveal(node);
  }

  #follow(): void {
    const { link } = this.view;
    if (!this.#model.select(link.selection)) return;
    for (const pane of this.#panes) pane.update();
    if (this.#panes.includes(this.#table)) this.#revealSelected();
  }

  /** What was selected elsewhere is brought into sight, unless some of it is. */
  #revealSelected(): void {
    const { selected } = this.#model;
    if (selected.size === 0 || this.#model.hits !== null) return;
    if (this.#table.element.querySelector('[aria-selected="true"]') !== null) return;
    const first = this.#table.firstSelected();
    if (first !== null) this.#table.reveal(first);
  }

  #goTo(node: number): void {
    for (const pane of this.#panes) pane.goTo(node);
  }

  #showHover(): void {
    for (const pane of this.#panes) pane.setHover(this.view.link.hover);
  }
}

function sidesLegend(): HTMLElement {
  const onDevice = legendEntry(categorySwatch("device_compute"), "accelerators");
  return h("span.tfp-keys", onDevice, legendEntry(categorySwatch("host_compute"), "host"));
}

export const treeView: TraceBuilder = {
  name: "tree_view",
  build(view) {
    const [meta] = view.data.meta.structure ?? [];
    if (meta?.problem) {
      const reason = `They could not be worked out: ${meta.problem}`;
      view.root.append(emptyState("No views by structure", reason, "", view.signal));
    } else if (meta === undefined || meta.names.length === 0) view.root.append(noOps(view.data.meta, view.signal));
    else new TreeWidget(view, new Structure(meta));
  },
  needs: ["structure", "hlo_graphs", "steps", "step_totals"],
  forRange: ["occurrences"],
  about: "ops",
};
