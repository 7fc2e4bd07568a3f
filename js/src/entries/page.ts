/** A page that holds the state of widgets and no kernel -> has the bundle in that state draw them, once a page. */

import { loadBundle, makeModel, reasonOf, type SavedModels } from "../data/widget";

const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
const DRAWN = Symbol.for("tfprof_widgets.saved_page");

async function start(): Promise<void> {
  const page = document as unknown as Record<symbol, boolean | undefined>;
  const text = document.querySelector(STATE)?.textContent;
  if (!text || page[DRAWN]) return;
  page[DRAWN] = true;
  try {
    const { state: models } = JSON.parse(text) as { state: SavedModels };
    const [id, library] = Object.entries(models).findLast(([, { state }]) => state.name === "tfprof_widgets") ?? [];
    if (library === undefined) return;
    const { drawPage } = await loadBundle(makeModel(library.state), String(id));
    await drawPage(document, models);
  } catch (error) {
    const words = document.createElement("p");
    words.setAttribute("role", "alert");
    words.textContent = `This page could not be drawn: ${reasonOf(error)}`;
    document.body.append(words);
  }
}

void start();
