/** What source lines cost: heat of files and lines, and of what has no line. */

import { CATEGORIES, type TraceMeta } from "../data/meta";
import { shortestSuffixes } from "./names";
import type { OpTotals } from "./ops";
import { formatPercent, plural } from "./text";

/** What an op of a line is for, in the order of the ids of `op_places.line_phase`. */
export const LINE_PHASES = ["forward", "backward", "other"] as const;

/** Tables and lists that tell the place of an op. */
export const PLACE_SECTIONS = ["op_places", "source_lines", "source_files", "layers"];

export type SourceFile = NonNullable<TraceMeta["source_files"]>[number];
type SourceEntry = NonNullable<TraceMeta["source_lines"]>[number];

export interface Heat
  extends Readonly<Record<"selfPs" | "forwardPs" | "backwardPs" | "otherPs" | "occurrences", number>> {
  /** Entries of the meta object that it stands for. */
  readonly entries: readonly number[];
  /** `[category, isBackward, ps]`, forward and backward of a category next to each other; none of 0. */
  readonly parts: readonly Part[];
  readonly ops: readonly OpCost[];
}

interface Part {
  readonly category: string;
  readonly isBackward: boolean;
  readonly ps: number;
}

export type OpCost = Readonly<Record<"op" | "ps" | "occurrences", number>>;

export interface LineHeat extends Heat {
  readonly line: number;
  readonly functions: readonly string[];
  readonly code: string;
}

export interface FileHeat {
  readonly file: number;
  readonly selfPs: number;
  readonly lines: ReadonlyMap<number, LineHeat>;
}

export interface BucketHeat extends Heat {
  readonly bucket: string;
}

export interface SourceHeat {
  readonly wholePs: number;
  readonly files: readonly FileHeat[];
  readonly buckets: readonly BucketHeat[];
}

export interface Charges {
  readonly entries: readonly SourceEntry[];
  /** For each op its entry, and its phase as an index into `LINE_PHASES`. */
  readonly line: ArrayLike<number>;
  readonly phase: ArrayLike<number>;
  readonly categoryOf: (op: number) => string;
}

export function sourceHeat(
  charges: Charges,
  totals: Pick<OpTotals, "selfPs" | "occurrences">,
  keep: (op: number) => boolean = () => true,
): SourceHeat {
  const opsOf = new Map<string, { entries: Set<number>; ops: OpCost[] }>();
  for (let op = 0; op < charges.line.length; op++) {
    if (totals.occurrences[op] === 0 || !keep(op)) continue;
    const entry = charges.entries[charges.line[op]];
    if (entry === undefined) continue;
    const key = keyOf(entry);
    let place = opsOf.get(key);
    if (place === undefined) {
      place = { entries: new Set(), ops: [] };
      opsOf.set(key, place);
    }
    place.entries.add(charges.line[op]);
    place.ops.push({ op, ps: Math.max(0, totals.selfPs[op]), occurrences: totals.occurrences[op] });
  }
  const files = new Map<number, { selfPs: number; lines: Map<number, LineHeat> }>();
  const buckets: BucketHeat[] = [];
  let wholePs = 0;
  for (const { entries, ops } of opsOf.values()) {
    const rows = [...entries];
    const first = charges.entries[rows[0]];
    const heat = heatOf(charges, rows, ops);
    wholePs += heat.selfPs;
    if (first.bucket !== "" || first.file < 0) {
      buckets.push({ ...heat, bucket: first.bucket || "no line known" });
      continue;
    }
    const file = files.get(first.file) ?? { selfPs: 0, lines: new Map<number, LineHeat>() };
    files.set(first.file, file);
    file.selfPs += heat.selfPs;
    const functions = [...new Set(rows.map((row) => charges.entries[row].function))].filter(Boolean);
    file.lines.set(first.line, { ...heat, line: first.line, functions, code: first.code });
  }
  const sorted = [...files].map(([file, { selfPs, lines }]) => ({ file, selfPs, lines }));
  sorted.sort((a, b) => b.selfPs - a.selfPs || a.file - b.file);
  buckets.sort((a, b) => b.selfPs - a.selfPs || (a.bucket < b.bucket ? -1 : 1));
  return { wholePs, files: sorted, buckets };
}

/** Entries of one line may differ in their function (a lambda in a call); on the screen they are one line. */
function keyOf(entry: SourceEntry): string {
  return entry.bucket !== "" || entry.file < 0 ? `bucket ${entry.bucket}` : `${entry.file}:${entry.line}`;
}

function heatOf(charges: Charges, entries: readonly number[], ops: OpCost[]): Heat {
  const phasePs = LINE_PHASES.map(() => 0);
  const partPs = new Map<string, number>();
  let occurrences = 0;
  for (const { op, ps, occurrences: count } of ops) {
    const phase = charges.phase[op] ?? LINE_PHASES.indexOf("other");
    phasePs[phase] += ps;
    occurrences += count;
    const key = `${charges.categoryOf(op)} ${LINE_PHASES[phase] === "backward"}`;
    partPs.set(key, (partPs.get(key) ?? 0) + ps);
  }
  const parts: Part[] = [];
  for (const category of CATEGORIES) {
    for (const isBackward of [false, true]) {
      const ps = partPs.get(`${category} ${isBackward}`) ?? 0;
      if (ps > 0) parts.push({ category, isBackward, ps });
    }
  }
  ops.sort((a, b) => b.ps - a.ps || a.op - b.op);
  const [forwardPs, backwardPs, otherPs] = phasePs;
  const selfPs = phasePs.reduce((sum, ps) => sum + ps, 0);
  return { entries, selfPs, forwardPs, backwardPs, otherPs, occurrences, parts, ops };
}

export function hottestLine(file: FileHeat | undefined): LineHeat | undefined {
  let hottest: LineHeat | undefined;
  for (const line of file?.lines.values() ?? []) {
    if (hottest === undefined || line.selfPs > hottest.selfPs) hottest = line;
  }
  return hottest;
}

/** A file's lines as text; lines that ran ops but are not in the text (an edited or unknown file) get what was recorded. */
export function codeLines(file: SourceFile, heat: FileHeat | undefined): Map<number, string> {
  const code = new Map<number, string>();
  if (file.text !== "") {
    const texts = file.text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n");
    texts.forEach((text, i) => {
      code.set(i + 1, text);
    });
  }
  const missing = [...(heat?.lines.values() ?? [])].filter(({ line }) => !code.has(line));
  missing.sort((a, b) => a.line - b.line);
  for (const { line, code: text } of missing) code.set(line, text);
  return code;
}

/** What to call each file: its title, of a path the last parts that tell it from the others. */
export function fileTitles(files: readonly SourceFile[]): string[] {
  return shortestSuffixes(
    files.map(({ title, file }) => (title || file).split(/[/\\]/)),
    "/",
  );
}

/** Buckets of ops whose traceback nobody has. */
const NOT_KNOWN: ReadonlySet<string> = new Set(["no line known", "not in a traced graph", "eager op, line unknown"]);

/** The part of the time of ops whose place in the program is known, if only as one of a library; NaN without time. */
export function knownRatio({ wholePs, buckets }: SourceHeat): number {
  const unknown = buckets.filter(({ bucket }) => NOT_KNOWN.has(bucket));
  return wholePs > 0 ? 1 - unknown.reduce((sum, { selfPs }) => sum + selfPs, 0) / wholePs : Number.NaN;
}

/** "93 % of op time is charged to 14 lines of your code." */
export function coverage(heat: SourceHeat): string {
  const onLines = heat.files.reduce((sum, file) => sum + file.selfPs, 0);
  const nLines = heat.files.reduce((sum, file) => sum + file.lines.size, 0);
  if (heat.wholePs <= 0) return "no op ran";
  if (nLines === 0) return "no op time is charged to a line of your code; the rows below say what it is";
  return `${formatPercent(onLines / heat.wholePs)} of op time is charged to ${plural(nLines, "line")} of your code`;
}
