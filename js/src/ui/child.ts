/** A reference to another widget in a view's model -> that widget, drawn inside the view. */
import { h } from "./dom";
import type { View } from "./view";

/** Draws the child of a trait into `el`; a child that cannot be drawn says so there and leaves the others alone. */
export async function renderChild(view: View, trait: string, el: HTMLElement): Promise<void> {
  const ref = view.model.get(trait);
  if (!ref) {
    el.remove();
    return;
  }
  try {
    const child = await view.host.getWidget(String(ref), { signal: view.signal });
    await child.render({ el, signal: view.signal });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    el.append(h("div.tfp-error", { role: "alert" }, `The ${trait.replaceAll("_", " ")} view failed: ${reason}`));
  }
}
