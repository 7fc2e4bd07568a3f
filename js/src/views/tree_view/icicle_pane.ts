/** The model's tree -> an icicle to look into, the way back as crumbs, and what its colours mean. */

import { around, nodeOfOp, opOfNode } from "../../model/graph/cost_tree";
import type { Cell } from "../../model/graph/scopes";
import { formatCount, formatPercent } from "../../model/text/format";
import { h } from "../../ui/dom";
import { IciclePlace, type IcicleSource } from "../../ui/icicle_place";
import type { Tip } from "../../ui/plot";
import type { NodeListeners, TreeModel } from "./model";
import { amount, cellLook, nodeOfCell, nodeTip } from "./words";

const MOST_CRUMBS = 5;
/** So wide a node is seen in the whole. */
const WIDE_PX = 16;

export class IciclePane implements IcicleSource {
  readonly element: HTMLElement;
  readonly top = 0;
  readonly spoken = { parts: "Inside", shown: "what is shown" };
  readonly #place: IciclePlace;

  constructor(
    readonly model: TreeModel,
    readonly listeners: NodeListeners,
    signal: AbortSignal,
  ) {
    this.#place = new IciclePlace(this, MOST_CRUMBS, signal);
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

  scene() {
    const { model } = this;
    const values = model.values(model.figure.key);
    const { own, total } = model.figures();
    const n = model.nEntries;
    const hits = model.hits === null ? null : new Set(model.hits);
    return {
      times: { ownPs: own.subarray(0, n), totalPs: total.subarray(0, n), wholePs: model.whole },
      psOf: (op: number) => values[op],
      lookOf: (cell: Cell) => cellLook(model, cell, hits),
    };
  }

  /** Zooms so that a node is seen. */
  reveal(node: number): void {
    const { tree } = this.model;
    const { zoom, width } = this.#place;
    const op = opOfNode(tree, node);
    const place = op >= 0 ? this.model.places[op] : tree.parent[node];
    if (around(tree, place).includes(zoom) || zoom === node) return;
    // Where it is wide enough in all, nothing needs to be left.
    const isWide = this.model.share(node) * width >= WIDE_PX;
    this.#place.zoomTo(isWide ? 0 : Math.max(0, place));
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

  hasSelection(): boolean {
    return this.model.selected.size > 0;
  }

  onClear(): void {
    this.listeners.onClear();
  }

  onHover(cell: Cell | null): Tip | null {
    const { model } = this;
    this.listeners.onHover(cell === null || cell.kind === "rest" ? null : nodeOfCell(model, cell));
    if (cell?.kind !== "rest") return cell && nodeTip(model, nodeOfCell(model, cell));
    const title = `${formatCount(cell.n)} smaller in ${model.nameOf(cell.row)}`;
    return { title, lines: [amount(model, cell.ps)] };
  }
}
