/** Turns a track and what is in view into the words of its label. */

import { gapsIn } from "../../model/events/idle";
import { coveredTime } from "../../model/events/lod";
import { formatCount, formatPercent, formatTime, plural } from "../../model/text/format";
import { timeInside } from "../../model/time/sessions";
import { axisTop, type Counter, formatValue, valueAt } from "../../model/tracks/counters";
import type { FoldTrack, PlaneTrack } from "../../model/tracks/tracks";
import type { TimelineState } from "./state";

/** "Host", "Device": of which host says the track around it. */
export function planeName(state: TimelineState, plane: number): string {
  return { host: "Host", device: "Device", other: "Other" }[state.meta.planes[plane].kind];
}

export function foldName(state: TimelineState, track: FoldTrack): string {
  return plural(track.lines.length, `quieter ${state.meta.planes[track.plane].kind === "host" ? "thread" : "stream"}`);
}

export function foldInfo(state: TimelineState, track: FoldTrack): string {
  const { lines } = state.meta;
  const total = formatTime(track.lines.reduce((sum, line) => sum + lines[line].busy_ps, 0));
  return `${total} in total. Pale: up to all the time of one; dark: the share of the time of all.`;
}

/** "/host:CPU · 3 of 16 threads did work in this window", or how busy a device was and how long it waited. */
export function planeInfo(state: TimelineState, track: PlaneTrack): string {
  const { meta, view } = state;
  const { kind, name } = meta.planes[track.plane];
  const hidden = track.nHidden > 0 ? ` · ${formatCount(track.nHidden)} hidden` : "";
  if (kind === "device") {
    const main = busiest(state, track.lines);
    const streams = track.lines.filter((line) => !meta.lines[line].is_derived);
    // Of several streams the share is that of one: how much they overlap is not told.
    const which = streams.length > 1 ? (/^[^(]+/.exec(state.lineNames[main] ?? "")?.[0] ?? "") : "";
    const busy = main < 0 ? "" : deviceInfo(state, main);
    return [name, which && busy ? `${which} ${busy}` : busy].filter(Boolean).join(" · ") + hidden;
  }
  const lines = plural(track.lines.length, kind === "host" ? "thread" : "line");
  const isSample = state.sampled.some(({ t0, t1 }) => t0 < view.t1 && t1 > view.t0);
  const more = `${hidden}${isSample ? " · grey: the longest slices only" : ""}`;
  if (!isKnown(state)) return `${name} · ${lines}${more}`;
  const nBusy = track.lines.filter((line) => isBusy(state, line)).length;
  return `${name} · ${formatCount(nBusy)} of ${lines} ran in ${shown(state)}${more}`;
}

/** Whether the window shows the whole capture, of which Python says how long each line was busy. */
function isOfAll({ view, bounds }: TimelineState): boolean {
  return view.t0 <= bounds.t0 && view.t1 >= bounds.t1;
}

/** "all 3.30 s", or how long the window is: another base than the steps of the averages. */
function shown(state: TimelineState): string {
  const time = formatTime(state.view.t1 - state.view.t0);
  return isOfAll(state) ? `all ${time}` : `these ${time}`;
}

function isKnown(state: TimelineState): boolean {
  return isOfAll(state) || state.events.hasAll(state.view);
}

function busiest({ meta }: TimelineState, lines: readonly number[]): number {
  let best = -1;
  for (const line of lines) {
    if (!meta.lines[line].is_derived && (best < 0 || meta.lines[line].busy_ps > meta.lines[best].busy_ps)) best = line;
  }
  return best;
}

function isBusy(state: TimelineState, line: number): boolean {
  const { events, rows, view, meta } = state;
  if (isOfAll(state)) return meta.lines[line].busy_ps > 0;
  const row = rows.firstRow[line];
  return row < rows.firstRow[line + 1] && coveredTime(events, row, view) > 0;
}

function deviceInfo(state: TimelineState, line: number): string {
  const { events, rows, view, uncaptured, meta } = state;
  const row = rows.firstRow[line];
  if (rows.firstRow[line + 1] === row) return "no events here";
  const captured = view.t1 - view.t0 - timeInside(uncaptured, view);
  if (!isKnown(state)) return "";
  const busyPs = isOfAll(state) ? meta.lines[line].busy_ps : coveredTime(events, row, view);
  const busy = `busy ${formatPercent(busyPs / Math.max(1, captured))} of ${shown(state)}`;
  if (!events.hasAll(view)) return busy;
  const { count, meanPs } = gapsIn(state.gapsOf(row), view);
  const gaps = count > 0 ? ` · ${plural(count, "gap")} over 1 ms, ${formatTime(meanPs)} on average` : "";
  return busy + gaps;
}

/** ["", "up to 3.5 GiB in use"], with a moment ["1.2 GiB", " of 3.5 GiB"]. */
export function counterWords(counter: Counter, cursor: number | null): readonly [string, string] {
  if (counter.max <= 0 && counter.min >= 0) return ["", "always 0"];
  const top = formatValue(axisTop(counter), counter.unit);
  const value = cursor === null ? Number.NaN : valueAt(counter, cursor);
  return Number.isNaN(value)
    ? ["", `up to ${top}${counter.kind === "memory" ? " in use" : ""}`]
    : [formatValue(value, counter.unit), ` of ${top}`];
}
