/** Memory events of an allocator and the steps -> what each step did to it, as Python's `MemoryProfile.steps`. */

import { lowerBound } from "../wire/bisect";
import { columns } from "../wire/column";
import type { Table } from "../wire/wire";
import { bytesInUse, type MemoryEvents } from "./memory";

export interface MemoryStep {
  /** Row of the `steps` table. */
  readonly step: number;
  readonly session: number;
  readonly startPs: number;
  readonly endPs: number;
  readonly peakBytes: number;
  readonly peakAtPs: number;
  readonly startBytes: number;
  readonly endBytes: number;
  readonly nAllocations: number;
  readonly allocatedBytes: number;
}

/** Rows of the events by session, each in time order. */
function rowsBySession(events: MemoryEvents): Map<number, Int32Array> {
  const count = new Map<number, number>();
  for (let i = events.begin; i < events.end; ) {
    // A session's events come in long stretches: the map is asked once for each.
    const from = i;
    const session = events.session[i];
    while (i < events.end && events.session[i] === session) i += 1;
    count.set(session, (count.get(session) ?? 0) + i - from);
  }
  const found = new Map([...count].map(([session, n]) => [session, { rows: new Int32Array(n), n: 0 }]));
  let last = Number.NaN;
  let own: { rows: Int32Array; n: number } | undefined;
  for (let i = events.begin; i < events.end; i++) {
    if (events.session[i] !== last) {
      last = events.session[i];
      own = found.get(last);
    }
    if (own) own.rows[own.n++] = i;
  }
  return new Map([...found].map(([session, { rows }]) => [session, rows]));
}

/** One entry per step of a session in which the allocator reports; an event at a border belongs to the later step. */
export function memorySteps(events: MemoryEvents, steps: Table): MemoryStep[] {
  const [session, start, duration] = columns(steps, "session", "start_ps", "duration_ps");
  const sessions = new Map(
    [...rowsBySession(events)].map(([key, rows]) => [key, { rows, times: timesOf(events, rows) }]),
  );
  const found: MemoryStep[] = [];
  for (let step = 0; step < steps.n; step++) {
    const own = sessions.get(session[step]);
    if (own === undefined) continue;
    const end = start[step] + duration[step];
    const first = lowerBound(own.times, start[step], 0, own.times.length);
    const last = lowerBound(own.times, end, first, own.times.length);
    found.push({
      step,
      session: session[step],
      startPs: start[step],
      endPs: end,
      ...span(events, own.rows, first, last, start[step]),
    });
  }
  return found;
}

function timesOf(events: MemoryEvents, rows: Int32Array): Float64Array {
  const times = new Float64Array(rows.length);
  for (let k = 0; k < rows.length; k++) times[k] = events.time[rows[k]];
  return times;
}

/** The level after `k` of the session's rows; before the first one, that one is undone. */
function levelAfter(events: MemoryEvents, rows: Int32Array, k: number): number {
  return bytesInUse(events, k > 0 ? rows[k - 1] : ~rows[0]);
}

function span(events: MemoryEvents, rows: Int32Array, first: number, last: number, startPs: number) {
  const startBytes = levelAfter(events, rows, first);
  let [peakBytes, peakAtPs, nAllocations, allocatedBytes] = [startBytes, startPs, 0, 0];
  for (let k = first; k < last; k++) {
    const row = rows[k];
    const level = events.stack[row] + events.heap[row];
    if (level >= peakBytes) [peakBytes, peakAtPs] = [level, events.time[row]];
    if (events.isFree[row]) continue;
    nAllocations += 1;
    allocatedBytes += events.allocated[row];
  }
  return { peakBytes, peakAtPs, startBytes, endBytes: levelAfter(events, rows, last), nAllocations, allocatedBytes };
}
