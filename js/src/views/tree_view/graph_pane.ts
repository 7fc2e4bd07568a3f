/** The model's ops and what feeds them -> a drawing of boxes by scope, hot where the figure is large, to open, move and select. */

import { around, opOfNode } from "../../model/graph/cost_tree";
import { heatOf, heatPercent } from "../../model/graph/heat";
import { CUT_LIMITS, cutGraph, firstOpen, type GraphBox, type OpGraphCut } from "../../model/graph/op_graph";
import { type PlacedBox, type PlacedGraph, placeOpGraph } from "../../model/graph/op_graph_layout";
import { formatCount, plural } from "../../model/text/format";
import { button, h, hasModifier, on, onKeys, svg } from "../../ui/dom";
import { textFits } from "../../ui/page";
import { createTip, type TipBox } from "../../ui/plot";
import { ArrowLayer } from "./graph_arrows";
import { boxElement, boxTip, heatLegend } from "./graph_box";
import { GraphPan } from "./graph_pan";
import type { NodeListeners, TreeModel } from "./model";

const FIRST_BOXES = 9;
const HEAD_PX = 18;

export class GraphPane {
  readonly element: HTMLElement;
  readonly #say = h("span.tfp-say.q", { role: "status" });
  readonly #legend = h("span.tfp-heat-legend");
  readonly #sheet = svg("g");
  readonly #drawing: SVGSVGElement;
  readonly #place: HTMLElement;
  readonly #tip: TipBox;
  readonly #pan: GraphPan;
  readonly #arrows = new ArrowLayer();
  #open: Set<number> | null = null;
  /** For each scope how many more boxes than usual are wanted in it. */
  readonly #more = new Map<number, number>();
  #cut: OpGraphCut = { boxes: [], arrows: [], nMerged: 0, nArrows: 0 };
  #placed: PlacedGraph | null = null;
  #boxes: SVGGElement[] = [];
  #current = 0;

  constructor(
    readonly model: TreeModel,
    readonly listeners: NodeListeners,
    readonly signal: AbortSignal,
  ) {
    this.#drawing = svg("svg.tfp-op-graph", { role: "group", "data-lm-suppress-shortcuts": "true" });
    this.#drawing.append(this.#sheet);
    this.#place = h("div.tfp-graph-place", this.#drawing);
    this.#tip = createTip(this.#place);
    this.#pan = new GraphPan(this.#drawing, this.#sheet, signal);
    this.element = h("div.tfp-tree-graph", this.#bar(), this.#place);
    onKeys(this.#drawing, signal, (event) => {
      const box = this.#cut.boxes[this.#current];
      return box !== undefined && !hasModifier(event) && this.#act(event.key, box);
    });
  }

  #bar(): HTMLElement {
    const press = (text: string, label: string, run: () => void) =>
      button(text, run, this.signal, { "aria-label": label, title: label });
    const zooms = h(
      "span.seg",
      { role: "group", "aria-label": "Zoom" },
      press("−", "Zoom out", () => this.#pan.zoom(1 / 1.3)),
      press("+", "Zoom in", () => this.#pan.zoom(1.3)),
      press("Fit", "Fit the whole graph", () => this.#fit()),
    );
    const close = press("Close all", "Close all scopes but the outermost", () => this.#closeAll());
    return h("div.tfp-tree-line", this.#say, h("span.sp"), this.#legend, close, zooms);
  }

  #closeAll(): void {
    const { tree } = this.model;
    this.#open = firstOpen(tree, this.model.figures().total, 1);
    this.#more.clear();
    this.draw();
    this.#pan.start(this.#hottest);
  }

  #fit(): void {
    this.#pan.start(null);
  }

  draw(): void {
    const { model } = this;
    const { tree, structure } = model;
    const figures = model.figures();
    const isFirst = this.#open === null;
    this.#open ??= firstOpen(tree, figures.total, FIRST_BOXES);
    const before = this.#cut.boxes[this.#current]?.id;
    this.#cut = cutGraph(tree, figures, structure.meta.edges, this.#open, { ...CUT_LIMITS, more: this.#more });
    this.#placed = placeOpGraph(this.#cut);
    const kept = this.#cut.boxes.findIndex(({ id }) => id === before);
    this.#current = Math.max(0, kept);
    this.#paint();
    this.#pan.setSize(this.#placed.width, this.#placed.height);
    if (isFirst) this.#pan.start(this.#hottest);
    this.#describe();
  }

  /** Boxes as they are placed, with other colours and marks. */
  #paint(): void {
    const placed = this.#placed;
    if (placed === null) return;
    const hadFocus = this.#drawing.contains(document.activeElement);
    const { boxes } = this.#cut;
    const largest = this.#largest;
    const fits = textFits(this.#drawing.parentElement ?? this.element, 150 - 26);
    const hits = this.model.hits === null ? null : new Set(this.model.hits);
    this.#boxes = boxes.map((box, i) => {
      const share = box.kind === "rest" ? 0 : heatOf(box.value, largest);
      const look = { heat: heatPercent(share), hits, fits, share, isCurrent: this.#isCurrent(box) };
      const element = boxElement(this.model, box, placed.boxes[i], look);
      element.setAttribute("tabindex", i === this.#current ? "0" : "-1");
      this.#listen(element, box, i);
      return element;
    });
    const frames = this.#boxes.filter((_, i) => boxes[i].isOpen);
    const others = this.#boxes.filter((_, i) => !boxes[i].isOpen);
    this.#sheet.replaceChildren(...frames, this.#arrows.draw(placed.arrows), ...others);
    if (hadFocus) this.#boxes[this.#current]?.focus({ preventScroll: true });
    this.#legend.replaceChildren(...heatLegend(this.model.figure, largest));
  }

  /** Of the boxes that are closed: an open one only holds what is inside it, and what is merged is no one thing. */
  get #largest(): number {
    return this.#cut.boxes.reduce(
      (most, { isOpen, kind, value }) => (isOpen || kind === "rest" ? most : Math.max(most, value)),
      0,
    );
  }

  /** The closed box that has most. */
  get #hottest(): PlacedBox | null {
    let best = -1;
    this.#cut.boxes.forEach(({ isOpen, kind, value }, i) => {
      if (!isOpen && kind !== "rest" && value > (this.#cut.boxes[best]?.value ?? -1)) best = i;
    });
    return this.#placed?.boxes[best] ?? null;
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
    this.#say.textContent = words.join(" · ");
    this.#say.title = this.#say.textContent;
    const keys = "arrow keys move between boxes, Enter opens a scope, Space selects, plus and minus zoom, 0 fits";
    this.#drawing.setAttribute("aria-label", `Graph of ops, data flows to the right: ${keys}`);
  }

  #listen(element: SVGGElement, box: GraphBox, i: number): void {
    const { signal, listeners } = this;
    const node = box.kind === "rest" ? null : box.id;
    on(element, signal, {
      click: (event) => {
        if (this.#pan.hasMoved) return;
        this.#current = i;
        const isTwist = event.target instanceof Element && event.target.closest(".tw") !== null;
        if (box.kind === "rest") this.#showMore(box);
        else if (isTwist) this.#toggle(box);
        else if (node !== null) listeners.onPick(node);
      },
      dblclick: () => this.#toggle(box),
      pointerenter: () => {
        listeners.onHover(node);
        this.#arrows.light(box.id);
        this.#showTip(element, box);
      },
      pointerleave: () => {
        listeners.onHover(null);
        this.#arrows.light(null);
        this.#tip.hide();
      },
      focus: () => this.#arrows.light(box.id),
      blur: () => this.#arrows.light(null),
    });
  }

  #showTip(element: SVGGElement, box: GraphBox): void {
    const { left, top, bottom } = element.getBoundingClientRect();
    // Below the name of an open box: what is inside it can be pointed at.
    this.#tip.about(boxTip(this.model, box), { left, top, bottom: box.isOpen ? top + HEAD_PX : bottom });
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

  /** Draws more of what was merged. */
  #showMore({ id }: GraphBox): void {
    const scope = -1 - id;
    this.#more.set(scope, (this.#more.get(scope) ?? 0) + CUT_LIMITS.perScope);
    this.draw();
    this.#keepInSight(id);
  }

  #keepInSight(id: number): void {
    const at = this.#cut.boxes.findIndex((box) => box.id === id);
    const box = this.#placed?.boxes[at];
    if (box !== undefined) this.#pan.show(box);
  }

  /** Opens what is around a node and moves there. */
  reveal(node: number): void {
    const { tree, structure } = this.model;
    const op = opOfNode(tree, node);
    const place = op >= 0 ? structure.meta.scope[op] : tree.parent[node];
    this.#open ??= new Set();
    for (const row of around(tree, place)) this.#open.add(row);
    this.draw();
    const found = this.#cut.boxes.find((box) => box.id === node || box.chain.includes(node));
    const at = this.#cut.boxes.findIndex(({ id }) => id === (found?.id ?? -1 - place));
    const box = this.#placed?.boxes[at];
    if (box !== undefined) this.#pan.centre(box);
  }

  setHover(name: string): void {
    this.#cut.boxes.forEach((box, i) => {
      const op = opOfNode(this.model.tree, box.id);
      this.#boxes[i]?.classList.toggle("hover", op >= 0 && this.model.isNamed(op, name));
    });
  }

  /** Draws marks anew. */
  update(): void {
    this.#paint();
  }

  #act(key: string, box: GraphBox): boolean {
    const isPress = key === "Enter" || key === " ";
    if (key === "Enter" && box.kind === "scope") this.#toggle(box);
    else if (isPress && box.kind === "rest") this.#showMore(box);
    else if (isPress) this.listeners.onPick(box.id);
    else if (key === "+" || key === "=") this.#pan.zoom(1.3);
    else if (key === "-") this.#pan.zoom(1 / 1.3);
    else if (key === "0") this.#fit();
    else if (key === "Escape" && this.model.selected.size > 0) this.listeners.onClear();
    else if (key.startsWith("Arrow")) this.#walk(key);
    else return false;
    return true;
  }

  /** To the nearest box in a direction. */
  #walk(key: string): void {
    const boxes = this.#placed?.boxes ?? [];
    const now = boxes[this.#current];
    if (now === undefined) return;
    const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    const isAcross = key === "ArrowRight" || key === "ArrowLeft";
    let best = -1;
    let least = Infinity;
    boxes.forEach((box, i) => {
      const dx = box.x - now.x;
      const dy = box.y - now.y;
      const along = sign * (isAcross ? dx : dy);
      if (i === this.#current || along <= 0) return;
      const cost = along + 3 * Math.abs(isAcross ? dy : dx);
      if (cost < least) [best, least] = [i, cost];
    });
    if (best < 0) return;
    this.#boxes[this.#current]?.setAttribute("tabindex", "-1");
    this.#current = best;
    this.#boxes[best].setAttribute("tabindex", "0");
    this.#boxes[best].focus({ preventScroll: true });
    this.#pan.show(boxes[best]);
  }
}
