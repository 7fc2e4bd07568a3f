/** The widgets of an exported page -> live views without a kernel; in a page of nbconvert, those that nobody else draws. */

import "../styles/style.css";
import type { WidgetModule } from "../host/afm";
import { importText, makeHost, type Snapshot } from "../host/page_host";
import { drawSavedWidgets } from "../host/saved_page";
import { h } from "../ui/dom";

const modules = new Map<string, Promise<WidgetModule>>();

/** The module whose text the page holds in `<script type="text/plain" id="esm-...">`, imported once. */
function loadModule(entry: string): Promise<WidgetModule> {
  const known = modules.get(entry);
  if (known) return known;
  const text = document.getElementById(`esm-${entry}`)?.textContent;
  if (!text) return Promise.reject(new Error(`this page holds no script for the view "${entry}"`));
  const loading = importText(text);
  modules.set(entry, loading);
  return loading;
}

/** Themes follow the system until the reader chooses; views watch the attribute that JupyterLab sets as well. */
function addThemeSwitch(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen: boolean | null = null;
  const toggle = h("button", { type: "button", class: "tfp-theme-switch" });
  const apply = () => {
    const isDark = chosen ?? system.matches;
    document.body.dataset.jpThemeLight = String(!isDark);
    document.documentElement.style.colorScheme = isDark ? "dark" : "light";
    document.body.style.background = isDark ? "#212121" : "#ffffff";
    toggle.textContent = isDark ? "Light theme" : "Dark theme";
    (toggle.parentElement as HTMLElement).dataset.theme = isDark ? "dark" : "light";
  };
  toggle.addEventListener("click", () => {
    chosen = !(chosen ?? system.matches);
    apply();
  });
  document.body.style.margin = "0";
  const line = h("div", { class: "tfp" }, toggle);
  toggle.style.cssText = "display:block;margin:4px 10px 0 auto";
  document.body.append(line);
  system.addEventListener("change", apply);
  apply();
}

async function start(): Promise<void> {
  const scripts = [...document.querySelectorAll('script[type="application/x-tfprof+json"]')];
  if (scripts.length === 0) return;
  addThemeSwitch();
  for (const script of scripts) {
    const place = h("main", {});
    document.body.append(place);
    try {
      const snapshot = JSON.parse(script.textContent ?? "") as Snapshot;
      const widget = await makeHost(snapshot, loadModule).getWidget(snapshot.root);
      await widget.render({ el: place });
    } catch (error) {
      place.setAttribute("role", "alert");
      place.textContent = `This page could not be drawn: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}

if (typeof document !== "undefined") {
  void start();
  void drawSavedWidgets(document);
}
