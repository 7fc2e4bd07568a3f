/** Keeps the layouts of rows while the view rests, so that a frame in which only the pointer moved lays nothing out. */

import type { Span } from "../time/viewport";
import type { Events } from "./events";
import { layoutRow, SliceBuffer } from "./lod";

/** Rows kept: as many as the tallest window shows. A buffer takes some 26 bytes a pixel. */
const MAX_ROWS = 256;

/** All that a layout depends on, but for its row. */
export interface LayoutSource {
  readonly events: Events;
  readonly view: Span;
  readonly width: number;
  /** Changes when events have other colours. */
  readonly colors: unknown;
}

export class RowLayouts {
  readonly #buffers: SliceBuffer[] = [];
  readonly #ofRow = new Map<number, SliceBuffer>();
  #source: LayoutSource | null = null;
  #generation = -1;

  constructor(readonly capacity = 2048) {}

  /** The items of a row, to be read before the next row is asked for; `colorOf` is by position. */
  of(source: LayoutSource, row: number, colorOf: (position: number) => number): SliceBuffer {
    if (!this.#isSame(source)) this.clear();
    this.#source = source;
    this.#generation = source.events.generation;
    let buffer = this.#ofRow.get(row);
    if (buffer) return buffer;
    if (this.#ofRow.size >= MAX_ROWS) this.#ofRow.clear();
    const k = this.#ofRow.size;
    this.#buffers[k] ??= new SliceBuffer(this.capacity);
    buffer = this.#buffers[k];
    layoutRow(source.events, row, source.view, source.width, colorOf, buffer);
    this.#ofRow.set(row, buffer);
    return buffer;
  }

  /** Forgets what was laid out. */
  clear() {
    this.#ofRow.clear();
  }

  #isSame({ events, view, width, colors }: LayoutSource): boolean {
    const last = this.#source;
    if (!last || last.events !== events || last.width !== width || last.colors !== colors) return false;
    return last.view.t0 === view.t0 && last.view.t1 === view.t1 && this.#generation === events.generation;
  }
}
