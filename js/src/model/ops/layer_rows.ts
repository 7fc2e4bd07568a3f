/** Self time of ops and their places -> one row per Keras layer, and one for the loss, the optimizer and whatever else. */

import type { LayerMeta } from "../wire/meta";
import type { OpTotals } from "./ops";
import { PHASES, selfByPhase, sumByEntry } from "./places";

export interface LayerRow extends LayerMeta {
  readonly rank: number;
  /** Row of the meta object's `layers`. */
  readonly entry: number;
  /** Self time in the order of PHASES: forward, backward, optimizer, other. */
  readonly phasePs: readonly number[];
  readonly selfPs: number;
  /** Of the self time of all rows. */
  readonly ratio: number;
  readonly nOps: number;
  readonly occurrences: number;
}

export interface LayerPlaces {
  /** For each op its row of the meta object's `layers`, and its index into PHASES. */
  readonly layer: ArrayLike<number>;
  readonly phase: ArrayLike<number>;
  /** For each op 1 on a device, 0 on the host. */
  readonly device: ArrayLike<number>;
}

/**
 * What ran in the layers on one side, most time first; what only holds memory comes last, where memory is that of the side.
 * Every op is in exactly one row, so the ratios add up to 1.
 */
export function layerRows(
  layers: readonly LayerMeta[],
  places: LayerPlaces,
  totals: Pick<OpTotals, "totalPs" | "selfPs" | "occurrences">,
  side: 0 | 1,
  withMemory: boolean,
): LayerRow[] {
  const isThere = (op: number) => places.device[op] === side;
  const selfPs = Float64Array.from(totals.selfPs, (ps, op) => (isThere(op) ? ps : 0));
  const phases = selfByPhase(places.layer, places.phase, { selfPs }, layers.length);
  const sums = sumByEntry(places.layer, totals, layers.length, isThere);
  const time = layers.map((_, entry) => phases.reduce((sum, phase) => sum + phase[entry], 0));
  const whole = time.reduce((sum, ps) => sum + ps, 0);
  const isShown = (entry: number) => sums.nOps[entry] > 0 || (withMemory && holdsMemory(layers[entry]));
  const shown = layers.map((_, entry) => entry).filter(isShown);
  shown.sort((a, b) => time[b] - time[a] || a - b);
  return shown.map((entry, i) => ({
    ...layers[entry],
    ...{ rank: i + 1, entry, phasePs: PHASES.map((_, phase) => phases[phase][entry]), selfPs: time[entry] },
    ...{ ratio: whole > 0 ? time[entry] / whole : 0, nOps: sums.nOps[entry], occurrences: sums.occurrences[entry] },
  }));
}

/** Memory that no op explains is a row of its own. */
function holdsMemory(layer: LayerMeta): boolean {
  return layer.kind === "other" && (layer.peak_bytes ?? 0) > 0;
}
