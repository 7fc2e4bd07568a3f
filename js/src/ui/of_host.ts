/** How views are of one host of several, and the library that makes them so: loaded once a page, and only where there are several. */

import type { TraceData } from "../host/data";
import { loadLibrary, type Script } from "../host/library";
import { ranOps } from "../model/ops/ranged_ops";
import type * as Hosts from "./hosts";
import type { View } from "./view";

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
  isEmpty: (data) => !ranOps((name) => data.table(name)),
  emptyWords: "ran no op",
  needsExecutions: true,
};

/** What views of several hosts and of a reduced profile need; null for others, and where an old page lacks it. */
export async function loadHosts({ host, model, signal }: View, data: TraceData): Promise<typeof Hosts | null> {
  const ref = model.get("hosts");
  const { hosts = [], is_reduced } = data.meta;
  if (!ref || (hosts.length < 2 && !is_reduced)) return null;
  return loadLibrary(host, String(ref), run, signal);
}

function run({ text }: Script): typeof Hosts {
  return new Function(`${text}\nreturn tfprofHosts;`)() as typeof Hosts;
}
