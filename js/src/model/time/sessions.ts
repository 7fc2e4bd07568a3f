/** Turns the sessions of a capture into the time between them, in which nothing was recorded. */
import type { SessionMeta, TraceMeta } from "../wire/meta";
import type { Span } from "./viewport";

/** Time between sessions during which no session (of any host) was running, in the order of time. */
export function uncapturedSpans(sessions: readonly SessionMeta[]): Span[] {
  const sorted = [...sessions].sort((a, b) => a.start_ps - b.start_ps);
  const gaps: Span[] = [];
  let reached = sorted[0]?.stop_ps ?? 0;
  for (const session of sorted) {
    if (session.start_ps > reached) gaps.push({ t0: reached, t1: session.start_ps });
    reached = Math.max(reached, session.stop_ps);
  }
  return gaps;
}

/** Time of some separate spans inside another. */
export function timeInside(spans: readonly Span[], window: Span): number {
  let time = 0;
  for (const { t0, t1 } of spans) time += Math.max(0, Math.min(t1, window.t1) - Math.max(t0, window.t0));
  return time;
}

/** Time during which some session was running, with events or without. */
export function capturedPs({ sessions, duration_ps }: TraceMeta): number {
  if (sessions.length === 0) return duration_ps;
  const t0 = Math.min(...sessions.map(({ start_ps }) => start_ps));
  const t1 = Math.max(...sessions.map(({ stop_ps }) => stop_ps));
  return t1 - t0 - timeInside(uncapturedSpans(sessions), { t0, t1 });
}

/** Whether drawing the whole capture would mostly draw the time between its sessions. */
export function isSparse(meta: TraceMeta): boolean {
  return meta.sessions.length > 1 && capturedPs(meta) < meta.duration_ps / 10;
}
