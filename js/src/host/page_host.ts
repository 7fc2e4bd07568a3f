/** The saved state of widgets -> live models and views without a kernel: what the widget manager and anywidget are elsewhere. */
import type { AnyModel, Host, Listener, WidgetModule } from "./afm";

/** One widget: its traits, and the entry whose module draws it (null for a model without a view). */
export interface SavedModel {
  readonly state: Record<string, unknown>;
  readonly entry?: string | null;
  readonly esm?: string | null;
}

export interface Snapshot {
  readonly root: string;
  readonly models: Readonly<Record<string, SavedModel>>;
}

/** A model whose state lives in the page only: it can be read, set and listened to, and nothing answers a message. */
export function makeModel(state: Record<string, unknown>): AnyModel {
  const listeners = new Map<string, Set<Listener>>();
  return {
    get: (name) => state[name],
    set(name, value) {
      state[name] = value;
      for (const listener of [...(listeners.get(`change:${name}`) ?? [])])
        (listener as (...a: unknown[]) => void)(undefined, value);
    },
    save_changes() {},
    send() {},
    on(event, listener) {
      const own = listeners.get(event) ?? new Set();
      listeners.set(event, own);
      own.add(listener);
    },
    off(event, listener) {
      for (const [name, own] of listeners) {
        if (event && name !== event) continue;
        if (listener) own.delete(listener);
        else own.clear();
      }
    },
  };
}

/** "anywidget:<id>" and "IPY_MODEL_<id>" both name a model. */
function modelId(ref: string): string {
  return ref.replace(/^(anywidget:|IPY_MODEL_)/, "");
}

/** Resolves references among the models of one snapshot; `load` gives the module of an entry. */
export function makeHost(snapshot: Snapshot, load: (entry: string) => Promise<WidgetModule>): Host {
  const models = new Map<string, AnyModel>();
  const model = (ref: string): AnyModel => {
    const id = modelId(ref);
    const saved = snapshot.models[id];
    if (saved === undefined)
      throw new Error(`this page has no model "${id}"; it holds ${Object.keys(snapshot.models).length}`);
    const made = models.get(id) ?? makeModel(saved.state);
    models.set(id, made);
    return made;
  };
  const host: Host = {
    getModel: async (ref) => model(ref),
    getWidget: async (ref) => {
      const saved = snapshot.models[modelId(ref)];
      const entry = saved?.entry ?? saved?.esm;
      if (!entry) throw new Error(`the model "${modelId(ref)}" of this page has no view`);
      const module = await load(entry);
      return {
        render: async ({ el, signal }) =>
          module.render({ model: model(ref), el, host, signal: signal ?? new AbortController().signal }),
      };
    },
  };
  return host;
}

/** The module whose text this is. */
export async function importText(text: string): Promise<WidgetModule> {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const module = (await import(url)) as { default: WidgetModule };
  return module.default;
}
