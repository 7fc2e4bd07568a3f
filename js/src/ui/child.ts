/** A reference to another widget in a view's model -> that widget, drawn inside the view. */
import { h } from "./dom";
import type { View } from "./view";

/** Draws the child of a trait into `el`; a child that cannot be drawn says so there and leaves the others alone. */
export async function renderChild(view: View, trait: string, el: HTMLElement): Promise<void> {
  const ref = view.model.get(trait);
  if (ref) await renderWidget(view, ref, trait.replaceAll("_", " "), el);
  else el.remove();
}

/** The same of a widget that is referred to anywhere else; `name` is what it is called where it cannot be drawn. */
export async function renderWidget(
  { host, signal }: Pick<View, "host" | "signal">,
  ref: unknown,
  name: string,
  el: HTMLElement,
): Promise<void> {
  try {
    const child = await host.getWidget(String(ref), { signal });
    await child.render({ el, signal });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    el.append(h("div.tfp-error", { role: "alert" }, `The ${name} view failed: ${reason}`));
  }
}
