/** Wheel, drags and buttons -> where a drawing is looked at and how large: fit, zoom about a point, move. */

import type { PlacedBox } from "../../model/graph/op_graph_layout";
import { on } from "../../ui/dom";
import { watchSize } from "../../ui/page";

const MOST = 2.5;
const LEAST = 0.05;
/** A fitted drawing is never larger than this. */
const FIT_MOST = 1.1;
/** Text under this is not read: what does not fit is begun with at what matters most. */
const READ_LEAST = 0.9;
const MARGIN_PX = 8;
const DRAG_PX = 4;

export class GraphPan {
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
    watchSize(
      drawing,
      (width, height) => {
        this.#room = { width, height };
        if (this.#first !== null && this.#isFitted) this.start(this.#first);
        else if (this.#isFitted) this.fit();
      },
      signal,
    );
  }

  /** How large the drawing is. */
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
    this.#x = into(width / 2 - box.x - box.width / 2, this.#size.width, width);
    this.#y = into(height / 2 - box.y - box.height / 2, this.#size.height, height);
    this.#apply();
  }

  /** Fits the drawing, however small it becomes. */
  fit(): void {
    const { width, height } = this.#size;
    const room = { width: this.#room.width - 2 * MARGIN_PX, height: this.#room.height - 2 * MARGIN_PX };
    const whole = Math.min(room.width / width, room.height / height);
    this.#scale = Math.max(LEAST, Math.min(FIT_MOST, whole));
    this.#x = MARGIN_PX + Math.max(0, (room.width - width * this.#scale) / 2);
    this.#y = MARGIN_PX + Math.max(0, (room.height - height * this.#scale) / 2);
    this.#isFitted = true;
    this.#apply();
  }

  zoom(factor: number, x = this.#room.width / 2, y = this.#room.height / 2): void {
    const scale = Math.min(MOST, Math.max(LEAST, this.#scale * factor));
    this.#x = x - ((x - this.#x) * scale) / this.#scale;
    this.#y = y - ((y - this.#y) * scale) / this.#scale;
    this.#scale = scale;
    this.#isFitted = false;
    this.#apply();
  }

  /** Moves a box to the middle, as large as it can be read. */
  centre({ x, y, width, height }: PlacedBox): void {
    this.#scale = Math.max(this.#scale, READ_LEAST);
    this.#x = this.#room.width / 2 - (x + width / 2) * this.#scale;
    this.#y = this.#room.height / 2 - (y + height / 2) * this.#scale;
    this.#isFitted = false;
    this.#apply();
  }

  /** Moves as little as it takes to have a box in sight. */
  show({ x, y, width, height }: PlacedBox): void {
    const into = (from: number, size: number, room: number) => {
      const most = room - MARGIN_PX;
      if (from < MARGIN_PX || size > most) return MARGIN_PX - from;
      return from + size > most ? most - from - size : 0;
    };
    const dx = into(x * this.#scale + this.#x, width * this.#scale, this.#room.width);
    const dy = into(y * this.#scale + this.#y, height * this.#scale, this.#room.height);
    if (dx === 0 && dy === 0) return;
    this.#x += dx;
    this.#y += dy;
    this.#isFitted = false;
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
    this.#isFitted = false;
    this.#x += dx;
    this.#y += dy;
    this.#from = { x: event.clientX, y: event.clientY };
    this.#apply();
  }
}
