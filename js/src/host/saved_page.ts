/**
 * A page that nbconvert made, and the widget state in it -> our views, drawn where no widget manager does.
 *
 * Such a page fetches its manager from a network. The script stands in the output of each cell that shows a view, and
 * does nothing in a page that a live front end made.
 */
import { importText, makeHost, type SavedModel } from "./page_host";

const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
const VIEW = 'script[type="application/vnd.jupyter.widget-view+json"]';
const DRAWN = Symbol.for("tfprof_widgets.saved_page");
/** A manager marks the place of each widget at once when it is there; the widgets themselves may take it longer. */
const MARK_MS = 2000;
const DRAW_MS = 30_000;
const ASK_MS = 100;

interface NotebookModel {
  readonly model_module: string;
  readonly state: Record<string, unknown>;
}

export async function drawSavedWidgets(page: Document): Promise<void> {
  const done = page as unknown as Record<symbol, boolean | undefined>;
  const text = page.querySelector(STATE)?.textContent;
  if (!text || done[DRAWN]) return;
  done[DRAWN] = true;
  await loaded(page);
  const models = (JSON.parse(text) as { state: Record<string, NotebookModel> }).state;
  const saved: Record<string, SavedModel> = {};
  for (const [id, { state }] of Object.entries(models))
    saved[id] = { state, esm: (state._esm as string | undefined) ?? null };
  const modules = new Map<string, ReturnType<typeof importText>>();
  const host = makeHost({ root: "", models: saved }, (esm) => {
    const known = modules.get(esm) ?? importText(esm);
    modules.set(esm, known);
    return known;
  });
  const draw = async (script: Element) => {
    const id = String((JSON.parse(script.textContent ?? "{}") as { model_id?: string }).model_id);
    const place = script.parentElement;
    if (!place || !isOurs(saved[id]) || (await isDrawn(place))) return;
    script.remove(); // a manager that comes later finds nothing to draw
    addStyles(page, saved);
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

function isOurs(model: SavedModel | undefined): boolean {
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

function addStyles(page: Document, models: Readonly<Record<string, SavedModel>>): void {
  const id = "tfprof-saved-styles";
  if (page.getElementById(id)) return;
  const texts = new Set(Object.values(models).map((model) => String(model.state._css ?? "")));
  const sheet = page.createElement("style");
  sheet.id = id;
  sheet.textContent = [...texts].join("\n");
  page.head.append(sheet);
}
