/** A drawn graph to look into: boxes of any look and the arrows between them, to move, zoom and walk through by keys. */

import type { GraphArrow, GraphBox, PlacedArrow, PlacedBox, PlacedGraph } from "../model/op_graph";
import { button, h, hasModifier, on, onKeys, setAria, svg, watchSize } from "./dom";
import { type Tip, TipBox } from "./plot";

const MOST_PX = 3.5;

class ArrowLayer {
  #paths: { readonly element: SVGPathElement; readonly from: number; readonly to: number }[] = [];
  readonly #id = `tfp-tip-${Math.random().toString(36).slice(2)}`;

  draw(arrows: readonly PlacedArrow[], titleOf: (arrow: GraphArrow) => string): SVGGElement {
    this.#paths = arrows.map(({ arrow, points }) => {
      const element = svg("path", {
        // What was left out is joined to much: its arrows stay in the background.
        class: `edge${arrow.isControl ? " control" : ""}${arrow.from < 0 || arrow.to < 0 ? " faint" : ""}`,
        d: curve(points),
        "stroke-width": Math.min(MOST_PX, 1 + Math.log2(arrow.n) / 3),
        "marker-end": `url(#${this.#id})`,
      });
      element.append(svg("title", titleOf(arrow)));
      return { element, from: arrow.from, to: arrow.to };
    });
    const size = { markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", class: "head" };
    const place = { id: this.#id, viewBox: "0 0 6 6", refX: 5.5, refY: 3, orient: "auto" };
    const head = svg("marker", { ...place, ...size }, svg("path", { d: "M0 0 L6 3 L0 6 z" }));
    const paths = this.#paths.map(({ element }) => element);
    return svg("g.edges", { "aria-hidden": "true" }, svg("defs", head), ...paths);
  }

  /** Lights the arrows at a box; none for null. */
  light(id: number | null): void {
    for (const { element, from, to } of this.#paths) {
      element.classList.toggle("lit", id !== null && (from === id || to === id));
    }
  }
}

function curve(points: readonly (readonly [number, number])[]): string {
  if (points.length < 2) return "";
  const [[x0, y0], ...rest] = points;
  let d = `M${round(x0)} ${round(y0)}`;
  let [x, y] = [x0, y0];
  for (const [x1, y1] of rest) {
    const reach = Math.max(14, Math.abs(x1 - x) / 2);
    const bend = rest.length === 1 ? reach : Math.min(reach, Math.abs(x1 - x) / 2);
    d += ` C${round(x + bend)} ${round(y)} ${round(x1 - bend)} ${round(y1)} ${round(x1)} ${round(y1)}`;
    [x, y] = [x1, y1];
  }
  return d;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

const MOST = 2.5;
const LEAST = 0.05;
const FIT_MOST = 1.1;
/** Text under this is not read: what does not fit is begun with at what matters most. */
const READ_LEAST = 0.9;
const MARGIN_PX = 8;
const DRAG_PX = 4;

class GraphPan {
  /** Whether the last press was a drag, so that the click it ends in means nothing. */
  hasMoved = false;
  #scale = 1;
  #x = 0;
  #y = 0;
  #size = { width: 1, height: 1 };
  #room = { width: 800, height: 300 };
  #isFitted = true;
  /** What to show first, until the reader moves or fits. */
  #first: PlacedBox | null = null;
  #from: { x: number; y: number } | null = null;

  constructor(
    readonly drawing: SVGSVGElement,
    readonly sheet: SVGGElement,
    signal: AbortSignal,
  ) {
    on(drawing, signal, { wheel: (event) => this.#wheel(event) }, { passive: false });
    const end = () => {
      this.#from = null;
    };
    on(drawing, signal, {
      pointerdown: (event) => this.#begin(event),
      pointermove: (event) => this.#move(event),
      pointerup: end,
      pointercancel: end,
    });
    watchSize(drawing, signal, (width, height) => {
      this.#room = { width, height };
      if (this.#first !== null && this.#isFitted) this.start(this.#first);
      else if (this.#isFitted) this.fit();
    });
  }

  setSize(width: number, height: number): void {
    this.#size = { width: Math.max(1, width), height: Math.max(1, height) };
    this.#apply();
  }

  /** Fits the drawing if it can be read then, else shows a box of it. */
  start(box: PlacedBox | null): void {
    this.#first = box;
    this.fit();
    if (box === null || this.#scale >= READ_LEAST) return;
    this.#scale = 1;
    const { width, height } = this.#room;
    const into = (wanted: number, size: number, room: number) =>
      size < room ? (room - size) / 2 : Math.min(MARGIN_PX, Math.max(room - size - MARGIN_PX, wanted));
    const x = into(width / 2 - box.x - box.width / 2, this.#size.width, width);
    this.#moveTo(x, into(height / 2 - box.y - box.height / 2, this.#size.height, height), true);
  }

  fit(): void {
    const { width, height } = this.#size;
    const room = { width: this.#room.width - 2 * MARGIN_PX, height: this.#room.height - 2 * MARGIN_PX };
    const whole = Math.min(room.width / width, room.height / height);
    this.#scale = Math.max(LEAST, Math.min(FIT_MOST, whole));
    const [left, top] = [room.width - width * this.#scale, room.height - height * this.#scale];
    this.#moveTo(MARGIN_PX + Math.max(0, left / 2), MARGIN_PX + Math.max(0, top / 2), true);
  }

  zoom(factor: number, x = this.#room.width / 2, y = this.#room.height / 2): void {
    const scale = Math.min(MOST, Math.max(LEAST, this.#scale * factor));
    const [toX, toY] = [x - ((x - this.#x) * scale) / this.#scale, y - ((y - this.#y) * scale) / this.#scale];
    this.#scale = scale;
    this.#moveTo(toX, toY);
  }

  /** Moves a box to the middle, as large as it can be read. */
  centre({ x, y, width, height }: PlacedBox): void {
    this.#scale = Math.max(this.#scale, READ_LEAST);
    const { width: roomX, height: roomY } = this.#room;
    this.#moveTo(roomX / 2 - (x + width / 2) * this.#scale, roomY / 2 - (y + height / 2) * this.#scale);
  }

  show({ x, y, width, height }: PlacedBox): void {
    const into = (from: number, size: number, room: number) => {
      const most = room - MARGIN_PX;
      if (from < MARGIN_PX || size > most) return MARGIN_PX - from;
      return from + size > most ? most - from - size : 0;
    };
    const dx = into(x * this.#scale + this.#x, width * this.#scale, this.#room.width);
    const dy = into(y * this.#scale + this.#y, height * this.#scale, this.#room.height);
    if (dx !== 0 || dy !== 0) this.#moveTo(this.#x + dx, this.#y + dy);
  }

  #moveTo(x: number, y: number, isFitted = false): void {
    [this.#x, this.#y, this.#isFitted] = [x, y, isFitted];
    this.#apply();
  }

  #apply(): void {
    this.sheet.setAttribute("transform", `translate(${this.#x} ${this.#y}) scale(${this.#scale})`);
  }

  /** Zooms with a modifier or while the drawing has the focus, else the page scrolls. */
  #wheel(event: WheelEvent): void {
    const isMeant = event.ctrlKey || event.metaKey || event.shiftKey || this.drawing.contains(document.activeElement);
    if (!isMeant) return;
    event.preventDefault();
    const box = this.drawing.getBoundingClientRect();
    this.zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
  }

  #begin(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.hasMoved = false;
    this.#from = { x: event.clientX, y: event.clientY };
  }

  #move(event: PointerEvent): void {
    if (this.#from === null || event.buttons === 0) return;
    const [dx, dy] = [event.clientX - this.#from.x, event.clientY - this.#from.y];
    if (!this.hasMoved && Math.hypot(dx, dy) < DRAG_PX) return;
    if (!this.hasMoved) this.drawing.setPointerCapture?.(event.pointerId);
    this.hasMoved = true;
    this.#from = { x: event.clientX, y: event.clientY };
    this.#moveTo(this.#x + dx, this.#y + dy);
  }
}

const HEAD_PX = 18;

export interface CanvasListeners {
  readonly onClick: (box: GraphBox, event: MouseEvent) => void;
  readonly onDoubleClick?: (box: GraphBox) => void;
  /** Whether a key means something at a box; those that move and zoom never come here. */
  readonly onKey: (key: string, box: GraphBox) => boolean;
  readonly onHover: (box: GraphBox | null) => void;
  readonly tip: (box: GraphBox) => Tip;
  readonly arrowTitle: (arrow: GraphArrow) => string;
}

export class GraphCanvas {
  readonly element: HTMLElement;
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
    this.#tip = new TipBox(this.element);
    this.#pan = new GraphPan(this.#drawing, this.#sheet, signal);
    const buttons = [
      this.button("−", "Zoom out", () => this.#pan.zoom(1 / 1.3)),
      this.button("+", "Zoom in", () => this.#pan.zoom(1.3)),
      this.button("Fit", "Fit the whole graph", () => this.#pan.start(null)),
    ];
    this.zooms = h("span.seg", { role: "group", "aria-label": "Zoom" }, ...buttons);
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
    const kept = boxes.findIndex(({ id }) => id === before);
    this.#current = Math.max(0, kept);
    this.#boxes = boxes;
    this.#tip.hide();
    this.#placed = placed;
    this.#pan.setSize(placed.width, placed.height);
  }

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
    this.#sheet.replaceChildren(
      ...frames,
      this.#arrows.draw(this.#placed.arrows, this.listeners.arrowTitle),
      ...others,
    );
    if (hadFocus) this.#elements[this.#current]?.focus({ preventScroll: true });
  }

  describe(text: string): void {
    this.#drawing.setAttribute("aria-label", text);
  }

  /** Where the reader begins: all if it can be read, else a box; as after `Fit` without one. */
  start(box: GraphBox | undefined): void {
    this.#pan.start(this.#placeOf(box));
  }
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

  setHover(isHovered: (box: GraphBox) => boolean): void {
    this.#boxes.forEach((box, i) => {
      this.#elements[i]?.classList.toggle("hover", isHovered(box));
    });
  }

  setPressed(isPressed: (box: GraphBox) => boolean): void {
    this.#boxes.forEach((box, i) => {
      if (this.#elements[i]) setAria(this.#elements[i], "pressed", isPressed(box));
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
