/** A layout -> the words on the chart: names and figures at the left, levels, numbers of steps, times, epochs, peaks. */

import { cutNames } from "../../model/text/cut";
import { formatCount, formatMs, formatPercent } from "../../model/text/format";
import type { PlotLabel } from "../../ui/plot";
import type { Tick } from "./axes";
import type { Layout, RunRow, StripRow } from "./layout";
import { peaks, shownEpochs } from "./paint";
import type { LiveHead } from "./payload";
import { known, slowestWorker } from "./words";

const NUMBER_PX = 84;
const EPOCH_PX = 58;
const GAP_PX = 6;
const LINE_PX = 14;
/** Half the width of a number: closer to an edge it would be cut. */
const EDGE_PX = 26;

type Fits = (px: number) => (text: string) => boolean;

export function liveLabels(layout: Layout, head: LiveHead, lastRunMs: number, fits: Fits): PlotLabel[] {
  const { axis, rows, strips, events, numbersY, timesY } = layout;
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
  const cut = cutNames(
    head.workers.map(({ name }) => name),
    fits(axis.left - GAP_PX),
  );
  const levels = ({ top, height, worker }: RunRow) => {
    const placed = layout.levels.map(({ at, text }) => ({ y: top + height - (at / layout.top) * height, text }));
    // The name of a worker takes the first line.
    const shown = placed.filter(({ y }) => worker < 0 || y > top + 1.6 * LINE_PX);
    return shown.map(({ y, text }, i) => beside(Math.max(top + 6, y), i === shown.length - 1 ? `${text} ms` : text));
  };
  const epochs = shownEpochs(head.marks, axis.width / axis.nSteps, EPOCH_PX).filter(
    ({ at }) => axis.x(at) < axis.right - EPOCH_PX,
  );
  return [
    ...rows.flatMap((row) => [...levels(row), ...figures(row, head, cut), ...highest(layout, row)]),
    ...(rows.length > 0 && lastRunMs < layout.top ? [lastRun(layout, rows[0], lastRunMs)] : []),
    ...along(numbersY, "step", axis.numberTicks(NUMBER_PX)),
    ...along(timesY, "time", axis.timeTicks(NUMBER_PX)),
    ...strips.flatMap((row) => [...stripFigures(row), ...scale(row).map(([y, text]) => beside(y, text))]),
    ...epochs.map(({ at, words }) => faint(axis.x(at) + 6, events.top + 7, words, "left")),
  ];
}

/** Name, step time and what is to be said of a worker. */
function figures({ top, worker }: RunRow, { workers }: LiveHead, cut: ReadonlyMap<string, string>): PlotLabel[] {
  const own = workers[worker];
  if (own === undefined) return [];
  const isSlowest = slowestWorker(workers) === worker;
  const waits = known(own.wait_ratio) && own.wait_ratio >= 0.005 && `waits ${formatPercent(own.wait_ratio)}`;
  const said = own.state && own.state !== "running" ? own.state : waits;
  const lines = [cut.get(own.name), known(own.step_ms) && formatMs(own.step_ms) + (isSlowest ? ", slowest" : ""), said];
  return lines.flatMap((text, i) => {
    const label = { x: 0, y: top + 7 + i * LINE_PX, align: "left", isBold: i === 0 || (i === 1 && isSlowest) } as const;
    return text ? [{ ...label, text }] : [];
  });
}

/** The value of the highest of the bins that leave the chart. */
function highest({ axis, top }: Layout, { run, ...row }: RunRow): PlotLabel[] {
  const [first, ...others] = peaks(run, top);
  if (first === undefined) return [];
  const x = axis.x(run.first_ordinal[first] + run.n[first] / 2);
  const more = others.length > 0 ? ` · ${formatCount(others.length)} more above` : "";
  const isLeft = x < axis.left + axis.width * 0.75;
  const text = formatMs(run.max_ms[first]) + more;
  return [{ x: x + (isLeft ? 7 : -7), y: row.top + 8, text, align: isLeft ? "left" : "right" }];
}

function lastRun({ axis, top }: Layout, row: RunRow, ms: number): PlotLabel {
  const y = row.top + row.height - (ms / top) * row.height - 9;
  return { x: axis.right, y: Math.max(row.top + 7, y), text: `last run ${formatMs(ms)}`, align: "right" };
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
