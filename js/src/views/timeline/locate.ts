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
  /** By line and time, so that the nth is the nth from the left. */
  const named = (name: string) => {
    const { events, meta } = state;
    const id = meta.names.indexOf(name);
    const found: number[] = [];
    if (id >= 0) for (let p = 0; p < events.n; p++) if (events.name[p] === id && events.has(p)) found.push(p);
    return found.sort((a, b) => events.lineOf(a) - events.lineOf(b) || events.start[a] - events.start[b]);
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
