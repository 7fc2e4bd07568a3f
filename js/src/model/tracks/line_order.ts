/** Turns planes and lines into an order of importance: which come first, and which did so little that they are folded. */

import type { LineMeta, TraceMeta } from "../wire/meta";

/** Lines of a plane that together did this share of its work are shown, at most MAX_LINES; the others are folded. */
const SHOWN_WORK_RATIO = 0.98;
/** A plane that did less than this share of the busiest one's work comes after the others of its kind. */
const IDLE_PLANE_RATIO = 0.05;

/** Lines with events, by plane. */
export function linesByPlane(meta: TraceMeta): number[][] {
  const planes: number[][] = meta.planes.map(() => []);
  meta.lines.forEach((line, id) => {
    if (line.n_events > 0) planes[line.plane]?.push(id);
  });
  return planes;
}

/**
 * Busiest lines first, derived ones (which repeat the work of others) after them; the many that did little are folded,
 * unless they were asked for. `workOf` is time in the window that the reader sees first:
 * a thread that is idle there takes no room on the first screen; where none works there, all of the capture counts.
 */
export function splitLines(
  all: readonly LineMeta[],
  ids: readonly number[],
  workOf: (line: number) => number,
  called: ReadonlySet<number>,
  most: number,
) {
  const isWorking = ids.some((id) => !all[id].is_derived && workOf(id) > 0);
  const work = new Map(ids.map((id) => [id, isWorking ? workOf(id) : all[id].busy_ps]));
  const of = (id: number) => work.get(id) ?? 0;
  const sorted = [...ids].sort(
    (a, b) =>
      Number(all[a].is_derived) - Number(all[b].is_derived) ||
      of(b) - of(a) ||
      all[b].busy_ps - all[a].busy_ps ||
      a - b,
  );
  const total = ids.reduce((sum, id) => sum + (all[id].is_derived ? 0 : of(id)), 0);
  const shown: number[] = [];
  const folded: number[] = [];
  let done = 0;
  for (const id of sorted) {
    const isNotable =
      all[id].is_derived || (done < total * SHOWN_WORK_RATIO && shown.length < most) || most >= ids.length;
    (isNotable || called.has(id) ? shown : folded).push(id);
    if (!all[id].is_derived) done += of(id);
  }
  // One folded thread saves no room.
  if (folded.length === 1) shown.push(folded.pop() as number);
  return { shown, folded };
}

/** Some planes: devices, for which the rest is there, before hosts before all else; within a kind as in the trace, but those that did next to nothing last. */
export function planeOrder(
  meta: TraceMeta,
  own: readonly number[],
  planes: readonly (readonly number[])[],
  work: (line: number) => number,
): number[] {
  const kinds = ["device", "host", "other"];
  const busyOf = (plane: number) => planes[plane].reduce((sum, l) => sum + (meta.lines[l].is_derived ? 0 : work(l)), 0);
  const busy = new Map(own.map((plane) => [plane, busyOf(plane)]));
  const most = kinds.map((kind) =>
    own.reduce((max, p) => (meta.planes[p].kind === kind ? Math.max(max, busy.get(p) ?? 0) : max), 0),
  );
  const rankOf = (plane: number) => {
    const place = kinds.indexOf(meta.planes[plane].kind);
    return 2 * place + Number((busy.get(plane) ?? 0) < most[place] * IDLE_PLANE_RATIO);
  };
  return [...own].sort((a, b) => rankOf(a) - rankOf(b) || a - b);
}
