/** The state of a `LiveView` -> what its parts draw: figures and words, and columns of steps and of the machine. */

import type { AnyModel } from "../../host/afm";
import { EMPTY_TABLE, fromBase64, type Table } from "../../model/wire/wire";

/** null: not known. */
export type Known = number | null;

export interface Mark {
  readonly kind: "epoch" | "validation" | "checkpoint" | "window" | "anomaly";
  /** Ordinals of steps; null where it is a moment, or goes on. */
  readonly at: number;
  readonly to: Known;
  readonly words: string;
  /** Of a window its number, of an anomaly its place in `anomalies`. */
  readonly index?: Known;
}

export interface Anomaly {
  readonly title: string;
  readonly evidence: string;
  readonly severity: "info" | "low" | "medium" | "high";
  readonly first_step: Known;
  readonly last_step: Known;
  /** Number of the window that shows it. */
  readonly window: Known;
  readonly goes_on: boolean;
}

export interface ProfileWindow {
  readonly index: number;
  readonly first_step: Known;
  readonly last_step: Known;
  readonly why: string;
  readonly state: "recording" | "reading" | "ready" | "failed";
  readonly words: string;
}

export interface LiveHead {
  readonly title: string;
  readonly state: "running" | "ended" | "failed" | "interrupted" | "lost";
  readonly n_steps: number;
  /** How many steps are kept, and where. */
  readonly n_kept_text: string;
  readonly step_ms: Known;
  /** "5 batches in one call, 0.961 ms a batch"; "" where a step is one. */
  readonly batches: string;
  readonly steps_per_s: Known;
  readonly wait_ratio: Known;
  readonly outside_ratio: Known;
  readonly loss: Known;
  readonly epoch: Known;
  readonly epochs: Known;
  readonly elapsed_s: Known;
  readonly now_ns: Known;
  readonly file: string;
  /** To touch it profiles the next steps. */
  readonly trigger_file: string;
  readonly budget: string;
  readonly marks: readonly Mark[];
  readonly anomalies: readonly Anomaly[];
  readonly windows: readonly ProfileWindow[];
  readonly notices: readonly string[];
  /** Whether a message reaches the training while it runs. */
  readonly can_ask: boolean;
  /** Whether steps are told; a notice says why not. */
  readonly is_recorded: boolean;
}

/** Columns of bins of steps; NaN where not known. */
const COLUMNS = [
  ...(["first_ordinal", "first_number", "start_s", "n", "mean_ms", "min_ms", "max_ms", "p95_ms"] as const),
  ...(["wait_ms", "outside_ms", "loss", "profiled"] as const),
] as const;
type Column = (typeof COLUMNS)[number];

/** The bins, in the order of the steps. */
export interface Run extends Readonly<Record<Column, Float32Array>> {
  readonly nBins: number;
  readonly nSteps: number;
}

export interface LiveState {
  readonly head: LiveHead;
  readonly run: Run;
  readonly samples: Table;
}

export function readState(model: AnyModel): LiveState {
  const text = (trait: string) => String(model.get(trait) || "");
  const names = (trait: string) => JSON.parse(text(trait) || "[]") as string[];
  const head = JSON.parse(text("head")) as LiveHead;
  const bins = readColumns(text("bins"), names("columns"));
  return { head, run: runOf(bins), samples: readColumns(text("samples"), names("sample_columns")) };
}

/** Columns of float32, one after the other. */
export function readColumns(text: string, names: readonly string[]): Table {
  if (text === "" || names.length === 0) return EMPTY_TABLE;
  const values = new Float32Array(fromBase64(text).buffer as ArrayBuffer);
  const n = values.length / names.length;
  if (!Number.isInteger(n)) throw new Error(`${values.length} values do not fill ${names.length} columns`);
  return { n, columns: Object.fromEntries(names.map((name, i) => [name, values.subarray(i * n, (i + 1) * n)])) };
}

export function runOf({ n, columns }: Table): Run {
  const whole = (name: Column) => (columns[name] as Float32Array) ?? new Float32Array(n).fill(Number.NaN);
  const nSteps = n === 0 ? 0 : whole("n").reduce((sum, count) => sum + count, 0);
  const own = COLUMNS.map((name) => [name, whole(name)] as const);
  return { nBins: n, nSteps, ...(Object.fromEntries(own) as Record<Column, Float32Array>) };
}
