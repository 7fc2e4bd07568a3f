/** A page that holds the state of widgets and no kernel -> has the bundle in that state draw them, once a page. */

import { loadBundle, type Places, reasonOf, type SavedModels } from "../data/widget";

const scripts = (kind: string) =>
  document.querySelectorAll(`script[type="application/vnd.jupyter.widget-${kind}+json"]`);
const DRAWN = Symbol.for("tfprof_widgets.saved_page");

async function start(): Promise<void> {
  const page = document as unknown as Record<symbol, boolean | undefined>;
  const text = scripts("state")[0]?.textContent;
  if (!text || page[DRAWN]) return;
  page[DRAWN] = true;
  try {
    const { state: models } = JSON.parse(text) as { state: SavedModels };
    const [id, library] = Object.entries(models).findLast(([, { state }]) => state.name === "tfprof_widgets") ?? [];
    if (library === undefined) return;
    const places = takePlaces(models);
    const { drawPage } = await loadBundle({ get: (name) => library.state[name], send() {} }, String(id));
    await drawPage(document, models, places);
  } catch (error) {
    const words = document.createElement("p");
    words.setAttribute("role", "alert");
    words.textContent = `This page could not be drawn: ${reasonOf(error)}`;
    document.body.append(words);
  }
}

/** The places of our views, which a manager that looks for them when the page is loaded does not find. */
function takePlaces(models: SavedModels): Places {
  return [...scripts("view")].flatMap((script) => {
    const id: string = JSON.parse(script.textContent ?? "{}").model_id;
    if (!models[id]?.state.builder) return [];
    const place = document.createElement("div");
    script.replaceWith(place);
    return [[id, place]];
  });
}

void start();
