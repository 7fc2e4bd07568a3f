/** How views are of one host of several. */

import type { TraceData } from "../host/data";
import { ranOps } from "../model/ops/ranged_ops";
import type { TraceMeta } from "../model/wire/meta";

/** How a view is of one host. */
export interface OfHost {
  /** Whether it draws itself anew when its tables change; else it is built anew for another host. */
  readonly follows: boolean;
  /** Whether a host has nothing to show here, and what that is called: "worker0003 recorded no memory". */
  readonly isEmpty?: (data: TraceData) => boolean;
  readonly emptyWords?: string;
  /** What of the view is of all hosts even so, in words; "" where nothing is. */
  readonly ofAll?: (data: TraceData) => string;
  /** Whether a time range means nothing in a reduced profile, which has no single executions. */
  readonly needsExecutions?: boolean;
}

/** Views of ops: of each host the totals are known, and of a whole profile every execution. */
export const OPS_OF_HOST: OfHost = {
  follows: true,
  isEmpty: (data) => !ranOps(data.table),
  emptyWords: "ran no op",
  needsExecutions: true,
};

/** Whether views are of one of several hosts, or of a host that may be opened in full. */
export function hasHosts({ hosts = [], is_reduced }: TraceMeta): boolean {
  return hosts.length > 1 || is_reduced === true;
}
