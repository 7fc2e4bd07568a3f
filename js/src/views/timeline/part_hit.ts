/** A point on the canvas -> the part there that is no event: a piece of a step of a host, a span of a level of a stream. */

import { pieceAt } from "../../draw/host_strip";
import { formatInstant, formatLength, formatPercent, formatTime, plural } from "../../model/text/format";
import { stepWords } from "../../model/time/span_text";
import { type LineTrack, ROW_PX } from "../../model/tracks/tracks";
import { upperBound } from "../../model/wire/bisect";
import { CATEGORIES, CATEGORY_LABELS } from "../../model/wire/categories";
import { toggleSelection } from "../../ui/selecting";
import { momentUnder, trackUnder, zoneAt } from "./hit";
import type { Painter } from "./paint";
import type { TimelineState } from "./state";

export interface Part {
  readonly title: string;
  readonly figures: readonly string[];
  /** With Shift the range grows to it, where it is one. */
  readonly choose: (isExtending: boolean) => void;
}

export function partUnder(state: TimelineState, painter: Painter, x: number, y: number): Part | null {
  if (x < painter.labelWidth || zoneAt(painter, y) !== "tracks") return null;
  const { track, y: inside } = trackUnder(state, y);
  const { time, tolerance } = momentUnder(state, painter, x);
  if (track?.kind === "host") return pieceOf(state, track.host, time, tolerance);
  return track?.kind === "line" ? spanOf(state, track, Math.floor(inside / ROW_PX), time, tolerance) : null;
}

function pieceOf(state: TimelineState, host: number, time: number, tolerance: number): Part | null {
  const { steps, hosted, meta } = state;
  const strip = hosted.strips[host];
  const at = strip ? pieceAt(strip, time, tolerance) : -1;
  if (at < 0) return null;
  const { start, end, category } = strip.piece;
  const step = strip.step[at];
  return {
    title: `${hosted.source?.names[host] ?? ""} · ${stepWords(meta.step_names, step)}`,
    figures: [
      `${CATEGORY_LABELS[CATEGORIES[category[at]]]} ${formatTime(end[at] - start[at])}`,
      `at ${formatInstant(start[at], 1e6)}`,
      `of a step of ${formatTime(steps.end[step] - steps.start[step])}`,
    ],
    choose: (isExtending) => chooseStep(state, step, isExtending),
  };
}

function spanOf(
  state: TimelineState,
  { line, firstRow, levels }: LineTrack,
  band: number,
  time: number,
  tolerance: number,
): Part | null {
  const name = levels[band];
  if (name === undefined) return null;
  const { start, end, busy, first, last } = state.levels.spans(firstRow, name);
  // The last one that began before: spans do not overlap.
  const k = upperBound(start, time + tolerance) - 1;
  if (k < 0 || end[k] <= time - tolerance) return null;
  const own = first[k];
  const step = state.events.step[own];
  return {
    title: state.levels.nameOf(name, own),
    figures: [
      formatLength(end[k] - start[k]),
      `busy ${formatPercent((busy[k + 1] - busy[k]) / Math.max(1, end[k] - start[k]))}`,
      plural(last[k] - own + 1, "kernel"),
      `at ${formatInstant(start[k], 1e6)}`,
      name !== "steps" && step >= 0 ? stepWords(state.meta.step_names, step) : "",
      state.lineNames[line],
    ],
    choose: (isExtending) => {
      if (name === "steps") chooseStep(state, step, isExtending);
      else toggleSelection(state.link, state.levels.opsOf(name, own));
    },
  };
}

/** A step becomes the range; with Shift the range grows to it; a second click lets it go. */
export function chooseStep(state: TimelineState, step: number, isExtending: boolean) {
  const { steps, range, link } = state;
  if (step < 0) return;
  const own = { t0: steps.start[step], t1: steps.end[step] };
  if (isExtending && range) {
    state.setRange({ t0: Math.min(range.t0, own.t0), t1: Math.max(range.t1, own.t1) });
  } else if (link.step === step && range) {
    link.setStep(-1);
    state.setRange(null);
  } else {
    link.setStep(step);
    state.setRange(own);
  }
}
