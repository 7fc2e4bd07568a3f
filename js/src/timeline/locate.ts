/** Hangs on the root element what browser tests need: a canvas has no elements to find. */
import { placeOf } from "./hit";
import type { Painter } from "./paint";
import type { TimelineState } from "./state";

/** The root element of a timeline (`[data-tfprof=timeline]`). */
export interface TimelineElement extends HTMLElement {
  /** A point of the nth slice on screen with this event name, in client coordinates; null when there is none. */
  tfprofLocate(name: string, nth?: number): { x: number; y: number } | null;
  /** Pans and scrolls to the nth slice with this event name; false when the trace has none. */
  tfprofReveal(name: string, nth?: number): boolean;
}

export function exposeToTests(
  root: TimelineElement,
  canvas: HTMLCanvasElement,
  state: TimelineState,
  painter: Painter,
) {
  const named = (name: string) => {
    const id = state.meta.names.indexOf(name);
    const { offset, order } = state.byName;
    return id < 0 ? [] : [...order.subarray(offset[id], offset[id + 1])];
  };
  root.tfprofLocate = (name, nth = 0) => {
    const place = named(name).flatMap((event) => placeOf(state, painter, event) ?? [])[nth];
    const box = canvas.getBoundingClientRect();
    return place ? { x: box.left + place.x, y: box.top + place.y } : null;
  };
  root.tfprofReveal = (name, nth = 0) => {
    const event = named(name)[nth];
    if (event !== undefined) state.show(event);
    return event !== undefined;
  };
}
