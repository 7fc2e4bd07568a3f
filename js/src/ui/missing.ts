/** Turns what has not arrived into a placeholder with its progress, and what never will into one line above the view. */
import { within } from "../host/failures";
import { isWithin, NOT_HERE, notKnownWords, waitingWords } from "../model/time/left_out";
import { rangeInPs } from "../model/time/span_text";
import type { Span } from "../model/time/viewport";
import { button, h } from "./dom";
import type { Needs, TraceView } from "./view";

/** A view that is built sooner shows no placeholder: it would only flash. */
const PATIENCE_MS = 200;
const PS_PER_NS = 1000;

/** Resolves when the tables and lists are here; until then the view's place says what it waits for. */
export async function waitFor(view: TraceView, names: readonly string[]): Promise<void> {
  const { data, root, signal } = view;
  const missing = names.filter((name) => !data.isWhole(name));
  if (missing.length === 0 || (data.window && data.isOffline)) return;
  const ended = within(signal);
  const bar = h("progress", { "aria-label": "Parts that have arrived" });
  const words = h("span");
  const box = h("div.tfp-waiting", { role: "status" }, words, bar);
  const say = () => {
    const [here, all] = data.arrived(missing);
    const text = data.problem || (data.isOffline ? NOT_HERE : waitingWords(missing, here, all, data.hasKernel));
    if (words.textContent !== text) words.textContent = text;
    bar.hidden = data.isOffline || data.problem !== "";
    bar.max = all;
    bar.value = here;
  };
  say();
  const timer = setTimeout(() => root.append(box), data.isOffline ? 0 : PATIENCE_MS);
  data.onChange(say, ended.signal);
  await data.ready(missing);
  clearTimeout(timer);
  ended.abort();
  box.remove();
}

/** Hides the view where its figures would be of what happens to be here, and says why, for as long as that is so. */
export function sayWhatIsMissing(view: TraceView, needs: Needs) {
  const { data, link, root, signal } = view;
  const box = h("div.tfp-left-out", { role: "note" });
  const isOfWindow = (name: string) =>
    data.isOffline && data.window !== null && !link.timeRange && needs.ofWindow?.includes(name);
  const update = () => {
    const missing = readBy(link, needs).filter((name) => !data.isWhole(name) && !isOfWindow(name));
    const isKnown = missing.every((name) => isKnownOfRange(view, name));
    root.classList.toggle("tfp-unknown", !isKnown);
    if (isKnown) box.remove();
    else {
      box.replaceChildren(...whyMissing(view, missing));
      if (!box.isConnected) root.prepend(box);
    }
  };
  if (ABOUT.every((about) => readBy(about, needs).every((name) => data.isWhole(name)))) return;
  data.onChange(update, signal);
  for (const field of ["time_range", "host"] as const) link.on(field, update, signal);
  update();
}

/** Of executions, of the whole capture: a window has none. */
const TOTALS = ["unit_totals", "host_totals", "step_totals", "kernel_totals", "kernel_step_totals"];
/** What a view may be about: all, one host, a range. */
const ABOUT = [
  { timeRange: null, host: "" },
  { timeRange: null, host: "one" },
  { timeRange: [0, 0], host: "" },
];

/** The tables and lists that a view reads: without a range views of executions read their totals. */
function readBy(
  link: { readonly timeRange: unknown; readonly host: string },
  { needs = [], forRange = [], forHost = ["host_totals"] }: Needs,
): string[] {
  if (link.timeRange) return [...needs, ...forRange];
  if (!forRange.includes("occurrences")) return [...needs];
  return [...needs, ...(link.host === "" ? ["unit_totals"] : forHost)];
}

/** Whether the rows of a table that the linked range needs are all here, though not the whole table. */
function isKnownOfRange({ data, link }: TraceView, name: string): boolean {
  const { window } = data;
  const range = rangeInPs(link.timeRange, data.table("steps"));
  return window !== null && data.table(name) !== undefined && isWithin(range, window);
}

function whyMissing(view: TraceView, missing: readonly string[]): (string | HTMLElement)[] {
  const { data, link } = view;
  const { window } = data;
  const [here, all] = data.arrived(missing);
  if (window === null && !data.isOffline)
    return [
      `${link.timeRange ? "Figures of a range follow. " : ""}${waitingWords(missing, here, all, data.hasKernel)}`,
    ];
  if (window === null || missing.some((name) => !TOTALS.includes(name) && data.table(name) === undefined))
    return [NOT_HERE];
  return offerKept(view, window);
}

/** That the figures are not known, and a button that makes all views be about what is here. */
export function offerKept({ data, link, signal }: TraceView, window: Span): (string | HTMLElement)[] {
  const [why, held] = notKnownWords(data.meta, data.table("steps"), window, link.timeRange !== null);
  const inside = [Math.ceil(window.t0 / PS_PER_NS), Math.floor(window.t1 / PS_PER_NS)] as const;
  const show = button(`Show ${held}`, () => link.setTimeRange(inside), signal, { class: "link" });
  return [`${why} `, show];
}
