/** The model's ops and what feeds them -> a drawing of boxes by scope, hot where the figure is large, to open, move and select. */

import { around, opOfNode } from "../../model/graph/cost_tree";
import { heatOf, heatPercent } from "../../model/graph/heat";
import { CUT_LIMITS, cutGraph, firstOpen, type GraphBox, type OpGraphCut } from "../../model/graph/op_graph";
import { placeOpGraph } from "../../model/graph/op_graph_layout";
import { formatFigure } from "../../model/graph/structure";
import { formatCount, plural } from "../../model/text/format";
import { h } from "../../ui/dom";
import { textFits } from "../../ui/page";
import { boxElement, boxTip, heatLegend, scopeBoxLook } from "./graph_box";
import { GraphCanvas } from "./graph_canvas";
import type { NodeListeners, TreeModel } from "./model";

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
    this.#canvas = new GraphCanvas(
      {
        onClick: (box, event) => this.#click(box, event),
        onDoubleClick: (box) => this.#toggle(box),
        onKey: (key, box) => this.#act(key, box),
        onHover: (box) => listeners.onHover(box === null || box.kind === "rest" ? null : box.id),
        tip: (box) => boxTip(this.model, box),
      },
      signal,
    );
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
    this.#cut = cutGraph(tree, figures, structure.meta.edges, this.#open, { ...CUT_LIMITS, more: this.#more });
    this.#canvas.set(this.#cut.boxes, placeOpGraph(this.#cut));
    this.update();
    if (isFirst) this.#canvas.start(this.#hottest);
    this.#describe();
  }

  /** Boxes as they are placed, with other colours and marks. */
  update(): void {
    const largest = this.#largest;
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
  get #largest(): number {
    return this.#hottest?.value ?? 0;
  }

  /** The closed box that has most. */
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
    this.#say.textContent = words.join(" · ");
    this.#say.title = this.#say.textContent;
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

  /** Draws more of what was merged. */
  #showMore({ id }: GraphBox): void {
    const scope = -1 - id;
    this.#more.set(scope, (this.#more.get(scope) ?? 0) + CUT_LIMITS.perScope);
    this.draw();
    this.#keepInSight(id);
  }

  #keepInSight(id: number): void {
    this.#canvas.show(this.#cut.boxes.find((box) => box.id === id));
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
