/** A tree of ops and their looks -> an icicle to look into, with the way back as crumbs, words, a tooltip, and a legend. */

import { type Cell, layoutScopes, pathOf, type Rect, type ScopeTimes, type ScopeTree } from "../model/graph/scopes";
import { formatCount } from "../model/text/format";
import { crumbButtons } from "./crumbs";
import { h } from "./dom";
import { type CellLook, Icicle } from "./icicle";
import { familyLegend, legendEntry } from "./legend";
import { watchSize } from "./page";
import { createTip, type Tip } from "./plot";

/** What is narrower is merged with its like. */
const LEAST_PX = 2;
const DEFAULT_WIDTH_PX = 600;

/** What an icicle is of, and what comes of what the reader does in it. */
export interface IcicleSource {
  readonly tree: ScopeTree;
  /** The row on top where nothing was looked into. */
  readonly top: number;
  nameOf(row: number): string;
  /** To a screen reader what lies inside a row, and what the row on top is. */
  readonly spoken: { readonly parts: string; readonly shown: string };
  /** What is drawn now: the time of each row and op, and how a cell looks. */
  scene(): { readonly times: ScopeTimes; psOf(op: number): number; lookOf(cell: Cell): CellLook };
  /** About a row on top; `merged` says what was too narrow to draw. */
  words(zoom: number, merged: readonly string[]): readonly string[];
  /** Why nothing is drawn. */
  nothing(): string;
  /** Gives the words about a cell; null where the pointer left. */
  onHover(cell: Cell | null, zoom: number): Tip | null;
  onPick(op: number): void;
  /** A row is shown alone: its ops are meant, and with the top row none. */
  onOpen(row: number): void;
  hasSelection(): boolean;
  onClear(): void;
}

export class IciclePlace {
  readonly crumbs: HTMLElement;
  readonly say = h("span.tfp-say.q", { role: "status" });
  readonly legend = h("div.tfp-scope-legend");
  readonly element = h("div.tfp-icicle-place");
  readonly #icicle: Icicle;
  readonly #tip = createTip(this.element);
  /** By tree the row on top. */
  readonly #zooms = new WeakMap<ScopeTree, number>();
  #width = DEFAULT_WIDTH_PX;

  /** @param mostCrumbs of a longer path only the last entries are named */
  constructor(
    readonly source: IcicleSource,
    readonly mostCrumbs: number,
    readonly signal: AbortSignal,
  ) {
    this.crumbs = h("nav.tfp-crumbs", { "aria-label": `From all ops to ${source.spoken.shown}` });
    const onPick = (cell: Cell) => {
      this.#tip.hide();
      if (cell.kind === "op") source.onPick(cell.op);
      else this.#open(cell.row);
    };
    const onHover = (cell: Cell | null, at: HTMLElement | null) => this.#tip.about(source.onHover(cell, this.zoom), at);
    this.#icicle = new Icicle({ onPick, onHover, onOut: () => this.#out() }, signal);
    this.element.prepend(this.#icicle.element);
    const onWidth = (width: number) => {
      if (Math.round(width) === Math.round(this.#width)) return;
      this.#width = width;
      this.draw();
    };
    watchSize(this.#icicle.element, onWidth, signal);
  }

  get width(): number {
    return this.#width;
  }

  /** The row on top. */
  get zoom(): number {
    return this.#zooms.get(this.source.tree) ?? this.source.top;
  }

  zoomTo(row: number): void {
    this.#zooms.set(this.source.tree, row);
    this.draw(true);
  }

  /** @param toTop whether what is drawn has another cell on top than before */
  draw(toTop = false): void {
    const { source, zoom } = this;
    const { times, psOf, lookOf } = source.scene();
    const rects = layoutScopes(source.tree, times, psOf, zoom, LEAST_PX / Math.max(1, this.#width));
    const looks = rects.map(({ cell }) => lookOf(cell));
    this.#icicle.show(rects, looks, this.#width, toTop);
    const keys = "arrow keys move, Enter opens, Esc goes out";
    this.#icicle.element.setAttribute("aria-label", `${source.spoken.parts} ${source.nameOf(zoom)}: ${keys}`);
    const path = this.#path.map((row) => ({ row, text: row === source.top ? "All ops" : source.nameOf(row) }));
    this.crumbs.replaceChildren(...crumbButtons(path, this.mostCrumbs, (row) => this.#open(row), this.signal));
    const entries = familyLegend(new Set(looks.map(({ family }) => family)));
    if (looks.some(({ backwardRatio }) => backwardRatio > 0))
      entries.push(legendEntry(h("i.sw.bw", { style: { "--edge": "var(--ink-2)" } }), "backward part"));
    this.legend.replaceChildren(...entries);
    this.#describe(rects);
  }

  #describe(rects: readonly Rect[]): void {
    const { source, say } = this;
    const nMerged = rects.reduce((sum, { cell }) => sum + (cell.kind === "rest" ? cell.n : 0), 0);
    const merged = nMerged > 0 ? [`${formatCount(nMerged)} too narrow to draw, merged`] : [];
    say.textContent = rects.length > 0 ? source.words(this.zoom, merged).join(" · ") : source.nothing();
    say.title = say.textContent;
  }

  /** From the top row to that which is shown on top. */
  get #path(): number[] {
    const rows = pathOf(this.source.tree, this.zoom);
    return rows[0] === this.source.top ? rows : [this.source.top, ...rows];
  }

  #open(row: number): void {
    this.#tip.hide();
    this.#zooms.set(this.source.tree, row);
    this.source.onOpen(row);
    this.draw(true);
  }

  #out(): void {
    const { source, zoom } = this;
    if (zoom !== source.top) this.#open(this.#path.at(-2) ?? source.top);
    else if (source.hasSelection()) source.onClear();
    else (document.activeElement as HTMLElement | null)?.blur();
  }

  setHover(isHovered: (cell: Cell) => boolean): void {
    this.#icicle.setHover(isHovered);
  }
}
