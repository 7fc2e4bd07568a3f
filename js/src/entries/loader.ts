/** The module of every widget: takes the view's own from the shared model that holds it, and has that draw. */
import type { RenderProps, WidgetModule } from "../host/afm";
import { loadLibrary } from "../host/library";
import { importText } from "../host/page_host";

const loader: WidgetModule = {
  async render(props: RenderProps) {
    const { model, el, host, signal } = props;
    try {
      if (!host)
        throw new Error("it needs anywidget 0.11 or later: pip install -U anywidget, then restart the kernel.");
      const ref = String(model.get("script"));
      const view = await loadLibrary<WidgetModule>(host, ref, ({ text }) => importText(text), signal);
      await view.render(props);
    } catch (error) {
      if (signal?.aborted) return;
      el.setAttribute("role", "alert");
      el.textContent = `This view cannot be drawn: ${error instanceof Error ? error.message : String(error)}`;
    }
  },
};

export default loader;
