/** A shared model whose large traits a notebook keeps in the page of an output, not in its state as well -> all its traits. */

import type { AnyModel } from "./afm";

/** The traits of a model by name. */
export type Traits = (name: string) => unknown;

type State = Readonly<Record<string, unknown>>;
type Find = (id: string) => State | undefined;

/** In a page, whose JSON has no "<". */
const STATE = /widget-state\+json">([^<]*)/;
/** Outputs come one after the other. */
const WAIT_MS = 8000;
const ASK_MS = 500;
const LOOK_MS = 100;
const PAGES = Symbol.for("tfprof_widgets.pages");

/** What finds a model in the page of an output, one for each. On globalThis, as each script has its own copy of this module. */
function pages(): Set<Find> {
  const all = globalThis as unknown as Record<symbol, Set<Find> | undefined>;
  all[PAGES] ??= new Set();
  return all[PAGES];
}

/** Lets views find what is in the page that an output holds, in sight or not, for as long as the front end has that output. */
export function notePage(holder: HTMLElement): void {
  const weak = new WeakRef(holder);
  let models: WeakRef<Record<string, { readonly state: State }>> | undefined;
  pages().add((id) => {
    const page = weak.deref()?.dataset.page;
    if (!page?.includes(id)) return undefined;
    const read = models?.deref() ?? JSON.parse(STATE.exec(page)?.[1] ?? '{"state":{}}').state;
    models = new WeakRef(read);
    return read[id]?.state;
  });
}

/** What a page in an output has of a model. */
function keptState(id: string): State | undefined {
  for (const find of pages()) {
    const found = find(id);
    if (found) return found;
  }
  return undefined;
}

const isEmpty = (value: unknown) => value === "" || (Array.isArray(value) && value.length === 0);

/** Has a kernel that knows the model give all of it. */
function ask(model: AnyModel): void {
  try {
    model.send({ kind: "whole?" });
  } catch {
    // A restored model without a kernel throws.
  }
}

/** The traits of a model; where `large` is empty, once the page that has it or the kernel gave it. */
export async function wholeTraits(model: AnyModel, ref: string, large: string): Promise<Traits> {
  const id = ref.replace(/^(anywidget:|IPY_MODEL_)/, "");
  for (let waited = 0; isEmpty(model.get(large)) && waited < WAIT_MS; waited += LOOK_MS) {
    const kept = keptState(id);
    if (kept) return (name) => (isEmpty(model.get(name)) ? kept[name] : model.get(name));
    if (waited === ASK_MS) ask(model);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return (name) => model.get(name);
}
