/** Boxes and arrows that have places -> a drawing to move and zoom, with tips, whose boxes the arrow keys walk through. */

import type { GraphBox } from "../../model/graph/op_graph";
import type { PlacedBox, PlacedGraph } from "../../model/graph/op_graph_layout";
import { button, h, hasModifier, on, onKeys, svg } from "../../ui/dom";
import { createTip, type Tip, type TipBox } from "../../ui/plot";
import { ArrowLayer } from "./graph_arrows";
import { GraphPan } from "./graph_pan";

const HEAD_PX = 18;

export interface CanvasListeners {
  readonly onClick: (box: GraphBox, event: MouseEvent) => void;
  readonly onDoubleClick?: (box: GraphBox) => void;
  /** Whether a key means something at a box; those that move and zoom never come here. */
  readonly onKey: (key: string, box: GraphBox) => boolean;
  readonly onHover: (box: GraphBox | null) => void;
  readonly tip: (box: GraphBox) => Tip;
}

export class GraphCanvas {
  readonly element: HTMLElement;
  /** Buttons for it. */
  readonly zooms: HTMLElement;
  readonly #sheet = svg("g");
  readonly #drawing: SVGSVGElement;
  readonly #tip: TipBox;
  readonly #pan: GraphPan;
  readonly #arrows = new ArrowLayer();
  #boxes: readonly GraphBox[] = [];
  #placed: PlacedGraph = { boxes: [], arrows: [], width: 0, height: 0 };
  #elements: readonly SVGGElement[] = [];
  #current = 0;

  constructor(
    readonly listeners: CanvasListeners,
    readonly signal: AbortSignal,
  ) {
    this.#drawing = svg("svg.tfp-op-graph", { role: "group" });
    this.#drawing.append(this.#sheet);
    this.element = h("div.tfp-graph-place", this.#drawing);
    this.#tip = createTip(this.element);
    this.#pan = new GraphPan(this.#drawing, this.#sheet, signal);
    this.zooms = h(
      "span.seg",
      { role: "group", "aria-label": "Zoom" },
      this.button("−", "Zoom out", () => this.#pan.zoom(1 / 1.3)),
      this.button("+", "Zoom in", () => this.#pan.zoom(1.3)),
      this.button("Fit", "Fit the whole graph", () => this.#pan.start(null)),
    );
    onKeys(this.#drawing, signal, (event) => {
      const box = this.#boxes[this.#current];
      return box !== undefined && !hasModifier(event) && this.#act(event.key, box);
    });
  }

  button(text: string, label: string, run: () => void): HTMLButtonElement {
    return button(text, run, this.signal, { "aria-label": label, title: label });
  }

  /** Takes other boxes; the one that keys are about stays, if it is still there. */
  set(boxes: readonly GraphBox[], placed: PlacedGraph): void {
    const before = this.#boxes[this.#current]?.id;
    this.#current = Math.max(
      0,
      boxes.findIndex(({ id }) => id === before),
    );
    this.#boxes = boxes;
    this.#tip.hide();
    this.#placed = placed;
    this.#pan.setSize(placed.width, placed.height);
  }

  /** Draws the boxes as they look now. */
  paint(elementOf: (box: GraphBox, place: PlacedBox) => SVGGElement): void {
    const hadFocus = this.#drawing.contains(document.activeElement);
    const boxes = this.#boxes;
    this.#elements = boxes.map((box, i) => {
      const element = elementOf(box, this.#placed.boxes[i]);
      element.setAttribute("tabindex", i === this.#current ? "0" : "-1");
      this.#listen(element, box, i);
      return element;
    });
    const frames = this.#elements.filter((_, i) => boxes[i].isOpen);
    const others = this.#elements.filter((_, i) => !boxes[i].isOpen);
    this.#sheet.replaceChildren(...frames, this.#arrows.draw(this.#placed.arrows), ...others);
    if (hadFocus) this.#elements[this.#current]?.focus({ preventScroll: true });
  }

  describe(text: string): void {
    this.#drawing.setAttribute("aria-label", text);
  }

  /** Where the reader begins: all if it can be read, else a box; as after `Fit` without one. */
  start(box: GraphBox | undefined): void {
    this.#pan.start(this.#placeOf(box));
  }
  /** Brings a box into sight. */
  show(box: GraphBox | undefined): void {
    const place = this.#placeOf(box);
    if (place !== null) this.#pan.show(place);
  }
  centre(box: GraphBox | undefined): void {
    const place = this.#placeOf(box);
    if (place !== null) this.#pan.centre(place);
  }

  #placeOf(box: GraphBox | undefined): PlacedBox | null {
    return (box && this.#placed.boxes[this.#boxes.indexOf(box)]) ?? null;
  }

  /** Marks what is hovered in some view. */
  setHover(isHovered: (box: GraphBox) => boolean): void {
    this.#boxes.forEach((box, i) => {
      this.#elements[i]?.classList.toggle("hover", isHovered(box));
    });
  }

  #listen(element: SVGGElement, box: GraphBox, i: number): void {
    const { listeners } = this;
    on(element, this.signal, {
      click: (event) => {
        if (this.#pan.hasMoved) return;
        this.#current = i;
        listeners.onClick(box, event);
      },
      dblclick: () => listeners.onDoubleClick?.(box),
      pointerenter: () => {
        listeners.onHover(box);
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
    this.#tip.about(this.listeners.tip(box), { left, top, bottom: box.isOpen ? top + HEAD_PX : bottom });
  }

  #act(key: string, box: GraphBox): boolean {
    if (key === "+" || key === "=") this.#pan.zoom(1.3);
    else if (key === "-") this.#pan.zoom(1 / 1.3);
    else if (key === "0") this.#pan.start(null);
    else if (key.startsWith("Arrow")) this.#walk(key);
    else return this.listeners.onKey(key, box);
    return true;
  }

  /** To the nearest box in a direction. */
  #walk(key: string): void {
    const { boxes } = this.#placed;
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
    this.#elements[this.#current]?.setAttribute("tabindex", "-1");
    this.#current = best;
    this.#elements[best].setAttribute("tabindex", "0");
    this.#elements[best].focus({ preventScroll: true });
    this.#pan.show(boxes[best]);
  }
}
