/** Turns words about what is under the pointer into a small frame beside it, kept inside the pane. */
import { h } from "../../ui/dom";

const OFFSET_PX = 12;

export interface Size {
  readonly width: number;
  readonly height: number;
}

export class CanvasTip {
  readonly element = h("div.tl-tip", { "aria-hidden": "true", hidden: true });
  readonly #name = h("b");
  readonly #figures = h("div.q");
  #size: Size | null = null;

  /** @param most it is never larger; null where that is not known */
  constructor(readonly most: Size | null = null) {
    this.element.append(this.#name, this.#figures);
  }

  hide() {
    this.element.hidden = true;
  }

  say(name: string, figures: readonly string[]) {
    this.#size = null;
    this.#name.textContent = name;
    this.#figures.textContent = figures.filter(Boolean).join(" · ");
  }

  /** Shows what was said last beside a point of a pane. */
  showAt(x: number, y: number, pane: Size) {
    this.element.hidden = false;
    const { width, height } = this.#sizeNear(x, y, pane);
    const left = x + OFFSET_PX + width > pane.width ? Math.max(0, x - OFFSET_PX - width) : x + OFFSET_PX;
    const top = y + OFFSET_PX + height > pane.height ? Math.max(0, y - OFFSET_PX - height) : y + OFFSET_PX;
    this.element.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  /** Measured once for the same words, and only near an edge: to measure makes the page lay out. */
  #sizeNear(x: number, y: number, pane: Size): Size {
    const { most } = this;
    if (most && x + OFFSET_PX + most.width <= pane.width && y + OFFSET_PX + most.height <= pane.height) return most;
    this.#size ??= this.element.getBoundingClientRect();
    return this.#size;
  }
}
