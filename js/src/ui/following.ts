/** A view's data and link -> its calls when they change. */

import { MANY_ROWS, paced } from "./page";
import type { TraceView } from "./view";

export interface Followers {
  /** The range or scope, or tables that figures of it are made from. */
  readonly compute: () => void;
  readonly select: () => void;
  readonly hover?: () => void;
}

/** What all views of the ops of a range follow; errors are shown in the view. */
export function follow(view: TraceView, { compute, select, hover }: Followers, more: readonly string[] = []): void {
  const { signal, data, link } = view;
  const later = paced(compute, signal, () => data.nRows("occurrences") > MANY_ROWS);
  for (const field of ["time_range", "whole_capture"] as const) link.on(field, later, signal);
  data.onTables(later, signal, ["occurrences", "steps", ...more]);
  link.on("selection", select, signal);
  if (hover) link.on("hover", hover, signal);
}
