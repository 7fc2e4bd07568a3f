/** Notes at moments and ranges <-> the JSON string that the widget keeps; show/link.py reads the same. */

import { upperBound } from "../data/columns";
import type { Span } from "../data/time";

export interface Bookmark {
  /** In ns after the trace origin; equal for a moment. */
  readonly start_ns: number;
  readonly end_ns: number;
  readonly text: string;
}

const MAX_TEXT = 2000;
const PS_PER_NS = 1000;

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
  return found.sort(inTime);
}

export function bookmarksToJson(bookmarks: readonly Bookmark[]): string {
  return JSON.stringify(bookmarks);
}

function inTime(a: Bookmark, b: Bookmark): number {
  return a.start_ns - b.start_ns || a.end_ns - b.end_ns;
}

/** A bookmark of a span in ps; of less than a nanosecond: of its start. */
export function bookmarkOf(span: Span, text: string): Bookmark {
  const start = Math.round(span.t0 / PS_PER_NS);
  return { start_ns: start, end_ns: Math.max(start, Math.round(span.t1 / PS_PER_NS)), text: text.slice(0, MAX_TEXT) };
}

export function spanOf(bookmark: Bookmark): Span {
  return { t0: bookmark.start_ns * PS_PER_NS, t1: bookmark.end_ns * PS_PER_NS };
}

/** With one more, and where it is. */
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
