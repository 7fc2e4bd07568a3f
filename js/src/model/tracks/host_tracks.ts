/** The hosts of a capture -> the outer groups of the timeline's tracks: their order, and which of them are open. */

import { hostsOf } from "../hosts/hosts";
import type { TraceMeta } from "../wire/meta";
import type { Arrangement } from "./arrangement";

/** So few hosts are open at first; of more each is one line, so that the steps of many are seen one below the other. */
const FEW_OPEN = 4;

/** What the layout needs to know of hosts. */
export interface HostSource {
  readonly names: readonly string[];
  /** Planes of each. */
  readonly planes: readonly (readonly number[])[];
  /** By plane its host, -1 for one that is none's. */
  readonly ofPlane: Int32Array;
  /** Hosts in the order of the trace, those before them that the reader should see first. */
  readonly order: readonly number[];
  /** The host that all views are about, -1 for none. */
  readonly chosen: number;
}

/** Null for a capture of one host: its planes are the outer groups then. */
export function hostSource(meta: TraceMeta, chosen: string): HostSource | null {
  const names = hostsOf(meta);
  if (names.length < 2) return null;
  const place = new Map(names.map((name, host) => [name, host]));
  const ofPlane = Int32Array.from(meta.planes, ({ host }) => place.get(host) ?? -1);
  const planes: number[][] = names.map(() => []);
  ofPlane.forEach((host, plane) => {
    if (host >= 0) planes[host].push(plane);
  });
  const chosenHost = place.get(chosen) ?? -1;
  return { names, planes, ofPlane, order: hostOrder(meta, names, chosenHost), chosen: chosenHost };
}

/** The chosen host, then of many the ones that hold the others up and those that are no workers, then the others. */
function hostOrder(meta: TraceMeta, names: readonly string[], chosen: number): number[] {
  const first = new Set<number>();
  if (chosen >= 0) first.add(chosen);
  if (names.length > FEW_OPEN) {
    for (const { host } of meta.stragglers ?? []) first.add(names.indexOf(host));
    meta.host_roles?.forEach((role, host) => {
      if (role === "chief") first.add(host);
    });
  }
  first.delete(-1);
  return [...first, ...names.keys()].filter((host, k) => k < first.size || !first.has(host));
}

export function isHostOpen({ names, chosen }: HostSource, state: Arrangement, host: number): boolean {
  const isOpenAtFirst = names.length <= FEW_OPEN || host === chosen;
  return isOpenAtFirst ? !state.closedHosts.has(host) : state.openHosts.has(host);
}

export function setHostOpen(state: Arrangement, host: number, opens: boolean) {
  const [to, from] = opens ? [state.openHosts, state.closedHosts] : [state.closedHosts, state.openHosts];
  to.add(host);
  from.delete(host);
}
