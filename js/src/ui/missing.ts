/** Turns what has not arrived into a placeholder with its progress, and what never will into one line above the view. */
import { within } from "../host/failures";
import { NOT_HERE, waitingWords, windowNote } from "../model/time/left_out";
import type { TraceView } from "./view";

/** A view that is built sooner shows no placeholder: it would only flash. */
const PATIENCE_MS = 200;

/** Resolves when the tables and lists are here; until then the view's place says what it waits for. */
export async function waitFor(view: TraceView, names: readonly string[]): Promise<void> {
  const { data, root, signal } = view;
  const missing = names.filter((name) => !data.isWhole(name));
  if (missing.length === 0 || (data.window && data.isOffline)) return;
  const ended = within(signal);
  const bar = root.ownerDocument.createElement("progress");
  const words = root.ownerDocument.createElement("span");
  const box = root.ownerDocument.createElement("div");
  box.className = "tfp-waiting";
  box.setAttribute("role", "status");
  box.append(words, bar);
  const say = () => {
    const [here, all] = data.arrived(missing);
    const text = data.problem || (data.isOffline ? NOT_HERE : waitingWords(missing, here, all, data.hasKernel));
    if (words.textContent !== text) words.textContent = text;
    bar.hidden = data.isOffline || data.problem !== "";
    bar.max = all;
    bar.value = here;
  };
  say();
  bar.setAttribute("aria-label", "Parts that have arrived");
  const timer = setTimeout(() => root.append(box), data.isOffline ? 0 : PATIENCE_MS);
  data.onChange(say, ended.signal);
  await data.ready(missing);
  clearTimeout(timer);
  ended.abort();
  box.remove();
}

/** Says above the view what it lacks of the capture, for as long as it lacks it. */
export function sayWhatIsMissing(view: TraceView, needs: readonly string[], forRange: readonly string[]) {
  const { data, link, root, signal } = view;
  const box = root.ownerDocument.createElement("div");
  box.className = "tfp-left-out";
  box.setAttribute("role", "note");
  const update = () => {
    const names = link.timeRange ? [...needs, ...forRange] : needs;
    const missing = names.filter((name) => !data.isWhole(name));
    if (missing.length === 0) box.remove();
    else {
      const { window } = data;
      const [here, all] = data.arrived(missing);
      box.textContent = window
        ? windowNote(data.meta, data.table("steps"), window)
        : data.isOffline
          ? NOT_HERE
          : `Figures of a range follow. ${waitingWords(missing, here, all, data.hasKernel)}`;
      if (!box.isConnected) root.prepend(box);
    }
  };
  if ([...needs, ...forRange].every((name) => data.isWhole(name))) return;
  data.onChange(update, signal);
  link.on("time_range", update, signal);
  update();
}
