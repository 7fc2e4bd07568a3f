/** The module of every widget: has the shared bundle draw the widget's kind of view. */

import type { RenderProps, WidgetModule } from "./afm";
import { addStyles, loadBundle } from "./bundle";
import { type Manager, managerHost } from "./manager_host";

/** What anywidget before 0.11 gives: no host and no signal, but the manager of the page by the model. */
type Given = Omit<RenderProps, "host" | "signal"> & Partial<RenderProps> & { model: { widget_manager?: Manager } };

export const loader: WidgetModule = {
  async render({ model, el, ...given }: Given) {
    const end = new AbortController();
    const { signal = end.signal } = given;
    try {
      const host = given.host ?? managerHost(model.widget_manager, loader, signal);
      const ref = String(model.get("script"));
      const { VIEWS, styles } = await loadBundle(await host.getModel(ref, { signal }), ref);
      const name = String(model.get("builder"));
      const view = VIEWS.get(name);
      if (view === undefined) throw new Error(`its JavaScript knows no view "${name}"; re-run the cell that made it`);
      addStyles(el, styles);
      await view.render({ model, el, host, signal });
    } catch (error) {
      if (signal.aborted) return;
      el.setAttribute("role", "alert");
      el.textContent = `This view cannot be drawn: ${error instanceof Error ? error.message : String(error)}`;
    }
    return () => end.abort();
  },
};
