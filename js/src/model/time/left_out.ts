/** Turns what a page holds of a capture into one sentence on what it leaves out. */

import type { EventsState } from "../../host/data";
import { formatCount, formatInstant, plural } from "../text/format";
import type { TraceMeta } from "../wire/meta";
import type { Table } from "../wire/wire";
import { stepLabel, stepWords, wholeSteps } from "./span_text";
import type { RangePs, Span } from "./viewport";

/** In place of a figure that would be one of a sample. */
export const NOT_KNOWN = "not known here";
export const KEEP_ALL = 'To keep all: prof.to_html("trace.html", embed="full").';

/** "steps 100–140 of 20,000", or the times of a window without whole steps. */
export function windowWords(meta: TraceMeta, steps: Table | undefined, window: Span): string {
  const whole = steps && wholeSteps(steps, [window.t0, window.t1]);
  if (!whole) return `${formatInstant(window.t0, 1e9)} to ${formatInstant(window.t1, 1e9)}`;
  const [first, last] = whole.map((row) => stepLabel(meta.step_names, row));
  const which = whole[0] === whole[1] ? stepWords(meta.step_names, whole[0]) : `steps ${first}–${last}`;
  return `${which} of ${formatCount(steps.n)}`;
}

/** Why a view on a page without a kernel shows no figures of a range, or of the whole capture; of what it would. */
export function notKnownWords(
  meta: TraceMeta,
  steps: Table | undefined,
  window: Span,
  isRange: boolean,
): readonly [why: string, held: string] {
  const what = isRange ? "this range" : "the whole capture";
  return [`The figures of ${what} are ${NOT_KNOWN}. ${KEEP_ALL}`, windowWords(meta, steps, window)];
}

/** Whether a window of the capture, of which every table has all rows, covers a range. */
export function isWithin(range: RangePs, window: Span): boolean {
  return range !== null && range[0] >= window.t0 && range[1] <= window.t1;
}

/** Why a view has nothing to draw on a page that holds not even a window of it. */
export const NOT_HERE =
  'This page was saved without the data of this view. Run the cell again, or keep all with prof.to_html("trace.html", embed="full").';

/** What the kernel reads when the cell that was profiled is shown: the source map. */
const READ_LATE = ["source_lines", "layers", "scopes", "structure"];

/** While a view waits: what for, how much of it is here, and whom it waits for. */
export function waitingWords(names: readonly string[], here: number, all: number, hasKernel: boolean): string {
  if (names.some((name) => READ_LATE.includes(name)))
    return `${hasKernel ? "Reading" : "Waiting for the kernel to read"} source lines, layers and structure …`;
  if (here > 0 || hasKernel) return `Loading: ${formatCount(here)} of ${plural(all, "part")} are here.`;
  return "Waiting for the kernel to send the data of this view; it answers when the running cell ends.";
}

/** "N of M events", what happens to the others, and the reason at length. */
export function eventsWords(
  from: EventsState & { readonly nLoaded: number; readonly n: number; readonly nAll: number },
): { readonly count: string; readonly state: string; readonly why: string } {
  const { nLoaded, n, nAll } = from;
  const all = plural(nAll, "event");
  if (nLoaded >= nAll) return { count: all, state: "", why: from.problem };
  const count = `${formatCount(nLoaded)} of ${all}`;
  const others = "Of the others the longest are drawn.";
  if (nLoaded >= n) {
    return { count, state: "", why: "Events of the lines that did least, or that nest deepest, are left out." };
  }
  if (from.problem) return { count, state: ", the others could not be loaded", why: from.problem };
  if (from.isOffline) return { count, state: " in this page", why: `${others} ${KEEP_ALL}` };
  if (from.isFull) {
    const why = `${others} The browser holds 1 GiB; what comes on the screen is still loaded.`;
    return { count, state: ", memory full", why };
  }
  if (!from.hasKernel) {
    const why = `${others} A busy kernel answers when its cell ends. ${KEEP_ALL}`;
    return { count, state: ", waiting for the kernel", why };
  }
  return { count, state: `, loading ${Math.floor((100 * nLoaded) / Math.max(1, n))} %`, why: others };
}
