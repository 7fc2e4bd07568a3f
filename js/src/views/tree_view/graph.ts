/** The graph of ops as boxes by scope, hot where the figure is large, to open, move, zoom and select. */

import { cutNames } from "../../model/names";
import {
  CUT_LIMITS,
  cutGraph,
  firstOpen,
  type GraphBox,
  heatMarks,
  heatOf,
  heatPercent,
  type OpGraphCut,
  type PlacedBox,
  placeOpGraph,
} from "../../model/op_graph";
import { opsUnder } from "../../model/scopes";
import { around, formatFigure, nodeOfOp, opOfNode } from "../../model/structure";
import { formatCount, formatPercent, plural } from "../../model/text";
import { h, say, svg, textFits, unspoken } from "../../ui/dom";
import { type CanvasListeners, GraphCanvas } from "../../ui/graph";
import type { Tip } from "../../ui/plot";
import { type NodeListeners, nodeTip, type TreeModel } from "./table";

interface BoxLook extends BoxWords {
  /** Per cent of the hot colour. */
  readonly heat: number;
  /** Of the largest. */
  readonly share: number;
  readonly isCurrent: boolean;
  readonly fits: (text: string) => boolean;
}

export interface BoxWords extends Readonly<Record<"name" | "figure" | "note" | "spoken", string>> {
  readonly marked: "all" | "some" | "none";
  readonly found?: "hit" | "dim" | undefined;
  /** The whole name, by which tests and style sheets find it. */
  readonly node?: string | undefined;
}

export function boxElement({ kind, isOpen }: GraphBox, place: PlacedBox, look: BoxLook): SVGGElement {
  const { x, y, width, height } = place;
  const { name, figure, marked } = look;
  const states = [isOpen && "open", marked === "some" && "some", look.found, look.isCurrent && "current"];
  const group = svg("g", {
    class: ["box", kind, ...states].filter(Boolean).join(" "),
    transform: `translate(${x} ${y})`,
    role: "button",
    "aria-description": look.spoken,
    "aria-pressed": kind === "rest" ? undefined : String(marked === "all"),
    "aria-expanded": kind === "scope" ? String(isOpen) : undefined,
    "data-node": look.node,
  });
  group.style.setProperty("--heat", `${isOpen ? 0 : look.heat}%`);
  const shape = { x: 0.5, y: 0.5, width: Math.max(0, width - 1), height: Math.max(0, height - 1), rx: 3 };
  group.append(svg("rect.ground", { ...shape }));
  const lead = kind === "scope" ? 18 : 7;
  if (kind === "scope") group.append(twist(isOpen));
  const fits = isOpen ? (text: string) => text.length * 6.2 + figure.length * 6.2 < width - lead - 20 : look.fits;
  const text = cutNames([name], fits).get(name) ?? name;
  group.append(svg("text.nm", { x: lead, y: 15 }, `${text} `));
  if (isOpen) group.append(svg("text.v", { x: width - 7, y: 15, "text-anchor": "end" }, figure));
  else group.append(...figures(look, lead, place));
  return group;
}

function figures({ figure, note, share }: BoxLook, lead: number, { width, height }: PlacedBox): SVGElement[] {
  const parts: SVGElement[] = [svg("text.v", { x: lead, y: 30 }, `${figure} `)];
  if (note) parts.push(svg("text.v.q", { x: width - 7, y: 30, "text-anchor": "end" }, note));
  const length = Math.max(share > 0 ? 1 : 0, share * (width - 2));
  parts.push(svg("rect.len", { x: 1, y: height - 5, width: length, height: 4 }));
  return parts;
}

/** Opens or closes a scope. */
function twist(isOpen: boolean): SVGGElement {
  const sign = svg("path", { d: isOpen ? "M5 7 h8 l-4 6 z" : "M6 6 v8 l6 -4 z" });
  return svg("g.tw", { "aria-hidden": "true" }, svg("rect", { x: 0, y: 0, width: 18, height: 20 }), sign);
}

/** What the box of a scope, an op or the rest says. */
function scopeBoxLook(model: TreeModel, box: GraphBox, hits: ReadonlySet<number> | null): BoxWords {
  const name = boxName(model, box);
  const figure = formatFigure(model.figure, box.value);
  const note = box.kind === "op" ? "" : plural(box.nOps, "op");
  const found = hits === null ? undefined : hasHit(model, box, hits) ? "hit" : "dim";
  const known = box.kind === "rest" ? undefined : model.fullName(box.id);
  const marked = box.kind === "rest" ? "none" : model.marked(box.id);
  const words = { name, figure, note, spoken: `${name}: ${[figure, note].filter(Boolean).join(", ")}` };
  return { ...words, marked, found, node: known };
}

function boxName(model: TreeModel, box: GraphBox): string {
  if (box.kind === "rest") return `${plural(box.nOps, "smaller op")}`;
  if (box.kind === "op") return model.nameOf(box.id);
  return box.chain.map((row) => model.nameOf(row)).join("/");
}

function hasHit(model: TreeModel, box: GraphBox, hits: ReadonlySet<number>): boolean {
  const { tree } = model;
  if (box.kind === "rest") return false;
  if (hits.has(box.id) || box.chain.some((row) => hits.has(row))) return true;
  return box.kind === "scope" && opsUnder(tree, box.id).some((op) => hits.has(nodeOfOp(tree, op)));
}

function boxTip(model: TreeModel, box: GraphBox): Tip {
  if (box.kind === "rest") {
    const share = formatPercent(model.whole > 0 ? box.value / model.whole : 0);
    const figure = `${formatFigure(model.figure, box.value)} · ${share} of ${model.figure.noun}`;
    const why = "each costs less than what is drawn beside it; click for more";
    return { title: boxName(model, box), lines: [figure, why] };
  }
  const tip = nodeTip(model, box.id);
  const what = box.kind === "op" ? "click selects" : "click selects its ops, double click or ▸ opens it";
  return { ...tip, lines: [...tip.lines, what] };
}

export function heatLegend(text: string, largest: number, format: (value: number) => string): HTMLElement[] {
  const name = h("span.q", text);
  if (!(largest > 0)) return [name, h("span", "none")];
  const [none, , most] = heatMarks(largest).map(format);
  return [name, h("span", none), unspoken("i.ramp"), h("span", most)];
}

const FIRST_BOXES = 9;

export class GraphPane {
  readonly element: HTMLElement;
  readonly #say = h("span.tfp-say.q", { role: "status" });
  readonly #legend = h("span.tfp-heat-legend");
  readonly #canvas: GraphCanvas;
  #open: Set<number> | null = null;
  /** For each scope how many more boxes than usual are wanted in it. */
  readonly #more = new Map<number, number>();
  #cut: OpGraphCut = { boxes: [], arrows: [], nMerged: 0, nArrows: 0 };

  constructor(
    readonly model: TreeModel,
    readonly listeners: NodeListeners,
    signal: AbortSignal,
  ) {
    const toggle = (box: GraphBox) => this.#toggle(box);
    const listening: CanvasListeners = {
      onClick: (box, event) => this.#click(box, event),
      onDoubleClick: toggle,
      onKey: (key, box) => this.#act(key, box),
      onHover: (box) => listeners.onHover(box === null || box.kind === "rest" ? null : box.id),
      tip: (box) => boxTip(this.model, box),
      arrowTitle: ({ isControl, n }) => (isControl ? "control only" : plural(n, "tensor")),
    };
    this.#canvas = new GraphCanvas(listening, signal);
    const close = this.#canvas.button("Close all", "Close all scopes but the outermost", () => this.#closeAll());
    const bar = h("div.tfp-tree-line", this.#say, h("span.sp"), this.#legend, close, this.#canvas.zooms);
    this.element = h("div.tfp-tree-graph", bar, this.#canvas.element);
  }

  #closeAll(): void {
    const { tree } = this.model;
    this.#open = firstOpen(tree, this.model.figures().total, 1);
    this.#more.clear();
    this.draw();
    this.#canvas.start(this.#hottest);
  }

  draw(): void {
    const { model } = this;
    const { tree, structure } = model;
    const figures = model.figures();
    const isFirst = this.#open === null;
    this.#open ??= firstOpen(tree, figures.total, FIRST_BOXES);
    this.#cut = cutGraph(tree, figures, structure.edges, this.#open, { ...CUT_LIMITS, more: this.#more });
    this.#canvas.set(this.#cut.boxes, placeOpGraph(this.#cut));
    this.update();
    if (isFirst) this.#canvas.start(this.#hottest);
    this.#describe();
  }

  update(): void {
    const largest = this.#hottest?.value ?? 0;
    const fits = textFits(this.#canvas.element, 150 - 26);
    const hits = this.model.hits === null ? null : new Set(this.model.hits);
    this.#canvas.paint((box, place) => {
      const share = box.kind === "rest" ? 0 : heatOf(box.value, largest);
      const look = { heat: heatPercent(share), fits, share, isCurrent: this.#isCurrent(box) };
      return boxElement(box, place, { ...look, ...scopeBoxLook(this.model, box, hits) });
    });
    const { figure } = this.model;
    this.#legend.replaceChildren(...heatLegend(figure.text, largest, (value) => formatFigure(figure, value)));
  }

  /** Of the boxes that are closed: an open one only holds what is inside it, and what is merged is no one thing. */
  get #hottest(): GraphBox | undefined {
    let best: GraphBox | undefined;
    for (const box of this.#cut.boxes) {
      if (!box.isOpen && box.kind !== "rest" && box.value > (best?.value ?? -1)) best = box;
    }
    return best;
  }

  #isCurrent({ id, isOpen }: GraphBox): boolean {
    const { hits, hitAt, tree } = this.model;
    const hit = hits?.[hitAt];
    return !isOpen && hit !== undefined && (id === hit || (id < tree.entries.length && this.#isIn(hit, id)));
  }

  #isIn(node: number, scope: number): boolean {
    const { tree, structure } = this.model;
    const op = opOfNode(tree, node);
    return around(tree, op >= 0 ? structure.meta.scope[op] : node).includes(scope);
  }

  #describe(): void {
    const { model } = this;
    const { boxes, arrows, nMerged, nArrows } = this.#cut;
    const { n_ops, n_edges, edges } = model.structure.meta;
    const closed = boxes.filter(({ isOpen }) => !isOpen).length;
    const words = [`${plural(n_ops, "op")} in ${formatCount(closed)} boxes`, model.basis];
    if (nMerged > 0) words.push(`${formatCount(nMerged)} of ${formatCount(n_ops)} ops merged as “smaller”`);
    if (nArrows > arrows.length) words.push(`${formatCount(arrows.length)} of ${plural(nArrows, "arrow")} drawn`);
    if (edges.op.length < n_edges)
      words.push(`${formatCount(edges.op.length)} of ${plural(n_edges, "edge")} known here`);
    say(this.#say, words.join(" · "));
    const keys = "arrow keys move between boxes, Enter opens a scope, Space selects, plus and minus zoom, 0 fits";
    this.#canvas.describe(`Graph of ops, data flows to the right: ${keys}`);
  }

  #click(box: GraphBox, event: MouseEvent): void {
    const isTwist = event.target instanceof Element && event.target.closest(".tw") !== null;
    if (box.kind === "rest") this.#showMore(box);
    else if (isTwist) this.#toggle(box);
    else this.listeners.onPick(box.id);
  }

  #toggle({ kind, id, chain, isOpen }: GraphBox): void {
    if (kind !== "scope") return;
    this.#open ??= new Set();
    for (const row of chain) {
      if (isOpen) this.#open.delete(row);
      else this.#open.add(row);
    }
    this.draw();
    this.#keepInSight(id);
  }

  #showMore({ id }: GraphBox): void {
    const scope = -1 - id;
    this.#more.set(scope, (this.#more.get(scope) ?? 0) + CUT_LIMITS.perScope);
    this.draw();
    this.#keepInSight(id);
  }

  #keepInSight(id: number): void {
    this.#canvas.show(this.#cut.boxes.find((box) => box.id === id));
  }

  goTo(node: number): void {
    const { tree, structure } = this.model;
    const op = opOfNode(tree, node);
    const place = op >= 0 ? structure.meta.scope[op] : tree.parent[node];
    this.#open ??= new Set();
    for (const row of around(tree, place)) this.#open.add(row);
    this.draw();
    const found = this.#cut.boxes.find((box) => box.id === node || box.chain.includes(node));
    this.#canvas.centre(found ?? this.#cut.boxes.find(({ id }) => id === -1 - place));
  }

  setHover(name: string): void {
    this.#canvas.setHover((box) => {
      const op = opOfNode(this.model.tree, box.id);
      return op >= 0 && this.model.isNamed(op, name);
    });
  }

  #act(key: string, box: GraphBox): boolean {
    const isPress = key === "Enter" || key === " ";
    if (key === "Enter" && box.kind === "scope") this.#toggle(box);
    else if (isPress && box.kind === "rest") this.#showMore(box);
    else if (isPress) this.listeners.onPick(box.id);
    else if (key === "Escape" && this.model.selected.size > 0) this.listeners.onClear();
    else return false;
    return true;
  }
}
