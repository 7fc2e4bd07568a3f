/** The state of an allocator at its peak and at a chosen moment, and what it did -> the figures beside the chart. */

import { countEvents, largestPiece, type MemoryEvents } from "../../model/memory/memory";
import type { Growth, Unfreed } from "../../model/memory/memory_growth";
import { formatBytes, formatCount, formatInstant, formatPercent, plural } from "../../model/text/format";
import { stepLabel } from "../../model/time/span_text";
import type { RangePs } from "../../model/time/viewport";
import type { TraceMeta } from "../../model/wire/meta";
import { type Child, h } from "../../ui/dom";
import { labelled } from "../../ui/label_list";
import { legendEntry, swatch } from "../../ui/legend";

/** More steps than these, and what is free lasts long enough. */
const MAX_STEPS_LEFT = 100_000;

export interface Facts {
  readonly meta: TraceMeta;
  readonly events: MemoryEvents;
  readonly range: RangePs;
  /** Rows; -1 for none. */
  readonly peak: number;
  readonly moment: number | null;
  readonly momentRow: number;
  /** Whether it is known what the allocator may use. */
  readonly isLimited: boolean;
  /** The highest mark since the process began; NaN where it is not known. */
  readonly peakHeapBytes: number;
  readonly isFreeDrawn: boolean;
  readonly isFragmentationDrawn: boolean;
}

/** Fills `list`: what, at the peak, at the moment. */
export function showFacts(list: HTMLElement, facts: Facts): void {
  const { meta, events, peak, moment, momentRow } = facts;
  const rows: HTMLElement[] = [];
  const at = (value: (row: number) => string) =>
    [peak, ...(moment === null ? [] : [momentRow])].map((row) => (row < 0 ? "–" : value(row)));
  const line = (label: Node | string, cells: readonly Child[]) => rows.push(labelled(label, cells));
  const bytes = (column: ArrayLike<number>) => at((row) => formatBytes(column[row]));
  const heads = ["at the peak", ...(moment === null ? [] : ["then"])];
  line(
    "",
    heads.map((text) => h("span.q", text)),
  );
  line(
    h("b", "In use"),
    at((row) => formatBytes(events.stack[row] + events.heap[row])),
  );
  line(key("stack", "Stack"), bytes(events.stack));
  line(key("heap", "Heap"), bytes(events.heap));
  if (facts.isLimited) {
    line(key(facts.isFreeDrawn ? "free" : "", "Free"), bytes(events.free));
    line(
      key("", "Largest free piece", "At most so much of the free memory lies in one piece"),
      at((row) => formatBytes(largestPiece(events, row))),
    );
    line(
      "Capacity",
      at((row) => formatBytes(events.stack[row] + events.heap[row] + events.free[row])),
    );
  }
  if (facts.isFragmentationDrawn)
    line(
      key("line", "Fragmentation", "Free memory was in pieces smaller than the largest allocation"),
      at((row) => formatPercent(events.fragmentation[row])),
    );
  const times = [peak < 0 ? "–" : formatInstant(events.time[peak], 1e8)];
  if (moment !== null) times.push(formatInstant(moment, 1e8));
  line("Time", times);
  line(
    "Step",
    at((row) => (events.step[row] >= 0 ? stepLabel(meta.step_names, events.step[row]) : "none")),
  );
  rows.push(...totals(facts));
  list.replaceChildren(...rows);
}

/** What happened in the range, and since the process began. */
function totals({ events, range, peakHeapBytes }: Facts): HTMLElement[] {
  const { allocations, deallocations } = countEvents(events, range);
  return [
    labelled("Allocated, freed", [`${formatCount(allocations)}, ${formatCount(deallocations)}`], {
      title: "Allocations and deallocations in this range",
    }),
    labelled("Peak heap, lifetime", [formatBytes(peakHeapBytes)], {
      title: "The highest mark since the process began",
    }),
  ];
}

/** A swatch of the chart's legend and a word. */
function key(layer: string, text: string, tip = ""): HTMLElement {
  const mark = layer === "line" ? h("i.line") : swatch(`var(--m-${layer})`);
  if (layer === "") mark.style.visibility = "hidden";
  const entry = legendEntry(mark, text);
  entry.title = tip;
  return entry;
}

/** What is in use after each step, in words: whether it stays, what allocates what grows, and how long the free memory lasts. */
export function growthWords(growth: Growth, leak: Unfreed | null, names: readonly string[], freeBytes: number): string {
  if (Number.isNaN(growth.bytesPerStep)) return "";
  const steps = plural(growth.nSteps, "step");
  if (growth.isSame) return `The same after each of ${steps}, within 1 % of the peak.`;
  if (!growth.isSignificant) return `Varies over ${steps}, without steady growth.`;
  const words = [`Grows ${formatBytes(growth.bytesPerStep)} a step over ${steps}: a sign of a leak.`];
  if (leak !== null) {
    const held = formatBytes((leak.bytesPerStep * leak.heldBytes) / leak.allocatedBytes);
    words.push(`${names[leak.op] || "An op without a name"} allocates ${held} a step and never frees it.`);
  }
  const left = freeBytes / growth.bytesPerStep;
  if (left > 0 && left < MAX_STEPS_LEFT) {
    words.push(`The free ${formatBytes(freeBytes)} last about ${formatCount(left)} steps.`);
  }
  return words.join(" ");
}
