/** A shared model whose large traits a notebook keeps in the page of an output, not in its state as well -> all its traits. */

import type { AnyModel } from "./afm";
import type { Traits } from "./library";

type State = Readonly<Record<string, unknown>>;

const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
/** Outputs come one after the other. */
const WAIT_MS = 8000;
const LOOK_MS = 100;
const KEPT = Symbol.for("tfprof_widgets.kept");

/** By id the models of the pages that were read. On globalThis, as each script has its own copy of this module. */
function known(): Map<string, State> {
  const page = globalThis as unknown as Record<symbol, Map<string, State> | undefined>;
  page[KEPT] ??= new Map();
  return page[KEPT];
}

/** What a page in an output of this document holds of a model. */
function keptState(id: string): State | undefined {
  const found = known().get(id);
  if (found) return found;
  for (const { dataset } of document.querySelectorAll<HTMLElement>("[data-page]")) {
    if (!dataset.page?.includes(id)) continue;
    const text = new DOMParser().parseFromString(dataset.page, "text/html").querySelector(STATE)?.textContent ?? "{}";
    const { state = {} } = JSON.parse(text) as { state?: Readonly<Record<string, { readonly state: State }>> };
    for (const [key, one] of Object.entries(state)) known().set(key, one.state);
  }
  return known().get(id);
}

const isEmpty = (value: unknown) => value === "" || (Array.isArray(value) && value.length === 0);

/** The traits of saved state with what a page has of those that are empty in it. */
export function filled(id: string, state: State): State {
  if (!isEmpty(state.source) && !isEmpty(state.overview)) return state;
  const kept = Object.entries(keptState(id) ?? {}).filter(([name]) => isEmpty(state[name]));
  return { ...state, ...Object.fromEntries(kept) };
}

/** The traits of a model; where `large` is empty, once the page that has it or the kernel gave it. */
export async function wholeTraits(model: AnyModel, ref: string, large: string): Promise<Traits> {
  const id = ref.replace(/^(anywidget:|IPY_MODEL_)/, "");
  for (let waited = 0; isEmpty(model.get(large)) && waited < WAIT_MS; waited += LOOK_MS) {
    const kept = keptState(id);
    if (kept) return (name) => (isEmpty(model.get(name)) ? kept[name] : model.get(name));
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return (name) => model.get(name);
}
