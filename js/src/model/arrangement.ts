/** What the reader pinned, hid, folded, opened and marked <-> the JSON that the widget keeps; show/link.py reads the same of bookmarks. */

import { PS_PER_NS, type Span, upperBound } from "../data/columns";
import { type ColorBy, isColorBy } from "./colors";

export interface Bookmark {
  /** In ns after the trace origin; equal for a moment. */
  readonly start_ns: number;
  readonly end_ns: number;
  readonly text: string;
}

const MAX_TEXT = 2000;

export function readBookmarks(text: string): Bookmark[] {
  let entries: unknown;
  try {
    entries = JSON.parse(text || "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(entries)) return [];
  const found = entries.flatMap((entry: Partial<Bookmark> | null): Bookmark[] => {
    const [start, end] = [Number(entry?.start_ns), Number(entry?.end_ns)];
    if (!Number.isFinite(start) || !Number.isFinite(end)) return [];
    return [{ start_ns: start, end_ns: Math.max(start, end), text: String(entry?.text ?? "").slice(0, MAX_TEXT) }];
  });
  return found.sort((a, b) => a.start_ns - b.start_ns || a.end_ns - b.end_ns);
}

export function bookmarksToJson(bookmarks: readonly Bookmark[]): string {
  return JSON.stringify(bookmarks);
}

/** A bookmark of a span in ps; of less than a nanosecond: of its start. */
export function bookmarkOf(span: Span, text: string): Bookmark {
  const start = Math.round(span.t0 / PS_PER_NS);
  return { start_ns: start, end_ns: Math.max(start, Math.round(span.t1 / PS_PER_NS)), text: text.slice(0, MAX_TEXT) };
}

export function spanOf(bookmark: Bookmark): Span {
  return { t0: bookmark.start_ns * PS_PER_NS, t1: bookmark.end_ns * PS_PER_NS };
}

export function withBookmark(bookmarks: readonly Bookmark[], added: Bookmark): { all: Bookmark[]; index: number } {
  const index = upperBound(
    bookmarks.map((bookmark) => bookmark.start_ns),
    added.start_ns,
  );
  return { all: [...bookmarks.slice(0, index), added, ...bookmarks.slice(index)], index };
}

export function nextBookmark(bookmarks: readonly Bookmark[], timePs: number, direction: 1 | -1): number {
  if (bookmarks.length === 0) return -1;
  const starts = bookmarks.map((bookmark) => bookmark.start_ns * PS_PER_NS);
  const isAfter = (start: number) => (direction > 0 ? start > timePs + 500 : start < timePs - 500);
  const found = direction > 0 ? starts.findIndex(isAfter) : starts.findLastIndex(isAfter);
  if (found >= 0) return found;
  return direction > 0 ? 0 : bookmarks.length - 1;
}

/** A track by kind and number: "p0" a plane, "l5" a line, "c2" a counter, "f0" the folded lines of a plane, "h1" a host. */
export type TrackKey = string;

export const keyOf = (kind: "plane" | "line" | "fold" | "counter" | "host", id: number): TrackKey => `${kind[0]}${id}`;

/** Counters drawn below the tracks at once; each takes room from them. */
export const MOST_DOCKED = 3;
export const COUNTERS = "counters";

export interface Arrangement extends Readonly<Record<"closedPlanes" | "openHosts" | "closedHosts", Set<number>>> {
  readonly openFolds: Set<number>;
  readonly deepLines: Set<number>;
  readonly flatLines: Set<number>;
  /** How many levels of a line are open, from the outermost on; none where it is not named. */
  readonly openLevels: Map<number, number>;
  /** Lines shown although they would be folded, because something in them was asked for; not kept. */
  readonly calledLines: Set<number>;
  /** Lines stay on top, counters at the bottom; in this order. */
  pinned: TrackKey[];
  readonly hidden: Set<TrackKey>;
  colorBy: ColorBy;
  /** Words that the names of shown tracks have; not kept. */
  filter: string;
}

/** As the drawn step of the overview has it. */
const USUAL_COLOR: ColorBy = "category";

/** `pinned`: what is pinned until the reader changes it. */
export function newArrangement(pinned: readonly TrackKey[] = []): Arrangement {
  return {
    closedPlanes: new Set(),
    openHosts: new Set(),
    closedHosts: new Set(),
    openFolds: new Set(),
    deepLines: new Set(),
    flatLines: new Set(),
    openLevels: new Map(),
    calledLines: new Set(),
    pinned: [...pinned],
    hidden: new Set(),
    colorBy: USUAL_COLOR,
    filter: "",
  };
}

const NUMBER_SETS = {
  closed: "closedPlanes",
  open: "openFolds",
  deep: "deepLines",
  flat: "flatLines",
  open_hosts: "openHosts",
  closed_hosts: "closedHosts",
} as const;

/** "{}" for an arrangement that nobody touched. */
export function arrangementToJson(own: Arrangement, untouched: Arrangement = newArrangement()): string {
  const out: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(NUMBER_SETS)) {
    if (own[field].size > 0) out[name] = [...own[field]].sort((a, b) => a - b);
  }
  if (own.openLevels.size > 0) out.levels = [...own.openLevels].sort(([a], [b]) => a - b);
  if (own.hidden.size > 0) out.hidden = [...own.hidden].sort();
  if (own.pinned.join() !== untouched.pinned.join()) out.pinned = own.pinned;
  if (own.colorBy !== USUAL_COLOR) out.color = own.colorBy;
  return JSON.stringify(out);
}

/** Takes what of a JSON text makes sense; the rest stays as in `own`. Filter and called lines stay. */
export function readArrangement(text: string, own: Arrangement, untouched: Arrangement = newArrangement()) {
  const given = parseObject(text);
  for (const [name, field] of Object.entries(NUMBER_SETS)) {
    own[field].clear();
    for (const id of asArray(given[name])) if (Number.isInteger(id)) own[field].add(id as number);
  }
  own.openLevels.clear();
  for (const pair of asArray(given.levels)) {
    const [line, n] = asArray(pair);
    if (Number.isInteger(line) && Number.isInteger(n)) own.openLevels.set(line as number, n as number);
  }
  own.hidden.clear();
  for (const key of keys(given.hidden)) own.hidden.add(key);
  own.pinned = given.pinned === undefined ? [...untouched.pinned] : keys(given.pinned);
  own.colorBy = isColorBy(given.color) ? given.color : USUAL_COLOR;
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text || "{}");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function keys(value: unknown): TrackKey[] {
  return asArray(value).filter((key): key is string => typeof key === "string" && /^[plcfh]\d+$/.test(key));
}

export function togglePin(own: Arrangement, key: TrackKey): boolean {
  if (own.pinned.includes(key)) {
    own.pinned = own.pinned.filter((other) => other !== key);
    return true;
  }
  const nCounters = own.pinned.filter((other) => other.startsWith("c")).length;
  if (key.startsWith("c") && nCounters >= MOST_DOCKED) return false;
  own.pinned = [...own.pinned, key];
  own.hidden.delete(key);
  return true;
}

export function showAll(own: Arrangement) {
  own.hidden.clear();
  own.filter = "";
}
