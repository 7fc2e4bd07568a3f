/** Which views are drawn in this page: what stands for one that is missing asks for it. */

import { atEnd } from "./failures";

interface Drawn {
  readonly view: string;
}

const DRAWN = Symbol.for("tfprof_widgets.drawn");
const EVENT = "tfprof_widgets.drawn";

/** On globalThis, as each script has its own copy of this module. */
function drawn(): Set<Drawn> {
  const page = globalThis as unknown as Record<symbol, Set<Drawn> | undefined>;
  page[DRAWN] ??= new Set();
  return page[DRAWN];
}

/**
 * Notes that a view of this kind is being drawn, until `signal`: a page may show the same notebook again, where it is missing.
 * `data` refers to what it draws from: "anywidget:<id>" or "IPY_MODEL_<id>".
 */
export function noteDrawn(kind: string, data: unknown, signal: AbortSignal): void {
  if (signal.aborted) return;
  const own = { view: `${kind} ${String(data).replace(/^(anywidget:|IPY_MODEL_)/, "")}` };
  drawn().add(own);
  atEnd(signal, () => drawn().delete(own));
  globalThis.dispatchEvent(new Event(EVENT));
}

/** Calls `then` once the view is drawn. */
export function whenDrawn(view: string, then: () => void): void {
  const look = () => {
    if (![...drawn()].some((one) => one.view === view)) return;
    globalThis.removeEventListener(EVENT, look);
    then();
  };
  globalThis.addEventListener(EVENT, look);
  look();
}
