/** A failed allocation: what happened, the memory against the request, who held it, and what to do. */

import type { FailureRow, FailureTable, MemoryFailureMeta } from "../data/meta";
import { cutNames } from "../model/names";
import { formatBytes, formatCount, formatPercent, plural } from "../model/text";
import { button, copyButton, h, setAria, textFits, watchSize } from "./dom";
import type { TraceView } from "./view";

/** Holders that have a segment of their own in the bar. */
const N_SEGMENTS = 5;
/** Share of the bar from which a segment has room for a part of its name; the whole is on hover. */
const MIN_NAMED = 0.07;
/** Sizes, shares and gaps of a row beside its name. */
const BESIDE_NAME_PX = 128;

export class FailurePanel {
  readonly element: HTMLElement;
  readonly #rows: { readonly row: FailureRow; readonly element: HTMLElement; readonly name: HTMLElement }[] = [];

  constructor(
    readonly view: TraceView,
    readonly failure: MemoryFailureMeta,
    /** Shows the moment in the chart; null where the chart has none. */
    onMoment: ((timePs: number) => void) | null,
  ) {
    const [head] = /^.*?[.;](?= )/.exec(failure.sentence) ?? [failure.sentence];
    const what = h("p.what", h("b", head), failure.sentence.slice(head.length));
    const at = failure.at_ps;
    if (onMoment !== null && at !== null) {
      const show = () => onMoment(at);
      what.append(" ", button("Show the moment in the chart", show, view.signal, { class: "link" }));
    }
    const tables = failure.tables.map((table) => this.#table(table));
    const about = { "aria-label": "Out of memory", "data-lm-suppress-shortcuts": "true" };
    const held = tables.length > 0 && h("div.tables", ...tables);
    this.element = h("section.tfp-oom", about, what, memoryBar(failure), held, actionList(view, failure));
    view.link.on("selection", () => this.#mark(), view.signal);
    watchSize(this.element, view.signal, () => this.#cut());
    this.#mark();
  }

  #table({ title, n, rows }: FailureTable): HTMLElement {
    const counted = `${formatCount(rows.length)} of ${formatCount(n)}`;
    const label = `Held by ${title.toLowerCase()}`;
    const head = h("h3", h("b", label), h("span.q", counted));
    return h("div", { role: "group", "aria-label": label }, head, ...rows.map((row) => this.#row(row)));
  }

  #row(row: FailureRow): HTMLElement {
    const name = h("span", row.name);
    const named = h("span.name", name, row.detail && h("span.q", ` ${row.detail}`));
    const width = `${Math.min(1, row.ratio) * 100}%`;
    const share = h("i.share", { "aria-hidden": "true", style: { width } });
    const cells = [
      h("span.size", formatBytes(row.bytes)),
      h("span.part", share, h("span", formatPercent(row.ratio))),
      named,
    ];
    const selects =
      row.n_ops > row.ops.length ? `Selects ${formatCount(row.ops.length)} of ${formatCount(row.n_ops)} ops` : "";
    const title = [row.full, row.detail, plural(row.count, "allocation"), selects].filter(Boolean).join("\n");
    const pick = () => this.view.link.setSelection(this.#isChosen(row) ? [] : [...row.ops]);
    const element =
      row.ops.length > 0
        ? button("", pick, this.view.signal, { class: "row bare", title }, ...cells)
        : h("div.row", { title }, ...cells);
    this.#rows.push({ row, element, name });
    return element;
  }

  #isChosen(row: FailureRow): boolean {
    const { selection } = this.view.link;
    const chosen = new Set(selection);
    return row.ops.length > 0 && selection.length === row.ops.length && row.ops.every((op) => chosen.has(op));
  }

  #mark(): void {
    for (const { row, element } of this.#rows) {
      if (row.ops.length > 0) setAria(element, "pressed", this.#isChosen(row));
    }
  }

  #cut(): void {
    const room = (this.#rows[0]?.element.clientWidth ?? 0) - BESIDE_NAME_PX;
    if (room <= 0) return;
    const names = this.#rows.map(({ row }) => row.name);
    const cuts = cutNames(names, textFits(this.view.root, room));
    for (const { row, name } of this.#rows) name.textContent = cuts.get(row.name) ?? row.name;
  }
}

function memoryBar(failure: MemoryFailureMeta): HTMLElement | null {
  const { in_use_bytes: used, capacity_bytes: capacity, requested_bytes: requested } = failure;
  if (used === null || capacity === null || capacity <= 0) return null;
  const whole = Math.max(capacity, used + (requested ?? 0));
  const part = (bytes: number, kind: string, name: string) => {
    const words = `${name} ${formatBytes(bytes)}`;
    const style = { width: `${(bytes / whole) * 100}%` };
    return h("span", { class: kind, title: words, style }, bytes / whole >= MIN_NAMED && words);
  };
  const top = (failure.tables[1]?.rows ?? []).slice(0, N_SEGMENTS);
  const rest = Math.max(0, used - top.reduce((sum, row) => sum + row.bytes, 0));
  const segments = top.map((row) => part(row.bytes, "held", row.name));
  if (rest > 0) segments.push(part(rest, "held", "other"));
  const free = Math.max(0, capacity - used);
  const block = Math.min(failure.largest_free_bytes ?? 0, free);
  if (block > 0) segments.push(part(block, "free block", "largest free piece"));
  if (free > block) segments.push(part(free - block, "free", "free"));
  const track = h("div.track", ...segments);
  const request = requested === null ? null : part(requested, "request", "request");
  const piece = block > 0 ? `, at most ${formatBytes(block)} of it in one piece (dashed)` : "";
  const words = `${formatBytes(used)} of ${formatBytes(capacity)} in use`;
  const style = { width: `${(used / whole) * 100}%` };
  const below = h("div.track", h("span.q", { style }, `${words}, ${formatBytes(free)} free${piece}`), request);
  const asked = requested === null ? "" : `, ${formatBytes(requested)} requested`;
  return h("div.tfp-oom-bar", { role: "img", "aria-label": `${words}${asked}` }, track, below);
}

function actionList(view: TraceView, { actions }: MemoryFailureMeta): HTMLElement | null {
  if (actions.length === 0) return null;
  const items = actions.map(({ words, code, detail }) => {
    const copy = code ? [h("code", code), " ", copyButton("Copy", () => code, view.signal)] : [];
    return h("li", h("span", words), " ", ...copy, detail && h("p.q", detail));
  });
  return h("div.do", h("h3", h("b", "What to do")), h("ol", ...items));
}
