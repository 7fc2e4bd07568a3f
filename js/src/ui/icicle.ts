/** An icicle of buttons to look into: rectangles, crumbs, words, keys and a legend. */

import { cutNames } from "../model/names";
import {
  type Cell,
  layoutScopes,
  neighbourOf,
  pathOf,
  type Rect,
  type ScopeTimes,
  type ScopeTree,
} from "../model/scopes";
import { formatCount } from "../model/text";
import { crumbButtons } from "./controls";
import { h, on, onKeys, say, textWidth, watchSize } from "./dom";
import { type Tip, TipBox } from "./plot";
import { familyColors, familyLegend } from "./share_bar";
import type { TraceView } from "./view";

const ROW_PX = 22;
const PADDING_PX = 9;
/** A rectangle under this is drawn in its edge colour. */
const MIN_FILL_PX = 3;
const MIN_LABEL_PX = 34;
/** A name cut to less says nothing. */
const MIN_LABEL = 5;

export interface CellLook extends Readonly<Record<"label" | "figure" | "spoken", string>> {
  /** Slice family, or "" for what is no slice. */
  readonly family: string;
  readonly selected: "all" | "some" | "none";
  /** Whether a search found it; undefined while nothing is sought. */
  readonly found?: boolean | undefined;
}

interface Drawn {
  readonly rect: Rect;
  readonly element: HTMLButtonElement;
}

function sameCell(a: Cell, b: Cell): boolean {
  if (a.kind === "op" && b.kind === "op") return a.op === b.op;
  return a.kind === b.kind && a.row === b.row;
}

function cellElement(
  rect: Rect,
  look: CellLook,
  widthPx: number,
  widthOf: (text: string) => number,
): HTMLButtonElement {
  const { cell, level, x0, x1 } = rect;
  const px = (x1 - x0) * widthPx;
  const found = look.found === undefined ? "" : look.found ? " hit" : " dim";
  const element = h("button", {
    type: "button",
    class: `cell ${cell.kind}${look.selected === "some" ? " some" : ""}${found}`,
    // The name is what can be read on it; what there is no room for describes it.
    "aria-label": px < MIN_LABEL_PX ? look.spoken : undefined,
    "aria-description": look.spoken,
    "aria-pressed": cell.kind === "rest" ? undefined : String(look.selected === "all"),
    style: {
      left: `${x0 * 100}%`,
      width: `max(1px, calc(${(x1 - x0) * 100}% - ${px > MIN_FILL_PX ? 1 : 0}px))`,
      top: `${level * ROW_PX}px`,
      ...familyColors(look.family || "mixed"),
    },
  });
  if (px < (cell.kind === "rest" ? MIN_LABEL_PX : MIN_FILL_PX)) element.classList.add("thin");
  if (px >= MIN_LABEL_PX) {
    const room = px - PADDING_PX;
    const text = cutLabel(cell, look.label, (cut) => widthOf(cut) <= room);
    element.append(h("span.name", text));
    if (widthOf(text) + widthOf(look.figure) + 14 < room) element.append(h("span.v", ` ${look.figure}`));
  }
  return element;
}

function cutLabel(cell: Cell, label: string, fits: (text: string) => boolean): string {
  if (cell.kind === "rest") return [label, `+${formatCount(cell.n)}`].find(fits) ?? "";
  const text = cutNames([label], fits).get(label) ?? "";
  return text === label || text.length >= MIN_LABEL ? text : "";
}

export function restLabel(n: number): string {
  return `${formatCount(n)} smaller`;
}

/** What is narrower is merged with its like. */
const LEAST_PX = 2;
const DEFAULT_WIDTH_PX = 600;
/** Of a longer path only the last entries are named. */
const MOST_CRUMBS = 5;
/** The row on top where nothing was looked into. */
const ROOT = 0;

export interface IcicleSource {
  readonly tree: ScopeTree;
  nameOf(row: number): string;
  scene(): { readonly times: ScopeTimes; psOf(op: number): number; lookOf(cell: Cell): CellLook };
  words(zoom: number, merged: readonly string[]): readonly string[];
  nothing(): string;
  /** Gives the words about a cell; null where the pointer left. */
  onHover(cell: Cell | null): Tip | null;
  onPick(op: number): void;
  /** A row is shown alone: its ops are meant, and with the root none. */
  onOpen(row: number): void;
}

export class IciclePlace {
  readonly crumbs: HTMLElement;
  readonly say = h("span.tfp-say.q", { role: "status" });
  readonly legend = h("div.tfp-scope-legend");
  readonly element: HTMLElement;
  readonly #sheet = h("div.sheet");
  readonly #icicle = h("div.tfp-icicle", { role: "group" }, this.#sheet);
  readonly #tip: TipBox;
  readonly #zooms = new WeakMap<ScopeTree, number>();
  #drawn: readonly Drawn[] = [];
  /** The rectangle that keys are at. */
  #current = 0;
  #width = DEFAULT_WIDTH_PX;

  constructor(
    readonly source: IcicleSource,
    readonly view: Pick<TraceView, "link" | "signal">,
  ) {
    const { signal } = view;
    this.crumbs = h("nav.tfp-crumbs", { "aria-label": "From all ops to what is shown" });
    this.element = h("div.tfp-icicle-place", this.#icicle);
    this.#tip = new TipBox(this.element);
    on(this.#sheet, signal, {
      click: (event) => this.#pick(this.#drawnOf(event.target)),
      pointerover: (event) => this.#hover(this.#drawnOf(event.target)),
      pointerleave: () => this.#hover(undefined),
    });
    onKeys(this.#icicle, signal, (event) => this.#key(event));
    watchSize(this.#icicle, signal, (width) => {
      if (Math.round(width) === Math.round(this.#width)) return;
      this.#width = width;
      this.draw();
    });
  }

  #drawnOf(target: EventTarget | null): Drawn | undefined {
    const element = target instanceof Element ? target.closest("button") : null;
    return this.#drawn.find((one) => one.element === element);
  }

  #hover(found: Drawn | undefined): void {
    this.#tip.about(this.source.onHover(found?.rect.cell ?? null), found?.element ?? null);
  }

  #pick(found: Drawn | undefined): void {
    if (found === undefined) return;
    this.#current = this.#drawn.indexOf(found);
    this.#tip.hide();
    const { cell } = found.rect;
    if (cell.kind === "op") this.source.onPick(cell.op);
    else this.#open(cell.row);
  }

  #key(event: KeyboardEvent): boolean {
    const rects = this.#drawn.map(({ rect }) => rect);
    const next = neighbourOf(rects, this.#current, event.key);
    if (event.key === "Escape") this.#out();
    else if (next === undefined) return false;
    else {
      this.#current = next;
      this.#roam(true);
    }
    return true;
  }

  /** The keyboard's place goes to the top row when `toTop`, else it stays where it was. */
  #show(rects: readonly Rect[], looks: readonly CellLook[], toTop: boolean): void {
    const hadFocus = this.#icicle.contains(document.activeElement);
    const before = this.#drawn[this.#current]?.rect.cell;
    const widthOf = textWidth(this.#icicle);
    this.#drawn = rects.map((rect, i) => ({ rect, element: cellElement(rect, looks[i], this.#width, widthOf) }));
    const kept = toTop || before === undefined ? 0 : rects.findIndex(({ cell }) => sameCell(cell, before));
    this.#current = Math.max(0, kept);
    // Where all that is drawn is selected, outlines would say nothing.
    const isAll = rects.every(({ cell }, i) => cell.kind === "rest" || looks[i].selected === "all");
    this.#icicle.classList.toggle("all", isAll);
    const levels = rects.reduce((most, { level }) => Math.max(most, level + 1), 0);
    this.#sheet.style.height = `${levels * ROW_PX}px`;
    this.#sheet.replaceChildren(...this.#drawn.map(({ element }) => element));
    this.#roam(hadFocus);
    if (toTop) this.#icicle.scrollTop = 0;
  }

  #roam(isFocused: boolean): void {
    this.#drawn.forEach(({ element }, i) => {
      element.tabIndex = i === this.#current ? 0 : -1;
    });
    if (isFocused) this.#drawn[this.#current]?.element.focus({ preventScroll: false });
  }

  get width(): number {
    return this.#width;
  }

  get zoom(): number {
    return this.#zooms.get(this.source.tree) ?? ROOT;
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
    this.#show(rects, looks, toTop);
    const keys = "arrow keys move, Enter opens, Esc goes out";
    this.#icicle.setAttribute("aria-label", `Inside ${source.nameOf(zoom)}: ${keys}`);
    const path = pathOf(source.tree, zoom).map((row) => ({ row, text: row === ROOT ? "All ops" : source.nameOf(row) }));
    this.crumbs.replaceChildren(...crumbButtons(path, MOST_CRUMBS, (row) => this.#open(row), this.view.signal));
    this.legend.replaceChildren(...familyLegend(new Set(looks.map(({ family }) => family))));
    const nMerged = rects.reduce((sum, { cell }) => sum + (cell.kind === "rest" ? cell.n : 0), 0);
    const merged = nMerged > 0 ? [`${formatCount(nMerged)} too narrow to draw, merged`] : [];
    say(this.say, rects.length > 0 ? source.words(zoom, merged).join(" · ") : source.nothing());
  }

  #open(row: number): void {
    this.#tip.hide();
    this.#zooms.set(this.source.tree, row);
    this.source.onOpen(row);
    this.draw(true);
  }

  #out(): void {
    const { source, zoom, view } = this;
    if (zoom !== ROOT) this.#open(source.tree.parent[zoom]);
    else if (view.link.selection.length > 0) view.link.setSelection([]);
    else (document.activeElement as HTMLElement | null)?.blur();
  }

  setHover(isHovered: (cell: Cell) => boolean): void {
    for (const { rect, element } of this.#drawn) element.classList.toggle("hover", isHovered(rect.cell));
  }
}
