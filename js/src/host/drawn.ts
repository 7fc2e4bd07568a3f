/** Which widgets are drawn in this page: what stands for one that is missing asks for it. */

const DRAWN = Symbol.for("tfprof_widgets.drawn");
const EVENT = "tfprof_widgets.drawn";

/** On globalThis, as each script has its own copy of this module. */
function drawn(): Set<string> {
  const page = globalThis as unknown as Record<symbol, Set<string> | undefined>;
  page[DRAWN] ??= new Set();
  return page[DRAWN];
}

/** Notes that a view of this kind is drawn; `data` is the reference to what it draws from, "anywidget:<id>" or "IPY_MODEL_<id>". */
export function noteDrawn(kind: string, data: unknown): void {
  drawn().add(`${kind} ${String(data).replace(/^(anywidget:|IPY_MODEL_)/, "")}`);
  globalThis.dispatchEvent(new Event(EVENT));
}

/** Calls `then` when a view is drawn, as soon as it is. */
export function whenDrawn(view: string, then: () => void): void {
  const look = () => {
    if (!drawn().has(view)) return;
    globalThis.removeEventListener(EVENT, look);
    then();
  };
  globalThis.addEventListener(EVENT, look);
  look();
}
