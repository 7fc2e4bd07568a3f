// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { noteDrawn, standIn } from "../src/data/page";

const WIDGET = '<div class="lm-Panel jp-OutputArea-output">Loading widget...</div>';
let view: AbortController;

/** A cell with these outputs before that which stands for the dashboard of the data "d1". */
function cell(outputs: string, area = "jp-OutputArea", page = "<b>page</b>"): HTMLElement {
  const made = document.body.appendChild(document.createElement("div"));
  made.className = area;
  made.innerHTML = `${outputs}<div><p>verdict</p><p class="tfprof-hint">trust</p></div>
    <div data-view="dashboard d1" data-height-px="700"></div>`;
  const holder = made.lastElementChild as HTMLElement;
  holder.dataset.page = page;
  standIn(holder);
  return made;
}

function seen(of: HTMLElement): { text: boolean; page: string | undefined } {
  const text = of.querySelector("p")?.parentElement;
  return { text: text !== null && text?.style.display === "", page: of.querySelector("iframe")?.srcdoc };
}

describe("what stands for a view", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    view = new AbortController();
  });
  afterEach(() => {
    view.abort();
    vi.useRealTimers();
    document.body.replaceChildren();
  });

  it("is there at once, text and page, where the cell shows no widget", () => {
    const made = cell("");
    expect(seen(made)).toEqual({ text: true, page: "<b>page</b>" });
    expect(made.querySelector(".tfprof-hint")).toBeNull();
  });

  it("waits for a widget, and takes the place of what says that there is no model", () => {
    const made = cell(WIDGET);
    expect(seen(made)).toEqual({ text: false, page: undefined });
    const widget = made.querySelector<HTMLElement>(".lm-Panel") as HTMLElement;
    widget.textContent = "Error displaying widget: model not found";
    vi.advanceTimersByTime(300);
    expect(seen(made)).toEqual({ text: true, page: "<b>page</b>" });
    expect(widget.style.display).toBe("none");
    noteDrawn("dashboard", "IPY_MODEL_d1", view.signal);
    expect(seen(made), "JupyterLab had no kernel before").toEqual({ text: false, page: undefined });
    expect(widget.style.display).toBe("");
  });

  it("leaves what another widget says", () => {
    const made = cell(WIDGET + WIDGET);
    const [other, own] = [...made.querySelectorAll<HTMLElement>(".lm-Panel")];
    for (const one of [other, own]) (one as HTMLElement).textContent = "model not found";
    vi.advanceTimersByTime(300);
    expect([other?.style.display, own?.style.display]).toEqual(["", "none"]);
  });

  it("has the theme of the notebook", () => {
    document.body.dataset.jpThemeLight = "false";
    const made = cell("", "jp-OutputArea", '<body class="x">');
    expect(seen(made).page).toBe('<body data-jp-theme-light="false" class="x">');
    delete document.body.dataset.jpThemeLight;
  });

  it.each(["jp-OutputArea", "unknown"])("is first text, then page, where a widget does not come: %s", (area) => {
    const made = cell(WIDGET, area);
    vi.advanceTimersByTime(4000);
    expect(seen(made)).toEqual({ text: true, page: undefined });
    vi.advanceTimersByTime(5000);
    expect(seen(made).page).toBe("<b>page</b>");
  });

  it.each([0, 4000, 9000])("is gone when the view is drawn after %d ms", (afterMs) => {
    const made = cell(WIDGET);
    vi.advanceTimersByTime(afterMs);
    noteDrawn("timeline", "anywidget:d1", view.signal);
    noteDrawn("dashboard", "anywidget:d2", view.signal);
    expect(made.querySelector("p")).not.toBeNull();
    noteDrawn("dashboard", "IPY_MODEL_d1", view.signal);
    vi.advanceTimersByTime(20_000);
    expect(made.querySelectorAll("p, iframe")).toHaveLength(0);
    expect(made.querySelectorAll("[data-page]"), "for what is drawn later").toHaveLength(1);
  });

  it("is there where the view was drawn in a notebook that is closed", () => {
    noteDrawn("dashboard", "anywidget:d1", view.signal);
    expect(cell("").querySelector("p")).toBeNull();
    view.abort();
    expect(seen(cell("")).text).toBe(true);
  });
});
