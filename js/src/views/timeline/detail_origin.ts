/** Turns an op into where it comes from and what it holds: its source line, its layer, the memory it allocated. */

import { formatBytes, formatCount } from "../../model/text/format";
import { isWithin } from "../../model/time/left_out";
import { lowerBound } from "../../model/wire/bisect";
import { numbers } from "../../model/wire/column";
import { EMPTY_TABLE, type Table } from "../../model/wire/wire";
import { button, type Child, h } from "../../ui/dom";
import { isInDashboard, SHOW_VIEW } from "../../ui/view_links";
import { keyValues, type Pair } from "./detail_parts";
import type { TimelineState } from "./state";

const SECTIONS = ["op_places", "source_lines", "source_files", "layers"];

/** Rows that may come later: of a big capture the tables of places are not in the first pack. */
export function originRows(state: TimelineState, event: number, signal: AbortSignal): Node[] {
  const { trace, events } = state;
  const op = events.op[event];
  if (op < 0) return [];
  const place = h("div");
  const fill = async () => {
    await trace.data.ready(SECTIONS);
    const rows = [...placeRows(state, op, signal), ...memoryRows(state, event)];
    if (rows.length > 0) place.replaceChildren(keyValues(rows));
  };
  trace.guard(fill)();
  return [place];
}

function placeRows(state: TimelineState, op: number, signal: AbortSignal): Pair[] {
  const { meta, trace } = state;
  const places = trace.data.table("op_places") ?? EMPTY_TABLE;
  if (op >= places.n) return [];
  const rows: Pair[] = [];
  const line = meta.source_lines?.[numbers(places, "line")[op]];
  if (line) rows.push(["code", ...sourceOf(state, line, signal)]);
  const layer = meta.layers?.[numbers(places, "layer")[op]];
  if (layer && layer.kind !== "other") rows.push(["layer", viewLink(state, layer.layer, "layer_table", signal)]);
  return rows;
}

type SourceLine = NonNullable<TimelineState["meta"]["source_lines"]>[number];

function sourceOf(state: TimelineState, line: SourceLine, signal: AbortSignal): [Child, Child?] {
  const file = state.meta.source_files?.[line.file];
  if (!file) return [line.bucket];
  const link = viewLink(state, `${file.title}, line ${line.line}`, "source_view", signal, file.file);
  return [link, h("div.tl-code", line.code.trim())];
}

/** Text that opens a view of the dashboard around; plain where there is none. */
export function viewLink(state: TimelineState, text: string, trait: string, signal: AbortSignal, tip = ""): Child {
  const { root } = state.trace;
  if (!isInDashboard(root)) return tip ? h("span", { title: tip }, text) : text;
  const show = () => root.dispatchEvent(new CustomEvent(SHOW_VIEW, { bubbles: true, composed: true, detail: trait }));
  return button(text, show, signal, { class: "link", title: tip || undefined });
}

/** What the op allocated while the slice ran; nothing where some of those allocations may not be here. */
function memoryRows({ trace, events }: TimelineState, event: number): Pair[] {
  const table = trace.data.table("memory");
  const span = [events.start[event], events.endOf(event)] as const;
  const isKnown = trace.data.isWhole("memory") || (trace.data.window && isWithin(span, trace.data.window));
  if (!table || table.n === 0 || !isKnown) return [];
  const columns = ["time_ps", "is_free", "allocation_bytes", "op", "freed_at"];
  const [time, isFree, bytes, op, freedAt] = columns.map((name) => numbers(table, name));
  const key = events.keyOf(event);
  const end = events.endOf(event);
  let [total, kept, n] = [0, 0, 0];
  for (const [low, high] of blocksOf(table)) {
    for (let row = lowerBound(time, events.start[event], low, high); row < high && time[row] <= end; row++) {
      if (isFree[row] || op[row] !== key) continue;
      n += 1;
      total += bytes[row];
      if (freedAt[row] < 0 || time[freedAt[row]] > end) kept += bytes[row];
    }
  }
  if (n === 0) return [];
  const more = kept === total ? "all kept" : kept === 0 ? "freed in it" : `${formatBytes(kept)} kept`;
  return [["memory", formatBytes(total), h("span.q", ` in ${formatCount(n)} · ${more}`)]];
}

/** Found once a table: it may have millions of rows. */
const BLOCKS = new WeakMap<Table, readonly (readonly [number, number])[]>();

/** Rows [low, high) of each allocator and session, in which times ascend. */
function blocksOf(table: Table): readonly (readonly [number, number])[] {
  const known = BLOCKS.get(table);
  if (known) return known;
  const [allocator, session] = [numbers(table, "allocator"), numbers(table, "session")];
  const blocks: (readonly [number, number])[] = [];
  let low = 0;
  for (let row = 1; row <= table.n; row++) {
    if (row < table.n && allocator[row] === allocator[low] && session[row] === session[low]) continue;
    blocks.push([low, row]);
    low = row;
  }
  BLOCKS.set(table, blocks);
  return blocks;
}
