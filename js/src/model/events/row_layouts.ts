/** Keeps the layouts of rows while the view rests, so that a frame in which only the pointer moved lays nothing out. */

import type { Span } from "../time/viewport";
import type { TraceMeta } from "../wire/meta";
import { ColorTimes } from "./color_times";
import type { Events } from "./events";
import { layoutRow, SliceBuffer } from "./lod";

/** Rows kept: as many as the tallest window shows. A buffer takes some 35 bytes a pixel. */
const MAX_ROWS = 256;

/** All that a layout depends on, but for its row. */
export interface LayoutSource {
  readonly events: Events;
  readonly meta: Pick<TraceMeta, "lines" | "planes">;
  readonly view: Span;
  readonly width: number;
  /** Another one when events have other colours. */
  readonly colors: { readonly n: number; of(position: number, isDevice: boolean): number };
}

export class RowLayouts {
  #buffers: SliceBuffer[] = [];
  readonly #ofRow = new Map<number, SliceBuffer>();
  #times: ColorTimes | null = null;
  #source: LayoutSource | null = null;
  #generation = -1;

  constructor(readonly capacity = 2048) {}

  /** The items of a row, to be read before the next row is asked for. */
  of(source: LayoutSource, row: number): SliceBuffer {
    if (!this.#isSame(source)) this.clear();
    const times = this.#timesOf(source);
    this.#source = source;
    this.#generation = source.events.generation;
    let buffer = this.#ofRow.get(row);
    if (buffer) return buffer;
    if (this.#ofRow.size >= MAX_ROWS) this.#ofRow.clear();
    const k = this.#ofRow.size;
    this.#buffers[k] ??= new SliceBuffer(this.capacity, times.n);
    buffer = this.#buffers[k];
    layoutRow(source.events, row, source.view, source.width, times, buffer);
    this.#ofRow.set(row, buffer);
    return buffer;
  }

  /** Forgets what was laid out. */
  clear() {
    this.#ofRow.clear();
  }

  /** What was added up by colour stays while colours mean the same. */
  #timesOf({ events, meta: { lines, planes }, colors }: LayoutSource): ColorTimes {
    if (this.#times && this.#source?.events === events && this.#source.colors === colors) return this.#times;
    const onHost = (position: number) => colors.of(position, false);
    const onDevice = (position: number) => colors.of(position, true);
    const isDevice = (row: number) => planes[lines[events.rows.line[row]].plane].kind === "device";
    this.#times = new ColorTimes(events, colors.n, (row) => (isDevice(row) ? onDevice : onHost));
    this.#buffers = [];
    return this.#times;
  }

  #isSame({ events, view, width, colors }: LayoutSource): boolean {
    const last = this.#source;
    if (!last || last.events !== events || last.width !== width || last.colors !== colors) return false;
    return last.view.t0 === view.t0 && last.view.t1 === view.t1 && this.#generation === events.generation;
  }
}
