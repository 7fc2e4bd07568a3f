/** Rectangles and looks -> an icicle in its place, with the way back as crumbs, a tooltip, and what its colours mean. */

import type { Cell, Rect } from "../model/graph/scopes";
import { type Crumb, crumbButtons } from "./crumbs";
import { h } from "./dom";
import { familyLegend } from "./family_legend";
import { type CellLook, Icicle } from "./icicle";
import { legendEntry } from "./legend";
import { watchSize } from "./page";
import { createTip, type Tip } from "./plot";

/** What is narrower is merged with its like. */
const LEAST_PX = 2;
const DEFAULT_WIDTH_PX = 600;

export interface IciclePlaceListeners {
  onPick(cell: Cell): void;
  /** Gives the words about a cell; null where the pointer left. */
  onHover(cell: Cell | null): Tip | null;
  /** Esc. */
  onOut(): void;
  /** A crumb was pressed. */
  onOpen(row: number): void;
  /** There is another width to draw for. */
  onWidth(): void;
}

/** What is drawn, and in words what it is. */
export interface IcicleScene {
  readonly rects: readonly Rect[];
  readonly looks: readonly CellLook[];
  /** For a screen reader. */
  readonly label: string;
  /** From the whole to what is on top. */
  readonly path: readonly Crumb[];
}

export class IciclePlace {
  readonly crumbs: HTMLElement;
  readonly say = h("span.tfp-say.q", { role: "status" });
  readonly legend = h("div.tfp-scope-legend");
  readonly element = h("div.tfp-icicle-place");
  readonly #icicle: Icicle;
  readonly #tip = createTip(this.element);
  #width = DEFAULT_WIDTH_PX;

  /** @param mostCrumbs of a longer path only the last entries are named */
  constructor(
    readonly listeners: IciclePlaceListeners,
    crumbsLabel: string,
    readonly mostCrumbs: number,
    readonly signal: AbortSignal,
  ) {
    this.crumbs = h("nav.tfp-crumbs", { "aria-label": crumbsLabel });
    const onPick = (cell: Cell) => {
      this.#tip.hide();
      listeners.onPick(cell);
    };
    const onHover = (cell: Cell | null, at: HTMLElement | null) => this.#tip.about(listeners.onHover(cell), at);
    this.#icicle = new Icicle({ onPick, onHover, onOut: () => listeners.onOut() }, signal);
    this.element.prepend(this.#icicle.element);
    const onWidth = (width: number) => {
      if (Math.round(width) === Math.round(this.#width)) return;
      this.#width = width;
      listeners.onWidth();
    };
    watchSize(this.#icicle.element, onWidth, signal);
  }

  get width(): number {
    return this.#width;
  }

  /** The share of the whole under which parts are merged. */
  get least(): number {
    return LEAST_PX / Math.max(1, this.#width);
  }

  /** @param toTop whether what is drawn has another cell on top than before */
  show({ rects, looks, label, path }: IcicleScene, toTop: boolean): void {
    this.#icicle.show(rects, looks, this.#width, toTop);
    this.#icicle.element.setAttribute("aria-label", label);
    const open = (row: number) => {
      this.#tip.hide();
      this.listeners.onOpen(row);
    };
    this.crumbs.replaceChildren(...crumbButtons(path, this.mostCrumbs, open, this.signal));
    const entries = familyLegend(looks);
    if (looks.some(({ backwardRatio }) => backwardRatio > 0))
      entries.push(legendEntry(h("i.sw.bw", { style: "--edge:var(--ink-2)" }), "backward part"));
    this.legend.replaceChildren(...entries);
  }

  setHover(isHovered: (cell: Cell) => boolean): void {
    this.#icicle.setHover(isHovered);
  }
}

/** How many parts are merged in what is drawn. */
export function nMerged(rects: readonly Rect[]): number {
  return rects.reduce((sum, { cell }) => sum + (cell.kind === "rest" ? cell.n : 0), 0);
}
