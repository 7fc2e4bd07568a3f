/** The model's tree -> an icicle to look into, the way back as crumbs, and what its colours mean. */

import { around, nodeOfOp, opOfNode } from "../../model/graph/cost_tree";
import { type Cell, layoutScopes, pathOf, type Rect } from "../../model/graph/scopes";
import { formatCount, formatPercent } from "../../model/text/format";
import { crumbButtons } from "../../ui/crumbs";
import { h } from "../../ui/dom";
import { familyLegend } from "../../ui/family_legend";
import { Icicle } from "../../ui/icicle";
import { watchSize } from "../../ui/page";
import { createTip } from "../../ui/plot";
import { tipPlace } from "../../ui/tip_place";
import type { TreeModel } from "./model";
import { amount, cellLook, nodeOfCell, nodeTip } from "./words";

/** What is narrower is merged with its like. */
const LEAST_PX = 2;
const DEFAULT_WIDTH_PX = 600;
/** Of a deeper path only the last entries are named. */
const MOST_CRUMBS = 5;

export interface IciclePaneListeners {
  /** A node was clicked: its ops are meant. */
  onPick(node: number): void;
  onClear(): void;
  onHover(node: number | null): void;
}

export class IciclePane {
  readonly element: HTMLElement;
  readonly #icicle: Icicle;
  readonly #crumbs = h("nav", { class: "tfp-crumbs", "aria-label": "From all ops to what is shown" });
  readonly #say = h("span", { class: "tfp-say q", role: "status" });
  readonly #legend = h("div", { class: "tfp-scope-legend" });
  readonly #place = h("div", { class: "tfp-icicle-place" });
  readonly #tip: ReturnType<typeof createTip>;
  /** By tree the entry on top. */
  readonly #zooms = new Map<string, number>();
  #width = DEFAULT_WIDTH_PX;

  constructor(
    readonly model: TreeModel,
    readonly listeners: IciclePaneListeners,
    readonly signal: AbortSignal,
  ) {
    this.#icicle = new Icicle(
      {
        onPick: (cell) => this.#pick(cell),
        onHover: (cell, element) => this.#hover(cell, element),
        onOut: () => this.#out(),
      },
      signal,
    );
    this.#place.append(this.#icicle.element);
    this.#tip = createTip(this.#place);
    const line = h("div", { class: "tfp-tree-line" }, this.#crumbs, this.#say);
    this.element = h("div", { class: "tfp-tree-icicle" }, line, this.#place, this.#legend);
    watchSize(
      this.#icicle.element,
      (width) => {
        if (Math.round(width) === Math.round(this.#width)) return;
        this.#width = width;
        this.draw(false);
      },
      signal,
    );
  }

  get zoom(): number {
    return this.#zooms.get(this.model.treeKind) ?? 0;
  }

  draw(toTop: boolean): void {
    const { model } = this;
    const values = model.values(model.figure.key);
    const { own, total } = model.figures();
    const n = model.nEntries;
    const times = { ownPs: own.subarray(0, n), totalPs: total.subarray(0, n), wholePs: model.whole };
    const least = LEAST_PX / Math.max(1, this.#width);
    const rects = layoutScopes(model.tree, times, (op) => values[op], this.zoom, least);
    const hits = model.hits === null ? null : new Set(model.hits);
    const looks = rects.map(({ cell }) => cellLook(model, cell, hits));
    this.#icicle.show(rects, looks, this.#width, toTop);
    const label = `Inside ${model.nameOf(this.zoom)}: arrow keys move, Enter opens, Esc goes out`;
    this.#icicle.element.setAttribute("aria-label", label);
    const path = pathOf(model.tree, this.zoom).map((row) => ({ row, text: model.nameOf(row) }));
    this.#crumbs.replaceChildren(...crumbButtons(path, MOST_CRUMBS, (row) => this.#open(row), this.signal));
    this.#legend.replaceChildren(...familyLegend(looks));
    this.#describe(rects);
  }

  /** Zooms so that a node is seen. */
  reveal(node: number): void {
    const { tree } = this.model;
    const op = opOfNode(tree, node);
    const place = op >= 0 ? this.model.places[op] : tree.parent[node];
    if (around(tree, place).includes(this.zoom) || this.zoom === node) return;
    // Where it is wide enough in all, nothing needs to be left.
    const isWide = this.model.share(node) * this.#width >= LEAST_PX * 8;
    this.#zooms.set(this.model.treeKind, isWide ? 0 : Math.max(0, place));
    this.draw(true);
  }

  setHover(name: string): void {
    this.#icicle.setHover((cell) => cell.kind === "op" && this.model.isNamed(cell.op, name));
  }

  #describe(rects: readonly Rect[]): void {
    const { model } = this;
    if (rects.length === 0) {
      this.#say.textContent = `Nothing here has ${model.figure.noun} ${model.basis}.`;
      return;
    }
    const merged = rects.reduce((sum, { cell }) => sum + (cell.kind === "rest" ? cell.n : 0), 0);
    const words = [amount(model, model.total(this.zoom))];
    if (this.zoom !== 0) words.push(`${formatPercent(model.share(this.zoom))} of ${model.figure.noun}`);
    words.push(model.basis);
    if (merged > 0) words.push(`${formatCount(merged)} too narrow to draw, merged`);
    this.#say.textContent = words.join(" · ");
    this.#say.title = this.#say.textContent;
  }

  #pick(cell: Cell): void {
    this.#tip.hide();
    if (cell.kind === "op") this.listeners.onPick(nodeOfOp(this.model.tree, cell.op));
    else this.#open(cell.row);
  }

  /** Shows an entry alone and selects its ops; the whole selects none. */
  #open(row: number): void {
    this.#zooms.set(this.model.treeKind, row);
    if (row === 0) this.listeners.onClear();
    else this.listeners.onPick(row);
    this.draw(true);
  }

  #out(): void {
    const { tree, selected } = this.model;
    if (this.zoom !== 0) this.#open(Math.max(0, tree.parent[this.zoom]));
    else if (selected.size > 0) this.listeners.onClear();
    else (document.activeElement as HTMLElement | null)?.blur();
  }

  #hover(cell: Cell | null, element: HTMLElement | null): void {
    const { model } = this;
    this.listeners.onHover(cell === null || cell.kind === "rest" ? null : nodeOfCell(model, cell));
    if (cell === null || element === null) {
      this.#tip.hide();
      return;
    }
    const { x, y } = tipPlace(this.#place, element);
    const tip =
      cell.kind === "rest"
        ? { title: `${formatCount(cell.n)} smaller in ${model.nameOf(cell.row)}`, lines: [amount(model, cell.ps)] }
        : nodeTip(model, nodeOfCell(model, cell));
    this.#tip.show(x, y, tip);
  }
}
