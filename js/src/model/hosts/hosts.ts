/** What Python says of the hosts of a trace -> their names and roles, and which of them a search finds. */

import { cutNames } from "../text/cut";
import type { TraceMeta } from "../wire/meta";
import { commonPrefix, commonSuffix, shortHosts } from "./host_names";

/** All hosts in the order of the trace; none in a profile that holds no trace. */
export function hostsOf(meta: TraceMeta): readonly string[] {
  return meta.hosts ?? [];
}

/** What a host is, such as "worker"; "" unknown. */
export function roleOf(meta: TraceMeta, host: number): string {
  return meta.host_roles?.[host] ?? "";
}

/** Rows of the hosts whose name or role has every word of a text, any case; all for an empty text. */
export function findHosts(hosts: readonly string[], roles: readonly string[], text: string): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows: number[] = [];
  hosts.forEach((name, row) => {
    const about = `${name} ${roles[row] ?? ""}`.toLowerCase();
    if (words.every((word) => about.includes(word))) rows.push(row);
  });
  return rows;
}

/** Letters of a name in a sentence. */
const MOST_LETTERS = 36;

/** A name as it stands in a sentence: of a long one what tells it from the others, else both ends. */
export function shortHost(name: string, hosts: readonly string[]): string {
  const fits = (text: string) => text.length <= MOST_LETTERS;
  return fits(name) ? name : hostCuts([name], hosts, fits)(name);
}

/**
 * Names cut where they do not fit, no two alike: without the words that all hosts begin and end with, where that is still
 * too long to what the charts call them, and then in the middle.
 */
export function hostCuts(
  names: readonly string[],
  hosts: readonly string[],
  fits: (text: string) => boolean,
): (name: string) => string {
  if (names.every(fits)) return (name) => name;
  let parts = new Map(names.map((name) => [name, tellingPart(name, hosts)]));
  if (![...parts.values()].every(fits)) parts = new Map(shortHosts(hosts).short.map((short, i) => [hosts[i], short]));
  const cuts = cutNames(new Set(names.map((name) => parts.get(name) ?? name)), fits);
  return (name) => {
    const part = parts.get(name) ?? name;
    return cuts.get(part) ?? part;
  };
}

const ENDS = new WeakMap<readonly string[], readonly [prefix: number, suffix: number]>();

/** "…worker-00042…" of "projects/p/instances/worker-00042.c.p.internal", where the others differ in that word only. */
function tellingPart(name: string, hosts: readonly string[]): string {
  let ends = ENDS.get(hosts);
  if (ends === undefined) {
    ends = commonEnds(hosts);
    ENDS.set(hosts, ends);
  }
  const [prefix, suffix] = ends;
  if (prefix + suffix >= name.length) return name;
  return `${prefix > 0 ? "…" : ""}${name.slice(prefix, name.length - suffix)}${suffix > 0 ? "…" : ""}`;
}

/** Letters of the words, separated by "/" and ".", that all names begin and end with. */
function commonEnds(hosts: readonly string[]): readonly [number, number] {
  if (hosts.length < 2) return [0, 0];
  const [head, tail] = [commonPrefix(hosts), commonSuffix(hosts)];
  const word = Math.max(head.lastIndexOf("/"), head.lastIndexOf(".")) + 1;
  const rest = tail.search(/[/.]/);
  return [word, rest < 0 ? 0 : tail.length - rest];
}

/** A name as Python has it in quotes. */
export function pythonText(text: string): string {
  // JSON's escapes are Python's, but for a surrogate alone, which no host name has.
  return JSON.stringify(text);
}
