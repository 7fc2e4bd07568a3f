/** Turns the range or the window into the words that say what a flame or a table is about. */
import { formatTime } from "../../model/text/format";
import { describeRange } from "../../model/time/span_text";
import type { Span } from "../../model/time/viewport";
import type { TimelineState } from "./state";

/** What a pane is about, in words: the range, or the window where there is none. */
export function aboutSpan({ meta, trace, range }: TimelineState, span: Span): string {
  if (range) return describeRange(meta, trace.data.table("steps"), [range.t0, range.t1]);
  // From when to when the toolbar says already.
  return `window of ${formatTime(span.t1 - span.t0)}`;
}
