/** The model's tree -> an icicle to look into, the way back as crumbs, and what its colours mean. */

import { around, nodeOfOp, opOfNode } from "../../model/graph/cost_tree";
import { type Cell, layoutScopes, pathOf, type Rect } from "../../model/graph/scopes";
import { formatCount, formatPercent } from "../../model/text/format";
import { h } from "../../ui/dom";
import { IciclePlace, nMerged } from "../../ui/icicle_place";
import type { Tip } from "../../ui/plot";
import type { NodeListeners, TreeModel } from "./model";
import { amount, cellLook, nodeOfCell, nodeTip } from "./words";

const MOST_CRUMBS = 5;
/** So wide a node is seen in the whole. */
const WIDE_PX = 16;

export class IciclePane {
  readonly element: HTMLElement;
  readonly #place: IciclePlace;
  /** By tree the entry on top. */
  readonly #zooms = new Map<string, number>();

  constructor(
    readonly model: TreeModel,
    readonly listeners: NodeListeners,
    signal: AbortSignal,
  ) {
    this.#place = new IciclePlace(
      {
        onPick: (cell) => this.#pick(cell),
        onHover: (cell) => this.#hover(cell),
        onOut: () => this.#out(),
        onOpen: (row) => this.#open(row),
        onWidth: () => this.draw(false),
      },
      "From all ops to what is shown",
      MOST_CRUMBS,
      signal,
    );
    const { crumbs, say, element, legend } = this.#place;
    this.element = h("div.tfp-tree-icicle", h("div.tfp-tree-line", crumbs, say), element, legend);
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
    const rects = layoutScopes(model.tree, times, (op) => values[op], this.zoom, this.#place.least);
    const hits = model.hits === null ? null : new Set(model.hits);
    const looks = rects.map(({ cell }) => cellLook(model, cell, hits));
    const label = `Inside ${model.nameOf(this.zoom)}: arrow keys move, Enter opens, Esc goes out`;
    const path = pathOf(model.tree, this.zoom).map((row) => ({ row, text: model.nameOf(row) }));
    this.#place.show({ rects, looks, label, path }, toTop);
    this.#describe(rects);
  }

  /** Zooms so that a node is seen. */
  reveal(node: number): void {
    const { tree } = this.model;
    const op = opOfNode(tree, node);
    const place = op >= 0 ? this.model.places[op] : tree.parent[node];
    if (around(tree, place).includes(this.zoom) || this.zoom === node) return;
    // Where it is wide enough in all, nothing needs to be left.
    const isWide = this.model.share(node) * this.#place.width >= WIDE_PX;
    this.#zooms.set(this.model.treeKind, isWide ? 0 : Math.max(0, place));
    this.draw(true);
  }

  setHover(name: string): void {
    this.#place.setHover((cell) => cell.kind === "op" && this.model.isNamed(cell.op, name));
  }

  #describe(rects: readonly Rect[]): void {
    const { model } = this;
    const { say } = this.#place;
    if (rects.length === 0) {
      say.textContent = `Nothing here has ${model.figure.noun} ${model.basis}.`;
      return;
    }
    const merged = nMerged(rects);
    const words = [amount(model, model.total(this.zoom))];
    if (this.zoom !== 0) words.push(`${formatPercent(model.share(this.zoom))} of ${model.figure.noun}`);
    words.push(model.basis);
    if (merged > 0) words.push(`${formatCount(merged)} too narrow to draw, merged`);
    say.textContent = words.join(" · ");
    say.title = say.textContent;
  }

  #pick(cell: Cell): void {
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

  #hover(cell: Cell | null): Tip | null {
    const { model } = this;
    this.listeners.onHover(cell === null || cell.kind === "rest" ? null : nodeOfCell(model, cell));
    if (cell?.kind !== "rest") return cell && nodeTip(model, nodeOfCell(model, cell));
    const title = `${formatCount(cell.n)} smaller in ${model.nameOf(cell.row)}`;
    return { title, lines: [amount(model, cell.ps)] };
  }
}
