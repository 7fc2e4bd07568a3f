/** Which views a page draws, and what stands for a view in the output of a cell until it is drawn. */

import { atEnd, modelId, notePage, ofPage } from "./widget";

interface Drawn {
  readonly view: string;
}

const EVENT = "tfprof_widgets.drawn";
const drawn = () => ofPage("drawn", () => new Set<Drawn>());

/** A view of `kind` is being drawn from `data` ("anywidget:<id>" or "IPY_MODEL_<id>") until `signal`; the page may show it again. */
export function noteDrawn(kind: string, data: unknown, signal: AbortSignal): void {
  if (signal.aborted) return;
  const own = { view: `${kind} ${modelId(String(data))}` };
  drawn().add(own);
  atEnd(signal, () => drawn().delete(own));
  globalThis.dispatchEvent(new Event(EVENT));
}

function whenDrawn(view: string, then: () => void): void {
  const look = () => {
    if (![...drawn()].some((one) => one.view === view)) return;
    globalThis.removeEventListener(EVENT, look);
    then();
  };
  globalThis.addEventListener(EVENT, look);
  look();
}

/** So long nothing is shown: most widgets are there by then. */
const HIDE_MS = 3000;
/** So long a widget of which nothing is known may take. */
const WAIT_MS = 8000;
const LOOK_MS = 250;
/** Where a cell shows widgets, or will: JupyterLab and Notebook, then pages of nbconvert. */
const WIDGETS = ".lm-Panel.jp-OutputArea-output, .jupyter-widgets";

/** `holder` has the page in its attributes; the plain HTML is before it. */
export function standIn(holder: HTMLElement): void {
  const plain = holder.previousElementSibling as HTMLElement;
  const began = performance.now();
  const frame = holder.ownerDocument.createElement("iframe");
  const timer = setInterval(look, LOOK_MS);
  let error: HTMLElement | undefined;

  function look(): void {
    const waited = performance.now() - began;
    const isMissing = hasNone(places());
    if (isMissing || waited > HIDE_MS) plain.style.display = "";
    if (isMissing || waited > WAIT_MS) draw();
  }

  function draw(): void {
    clearInterval(timer);
    // A bar that told how far reading was may be there before the view.
    error = hasNone(places()) ? places()?.at(-1) : undefined;
    if (error) error.style.display = "none";
    plain.querySelector(".tfprof-hint")?.remove();
    frame.title = "tfprof: all views";
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");
    frame.style.cssText = `width:100%;height:${holder.dataset.heightPx}px;border:0`;
    const isLight = holder.ownerDocument.body.dataset.jpThemeLight;
    const page = holder.dataset.page ?? "";
    frame.srcdoc = isLight ? page.replace("<body", `<body data-jp-theme-light="${isLight}"`) : page;
    plain.after(frame);
  }

  function places(): readonly HTMLElement[] | undefined {
    const cell = holder.closest(".jp-OutputArea");
    return cell ? [...cell.querySelectorAll<HTMLElement>(WIDGETS)] : undefined;
  }

  notePage(holder);
  plain.style.display = "none";
  look();
  whenDrawn(holder.dataset.view ?? "", () => {
    clearInterval(timer);
    // The holder stays: in its page views find what the state of widgets lacks.
    for (const part of [plain, frame]) part.remove();
    // JupyterLab draws a view in the place of its error once it has a kernel.
    if (error) error.style.display = "";
  });
}

/** Whether a cell shows no widget, or says that it cannot; where cells are not known nothing is. */
function hasNone(places: readonly HTMLElement[] | undefined): boolean {
  return places?.every((place) => place.textContent?.includes("model not found")) ?? false;
}
