/** Names of hosts -> what tells them apart: without what all begin and end with, never half a number. */

export interface ShortHosts {
  /** By host; a name that would be empty stays whole, and so do all where they have nothing in common. */
  readonly short: readonly string[];
  /** What all begin with, "" for nothing: it is said once, as "worker…". */
  readonly prefix: string;
}

export function shortHosts(names: readonly string[]): ShortHosts {
  if (names.length < 2) return { short: [...names], prefix: "" };
  const prefix = commonPrefix(names).replace(/\d+$/, "");
  const suffix = commonSuffix(names.map((name) => name.slice(prefix.length))).replace(/^\d+/, "").length;
  const short = names.map((name) => name.slice(prefix.length, name.length - suffix));
  return short.some((name) => name === "") ? { short: [...names], prefix: "" } : { short, prefix };
}

/** Whole names where all fit into so many characters, else short ones. */
export function hostNamesThatFit(names: readonly string[], nCharacters: number): readonly string[] {
  const fits = (name: string) => name.length <= nCharacters;
  return names.every(fits) ? names : shortHosts(names).short;
}

/** What all names begin with. */
export function commonPrefix(names: readonly string[]): string {
  let length = names[0].length;
  for (const name of names) {
    let same = 0;
    while (same < length && name[same] === names[0][same]) same++;
    length = same;
  }
  return names[0].slice(0, length);
}

/** What all names end with. */
export function commonSuffix(names: readonly string[]): string {
  const reversed = (text: string) => [...text].reverse().join("");
  return reversed(commonPrefix(names.map(reversed)));
}
