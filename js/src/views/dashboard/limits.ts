/** What a reader has to know of a capture -> one line that opens, and each limit in the tab that it is about. */

import { plural } from "../../model/text/format";
import { button, h } from "../../ui/dom";
import type { TraceView } from "../../ui/view";
import { hasMemory } from "./tab_list";

export interface Limit {
  readonly text: string;
  /** Trait of the view that it is about; "" for the capture as a whole. */
  readonly view: string;
  /** Whether that view tells it in its own words. */
  readonly is_told?: boolean;
}

/** What the tabs of a dashboard are called, by the trait of a view. */
export interface TabNames {
  titleOf(trait: string): string | undefined;
  isOffered(trait: string): boolean;
  show(trait: unknown, how: { readonly moves: boolean }): void;
}

/** Of a text, what comes before a colon; a longer beginning is no headline. */
const HEADLINE = /^(.{1,80}?): /;

export function limitsOf({ data, options }: TraceView): readonly Limit[] {
  const { memory_failure: failure, memory_remedy: remedy } = data.meta;
  const limits = (options.limits ?? []) as readonly Limit[];
  // The overview tells of a failed allocation, and more of it.
  const told = failure ? limits.filter(({ text }) => !text.startsWith(failure.sentence)) : limits;
  // Where there is some memory, its view tells what is missing.
  const why =
    remedy && !hasMemory(data.meta) ? [`Memory was not recorded: ${remedy.split("\n")[0].replace(/:$/, ".")}`] : [];
  return [...told, ...why.map((text) => ({ text, view: "memory_timeline" }))];
}

/** How many limits there are, which of them are about everything, and where the others are told; opened, all of them. */
export function limitLine({ options, signal }: TraceView, limits: readonly Limit[], tabs: TabNames): HTMLElement[] {
  if (limits.length === 0) return [];
  const counted = plural(limits.length, "limit");
  const head = options.outcome === "complete" ? `Capture complete, ${counted}` : `${counted} of this capture`;
  const placeOf = (view: string) =>
    view === "timeline" ? "Timeline" : tabs.isOffered(view) ? tabs.titleOf(view) : undefined;
  const others = limits.filter(({ view }) => placeOf(view) === undefined);
  const places = [...new Set(limits.flatMap(({ view }) => placeOf(view) ?? []))];
  const about = [
    ...others.map(({ text }) => headlineOf(text)),
    ...(places.length > 0 ? [`in ${places.join(", ")}`] : []),
  ];
  const items = limits.map(({ text, view }) => {
    const title = tabs.titleOf(view);
    const head = HEADLINE.exec(text)?.[1];
    const words = head ? [h("b", `${head}:`), text.slice(head.length + 1)] : [text];
    const open = () => tabs.show(view, { moves: true });
    return h(
      "p",
      ...words,
      ...(title === undefined ? [] : [" ", button(`See ${title}`, open, signal, { class: "link" })]),
    );
  });
  const line = h("summary", h("b", head), about.length > 0 && h("span", `: ${about.join(" · ")}`));
  const isCalm = limits.every(({ view }) => view !== "");
  return [h(isCalm ? "details.note.calm" : "details.note", { role: "status" }, line, ...items)];
}

function headlineOf(text: string): string {
  return HEADLINE.exec(text)?.[1] ?? text.replace(/\.$/, "");
}

/** Above a view in its tab: what is not known of what it shows. */
export function limitNote(limits: readonly Limit[], trait: string): HTMLElement | null {
  const words = limits.filter(({ view, is_told }) => view === trait && !is_told).map(({ text }) => text);
  return words.length > 0 ? h("p.tfp-limit.q", words.join(" ")) : null;
}
