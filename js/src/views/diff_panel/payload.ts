/** The state of a `DiffData` -> what a comparison shows: what views/payload/diff_payload.py writes. */
import type { AnyModel } from "../../host/afm";
import { fromBase64, inflate } from "../../model/wire/wire";

/** null: not known. */
export type Known = number | null;

export interface StepTimes {
  readonly a_ms: Known;
  readonly b_ms: Known;
  readonly ratio: Known;
  readonly interval: readonly [Known, Known];
  readonly n_a: number;
  readonly n_b: number;
  readonly is_known: boolean;
  readonly is_beyond_noise: boolean;
}

export interface Category {
  readonly category: string;
  readonly a_ms: number;
  readonly b_ms: number;
  readonly change_ms: number;
  readonly ratio: Known;
  readonly noise_ms: Known;
  readonly state: string;
}

/** Columns of equal length. */
export interface Columns {
  readonly name: readonly string[];
  readonly detail: readonly string[];
  /** `file:line`, "" for none. */
  readonly place: readonly string[];
  readonly where: readonly string[];
  readonly unit: readonly string[];
  readonly a: readonly Known[];
  readonly b: readonly Known[];
  readonly change: readonly Known[];
  readonly noise: readonly Known[];
  readonly ratio: readonly Known[];
  readonly state: readonly string[];
  /** What the row selects in a and in b. */
  readonly ops: readonly (readonly [readonly string[], readonly string[]])[];
}

export type TableId = "ops" | "layers" | "source_lines" | "kernels" | "iterators" | "memory";

export interface DiffTable {
  readonly id: TableId;
  /** Rows of the whole table; `columns` may hold fewer. */
  readonly n_rows: number;
  /** Rows of the whole table that changed beyond noise. */
  readonly n_changed: number;
  /** Whether any row is known to have changed or not. */
  readonly is_noise_known: boolean;
  readonly columns: Columns;
}

export interface Alignment {
  /** Moment of each run at which both timelines begin. */
  readonly start_ps: readonly [number, number];
  /** What the step there is called, "" for none. */
  readonly step: readonly [string, string];
  readonly span_ps: number;
}

export interface DiffContent {
  readonly titles: readonly [string, string];
  readonly verdict: string;
  readonly notices: readonly string[];
  readonly is_per_step: boolean;
  readonly n_events: readonly [number, number];
  /** null where a run has no steps. */
  readonly step_times: StepTimes | null;
  readonly categories: readonly Category[];
  readonly tables: readonly DiffTable[];
  readonly pairs: readonly (readonly [string, string])[];
  readonly lone: readonly (readonly string[])[];
  readonly alignment: Alignment;
}

export async function readContent(model: AnyModel): Promise<DiffContent> {
  const bytes = await inflate(fromBase64(String(model.get("packed") ?? "")));
  return JSON.parse(new TextDecoder().decode(bytes)) as DiffContent;
}
