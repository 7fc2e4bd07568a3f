/**
 * The widget manager that anywidget gives a view by its model before 0.11, as in Colab -> the host that later ones give it.
 */

import type { AnyModel, Host, Listener, WidgetModule } from "./afm";

/** A model as the manager keeps it, whose methods need their model. */
interface ManagedModel extends AnyModel {
  on(event: string, listener: Listener, context?: unknown): void;
  off(event?: string | null, listener?: Listener | null, context?: unknown): void;
}

export interface Manager {
  get_model(id: string): Promise<ManagedModel> | undefined;
}

/** Resolves references among the models of a page until `signal`; `widget` draws those that have a view. */
export function managerHost(manager: Manager | undefined, widget: WidgetModule, signal: AbortSignal): Host {
  if (!manager) throw new Error("it needs anywidget 0.9 or later: pip install -U anywidget, then restart the kernel.");
  const getModel = async (ref: string): Promise<AnyModel> => {
    const model = await manager.get_model(ref.replace("anywidget:", ""));
    if (model === undefined) throw new Error(`this page has no model "${ref}"; run the cell again`);
    const own = {};
    signal.addEventListener("abort", () => model.off(null, null, own));
    return {
      get: (name) => model.get(name),
      set: (name, value) => model.set(name, value),
      save_changes: () => model.save_changes(),
      send: (content, callbacks, buffers) => model.send(content, callbacks, buffers),
      on: (event, listener) => model.on(event, listener, own),
      off: (event, listener) => model.off(event, listener, own),
    };
  };
  const host: Host = {
    getModel,
    getWidget: async (ref) => {
      const model = await getModel(ref);
      return { render: async (place) => widget.render({ signal, ...place, model, host }) };
    },
  };
  return host;
}
