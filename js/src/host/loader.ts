/** The module of every widget: has the shared bundle draw the widget's kind of view. */

import type { RenderProps, WidgetModule } from "./afm";
import { addStyles, loadBundle } from "./bundle";

export const loader: WidgetModule = {
  async render(props: RenderProps) {
    const { model, el, host, signal } = props;
    try {
      if (!host)
        throw new Error("it needs anywidget 0.11 or later: pip install -U anywidget, then restart the kernel.");
      const ref = String(model.get("script"));
      const { VIEWS, styles } = await loadBundle(await host.getModel(ref, { signal }), ref);
      const name = String(model.get("builder"));
      const view = VIEWS.get(name);
      if (view === undefined) throw new Error(`its JavaScript knows no view "${name}"; re-run the cell that made it`);
      addStyles(el, styles);
      await view.render(props);
    } catch (error) {
      if (signal?.aborted) return;
      el.setAttribute("role", "alert");
      el.textContent = `This view cannot be drawn: ${error instanceof Error ? error.message : String(error)}`;
    }
  },
};
