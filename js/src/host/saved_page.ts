/**
 * A page with the state of widgets in it, by nbconvert or exported -> our views, drawn where no widget manager does.
 *
 * A page of nbconvert fetches its manager from a network.
 */
import { loader } from "./loader";
import { makeHost, type SavedModels } from "./page_host";

const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';
/** A manager marks the place of each widget at once when it is there; the widgets themselves may take it longer. */
const MARK_MS = 2000;
const DRAW_MS = 30_000;
const ASK_MS = 100;

export async function drawSavedWidgets(page: Document, models: SavedModels): Promise<void> {
  await loaded(page);
  const host = makeHost(models, loader);
  const draw = async (script: Element) => {
    const id = String((JSON.parse(script.textContent ?? "{}") as { model_id?: string }).model_id);
    const place = script.parentElement;
    if (!place || !isOurs(models[id]) || (await isDrawn(place))) return;
    script.remove(); // a manager that comes later finds nothing to draw
    const el = page.createElement("div");
    place.append(el);
    try {
      await (await host.getWidget(id)).render({ el });
    } catch (error) {
      el.setAttribute("role", "alert");
      el.textContent = `This view could not be drawn: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
  await Promise.all([...page.querySelectorAll(VIEW)].map(draw));
}

function isOurs(model: SavedModels[string] | undefined): boolean {
  return String(model?.state._anywidget_id ?? "").startsWith("tfprof_widgets.");
}

function loaded(page: Document): Promise<void> | undefined {
  if (page.readyState === "complete") return undefined;
  return new Promise((resolve) => page.defaultView?.addEventListener("load", () => resolve(), { once: true }));
}

/** Whether a manager draws the widget; waits for one that may yet come. */
async function isDrawn(place: Element): Promise<boolean> {
  // The manager of nbconvert's pages is an AMD module.
  if (!("requirejs" in globalThis)) return false;
  for (let waited = 0; waited < DRAW_MS; waited += ASK_MS) {
    if (place.querySelector("[data-tfprof]")) return true;
    if (waited >= MARK_MS && !place.querySelector(".widget-subarea, .jupyter-widgets")) return false;
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  }
  return false;
}
