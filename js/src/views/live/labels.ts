/** A layout -> the words on the chart: names and figures at the left, levels, numbers of steps, times, epochs, peaks. */

import { formatCount, formatMs } from "../../model/text/format";
import type { PlotLabel } from "../../ui/plot";
import type { Tick } from "./axes";
import type { Layout, StripRow } from "./layout";
import { peaks, shownEpochs } from "./paint";
import type { LiveHead } from "./payload";

const NUMBER_PX = 84;
const EPOCH_PX = 58;
const GAP_PX = 6;
/** Half the width of a number: closer to an edge it would be cut. */
const EDGE_PX = 26;

export function liveLabels(layout: Layout, head: LiveHead): PlotLabel[] {
  const { axis, times, strips, events, numbersY, timesY } = layout;
  const faint = (x: number, y: number, text: string, align: PlotLabel["align"] = "center"): PlotLabel => {
    return { x, y, text, align, isFaint: true };
  };
  const beside = (y: number, text: string) => faint(axis.left - GAP_PX, y, text, "right");
  const along = (y: number, title: string, ticks: readonly Tick[]) => [
    beside(y, title),
    ...ticks.map(({ at, text }) => {
      const x = axis.x(at);
      return faint(x, y, text, x < axis.left + EDGE_PX ? "left" : x > axis.right - EDGE_PX ? "right" : "center");
    }),
  ];
  const { top, height } = times;
  const levels = layout.levels.map(({ at, text }, i, { length }) =>
    beside(Math.max(top + 6, top + height - (at / layout.top) * height), i === length - 1 ? `${text} ms` : text),
  );
  const epochs = shownEpochs(head.marks, axis.width / axis.nSteps, EPOCH_PX).filter(
    ({ at }) => axis.x(at) < axis.right - EPOCH_PX,
  );
  return [
    ...levels,
    ...highest(layout),
    ...along(numbersY, "step", axis.numberTicks(NUMBER_PX)),
    ...along(timesY, "time", axis.timeTicks(NUMBER_PX)),
    ...strips.flatMap((row) => [...stripFigures(row), ...scale(row).map(([y, text]) => beside(y, text))]),
    ...epochs.map(({ at, words }) => faint(axis.x(at) + 6, events.top + 7, words, "left")),
  ];
}

/** The value of the highest of the bins that leave the chart. */
function highest({ axis, run, top, times }: Layout): PlotLabel[] {
  const [first, ...others] = peaks(run, top);
  if (first === undefined) return [];
  const x = axis.x(run.first_ordinal[first] + run.n[first] / 2);
  const more = others.length > 0 ? ` · ${formatCount(others.length)} more above` : "";
  const isLeft = x < axis.left + axis.width * 0.75;
  const text = formatMs(run.max_ms[first]) + more;
  return [{ x: x + (isLeft ? 7 : -7), y: times.top + 8, text, align: isLeft ? "left" : "right" }];
}

/** Name and last value of a small chart. */
function stripFigures({ strip, top, height }: StripRow): PlotLabel[] {
  const last = Array.from(strip.values).findLast(Number.isFinite);
  return [
    { x: 0, y: top + 6, text: strip.title, align: "left" },
    { x: 0, y: top + height - 6, text: strip.say(last ?? Number.NaN), align: "left", isBold: true },
  ];
}

/** The ends of its scale. */
function scale({ strip, top, height }: StripRow): (readonly [y: number, text: string])[] {
  return [
    [top + 6, strip.say(strip.high)],
    [top + height - 6, strip.say(strip.low)],
  ];
}
