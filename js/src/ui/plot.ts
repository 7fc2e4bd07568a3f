/** Pointer moves over a plot and words on top of it: labels with a halo, a tooltip, a click and a drag along x. */

import { h, on } from "./dom";

export interface PlotLabel {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  /** Which side of the text is at x. */
  readonly align: "left" | "center" | "right";
  readonly isBold?: boolean;
  /** In the colour of axis labels. */
  readonly isFaint?: boolean;
}

/** Absolutely placed words over a plot; text that would leave the plot is moved back inside. */
export function drawLabels(layer: HTMLElement, labels: readonly PlotLabel[]): void {
  layer.replaceChildren(
    ...labels.map((label) => {
      const style = {
        top: `${label.y}px`,
        ...(label.align === "right" ? { right: `calc(100% - ${label.x}px)` } : { left: `${label.x}px` }),
        ...(label.align === "center" && { transform: "translateX(-50%)" }),
      };
      const kind = `tfp-label${label.isBold ? " b" : ""}${label.isFaint ? " q" : ""}`;
      return h("span", { class: kind, style }, label.text);
    }),
  );
}

export interface Tip {
  readonly title: string;
  readonly lines: readonly string[];
}

/** A tooltip in `parent`, kept inside it. */
export interface TipBox {
  /** Beside a point of `parent`. */
  show(x: number, y: number, tip: Tip): void;
  /** Below an element or a box of the page, or above it where it would be cut; hidden where either is null. */
  about(tip: Tip | null, at: Element | TipPlace | null): void;
  hide(): void;
}

/** Edges in px of the page. */
export type TipPlace = Pick<DOMRect, "left" | "top" | "bottom">;

const TIP_GAP_PX = 2;

export function createTip(parent: HTMLElement): TipBox {
  const box = h("div.tfp-tip", { role: "presentation", hidden: true });
  parent.append(box);
  const fill = (tip: Tip) => {
    box.replaceChildren(h("b", tip.title), ...tip.lines.map((line) => h("div", line)));
    box.hidden = false;
  };
  const place = (x: number, y: number) => {
    const room = parent.clientWidth - box.offsetWidth - 2;
    box.style.left = `${Math.max(0, x + 12 > room ? x - 12 - box.offsetWidth : x + 12)}px`;
    box.style.top = `${y}px`;
  };
  return {
    show(x, y, tip) {
      fill(tip);
      place(x, y);
    },
    about(tip, at) {
      box.hidden = true;
      if (tip === null || at === null) return;
      fill(tip);
      const { left, top, bottom } = at instanceof Element ? at.getBoundingClientRect() : at;
      const around = parent.getBoundingClientRect();
      const below = bottom - around.top + TIP_GAP_PX;
      const above = top - around.top - TIP_GAP_PX - box.offsetHeight;
      place(Math.max(0, left - around.left), below + box.offsetHeight > around.height && above > 0 ? above : below);
    },
    hide() {
      box.hidden = true;
    },
  };
}

export interface PlotGestures {
  onHover(x: number, y: number): void;
  onLeave(): void;
  onClick(x: number): void;
  onDrag(x0: number, x1: number): void;
  onDragEnd(x0: number, x1: number): void;
}

const DRAG_PX = 4;

/** Tells clicks from drags; all x and y are px in `element`. A drag that Esc or the system ends counts for nothing. */
export function watchPlot(element: HTMLElement, gestures: PlotGestures, signal: AbortSignal): void {
  const press = new Press(element, gestures);
  on(element, signal, {
    pointerdown: (event) => press.begin(event),
    pointermove: (event) => press.move(event),
    pointerup: (event) => press.end(event),
    pointercancel: () => press.cancel(),
    pointerleave: () => press.leave(),
  });
}

/** The pointer over a plot, from one press to the next. */
class Press {
  /** Where the button went down; null while it is up. */
  #from: number | null = null;
  #isDrag = false;

  constructor(
    readonly element: HTMLElement,
    readonly gestures: PlotGestures,
  ) {}

  #at(event: PointerEvent): readonly [number, number] {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  begin(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.#from = this.#at(event)[0];
    this.#isDrag = false;
    this.element.setPointerCapture?.(event.pointerId);
  }

  move(event: PointerEvent): void {
    const [x, y] = this.#at(event);
    if (this.#from === null) {
      this.gestures.onHover(x, y);
      return;
    }
    this.#isDrag ||= Math.abs(x - this.#from) >= DRAG_PX;
    if (this.#isDrag) this.gestures.onDrag(this.#from, x);
  }

  end(event: PointerEvent): void {
    if (this.#from === null) return;
    const [x] = this.#at(event);
    const start = this.#from;
    this.#from = null;
    if (this.#isDrag) this.gestures.onDragEnd(start, x);
    else this.gestures.onClick(x);
  }

  cancel(): void {
    this.#from = null;
    this.gestures.onLeave();
  }

  leave(): void {
    if (this.#from === null) this.gestures.onLeave();
  }
}
