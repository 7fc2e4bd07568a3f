/** The steps of the linked range and host -> what they computed of what the device could. */

import { hostsOf } from "../../model/hosts/hosts";
import { rangeInPs, wholeSteps } from "../../model/time/span_text";
import { numbers } from "../../model/wire/column";
import type { RooflineMeta } from "../../model/wire/roofline_meta";
import { EMPTY_TABLE } from "../../model/wire/wire";
import type { TraceView } from "../../ui/view";
import type { StepWork } from "./words";

/** A mean over the steps in the range, of the whole capture over those that averages are over; of none zeros. */
export function stepWork({ link, whole }: TraceView, { step_flops, step_mfu }: RooflineMeta): StepWork {
  // Of the whole trace, as the steps of a host are numbered anew.
  const steps = whole.data.table("steps") ?? EMPTY_TABLE;
  const range = rangeInPs(link.timeRange, steps);
  const [first, last] = range === null ? [0, steps.n - 1] : (wholeSteps(steps, range, 1000) ?? [0, -1]);
  const duration = numbers(steps, "duration_ps");
  const isAveraged = numbers(steps, "is_averaged");
  const hosts = steps.columns.host === undefined ? null : numbers(steps, "host");
  const host = link.host === "" ? -1 : hostsOf(whole.data.meta).indexOf(link.host);
  const sums = { n: 0, flops: 0, ps: 0, done: 0 };
  for (let i = first; i <= last; i++) {
    const [flops, mfu] = [step_flops[i], step_mfu[i]];
    if (mfu === null || flops === null || (range === null && isAveraged[i] === 0)) continue;
    if (host >= 0 && hosts !== null && hosts[i] !== host) continue;
    sums.n += 1;
    sums.flops += flops;
    sums.ps += duration[i];
    sums.done += mfu * duration[i];
  }
  const { n, flops, ps, done } = sums;
  return n === 0 ? { flops: 0, ps: 0, mfu: 0 } : { flops: flops / n, ps: ps / n, mfu: done / ps };
}
