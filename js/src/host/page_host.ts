/** The saved state of widgets -> live models and views without a kernel: what the widget manager and anywidget are elsewhere. */
import type { AnyModel, Host, Listener, WidgetModule } from "./afm";

/** Models by id, as a saved notebook and an exported page hold them. */
export type SavedModels = Readonly<Record<string, { readonly state: Record<string, unknown> }>>;

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

/** Resolves references among saved models; `widget` draws those that have a view. */
export function makeHost(saved: SavedModels, widget: WidgetModule): Host {
  const models = new Map<string, AnyModel>();
  const model = (ref: string): AnyModel => {
    const id = modelId(ref);
    const found = saved[id];
    if (found === undefined) throw new Error(`this page has no model "${id}"; it holds ${Object.keys(saved).length}`);
    const made = models.get(id) ?? makeModel(found.state);
    models.set(id, made);
    return made;
  };
  const host: Host = {
    getModel: async (ref) => model(ref),
    getWidget: async (ref) => {
      const own = model(ref);
      if (!own.get("builder")) throw new Error(`the model "${modelId(ref)}" of this page has no view`);
      return {
        render: async ({ el, signal }) =>
          widget.render({ model: own, el, host, signal: signal ?? new AbortController().signal }),
      };
    },
  };
  return host;
}
