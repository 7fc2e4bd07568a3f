/** Names too long for their column -> names cut in the middle, of which no two are equal. */

/**
 * Cuts every name that does not fit to its informative parts: root, layer and leaf of a path, else both ends. The part of a path that
 * the fewest of the names have, besides the leaf, tells most, so it is kept before others.
 * Two different names never get the same text, and no cut name equals another name's full text.
 */
export function cutNames(names: Iterable<string>, fits: (text: string) => boolean): Map<string, string> {
  const cuts = new Map<string, string>();
  const owner = new Map<string, string>();
  const long: string[] = [];
  const count = new Map<string, number>();
  for (const name of new Set(names)) {
    for (const part of new Set(partsOf(name))) count.set(part, (count.get(part) ?? 0) + 1);
    if (fits(name)) {
      cuts.set(name, name);
      owner.set(name, name);
    } else long.push(name);
  }
  for (const name of long) {
    const cut = firstFree(name, telling(name, count), fits, owner);
    cuts.set(name, cut);
    owner.set(cut, name);
  }
  return cuts;
}

const jointOf = (name: string) => (name.includes("::") ? "::" : "/");
const partsOf = (name: string) => name.split(jointOf(name));

/** The place of the part before the leaf that is rarest; -1 where all are as common. */
function telling(name: string, count: ReadonlyMap<string, number>): number {
  const n = partsOf(name)
    .slice(0, -1)
    .map((part) => count.get(part) ?? 0);
  const least = Math.min(...n);
  return least < Math.max(...n) ? n.indexOf(least) : -1;
}

function firstFree(
  name: string,
  telling: number,
  fits: (text: string) => boolean,
  owner: ReadonlyMap<string, string>,
): string {
  let rival = "";
  for (const cut of candidates(name, telling, fits)) {
    const taken = owner.get(cut);
    if (taken === undefined) return cut;
    rival ||= taken;
  }
  const cut = aroundDifference(name, rival, fits);
  if (!owner.has(cut)) return cut;
  // Nothing short enough tells them apart: a number does, and the full name is on hover.
  for (let k = 2; ; k++) {
    const numbered = `${middle(name, 0.5, (text) => fits(`${text} (${k})`))} (${k})`;
    if (!owner.has(numbered)) return numbered;
  }
}

/** Of a text cut in the middle, how much of what is left is the head. */
const SHARES = [0.5, 0.3, 0.7, 0.1];
/** A call of the function that wraps a whole program: it says nothing about the op, so it goes first. */
const WRAPPER = /^StatefulPartitionedCall(_\d+)?$/;

function* candidates(name: string, telling: number, fits: (text: string) => boolean): Generator<string> {
  const joint = jointOf(name);
  const all = partsOf(name);
  const isWrapped = all.length > 2 && WRAPPER.test(all[0]);
  const parts = isWrapped ? all.slice(1) : all;
  const lead = isWrapped ? ["…"] : [];
  const leaf = parts[parts.length - 1];
  const texts = isWrapped ? [[...lead, ...parts]] : [];
  for (let layer = 2; layer < parts.length - 1; layer++) {
    const rest = layer < parts.length - 2 ? ["…", leaf] : [leaf];
    texts.push([...lead, parts[0], "…", parts[layer], ...rest]);
  }
  for (let kept = parts.length - 1; kept > 1; kept--) texts.push(["…", ...parts.slice(-kept)]);
  if (telling > 0) {
    const ends = [all[telling], ...(telling < all.length - 2 ? ["…"] : []), leaf];
    for (const text of [...texts.filter((one) => one.includes(all[telling])), ["…", ...ends]]) {
      if (fits(text.join(joint))) yield text.join(joint);
    }
    for (const share of SHARES) yield middle(`${all[telling]}${joint}${leaf}`, share, fits);
  }
  for (const text of texts) if (fits(text.join(joint))) yield text.join(joint);
  for (const share of SHARES) yield middle(name, share, fits);
}

/** The longest "head…tail" that fits, with `share` of its length in the head; at least one character of each. */
function middle(name: string, share: number, fits: (text: string) => boolean): string {
  let low = 2;
  let high = name.length - 1;
  const cut = (kept: number) => {
    const head = Math.min(kept - 1, Math.max(1, Math.round(kept * share)));
    return `${name.slice(0, head)}…${name.slice(name.length - (kept - head))}`;
  };
  while (low < high) {
    const kept = (low + high + 1) >> 1;
    if (fits(cut(kept))) low = kept;
    else high = kept - 1;
  }
  return cut(Math.max(2, low));
}

function aroundDifference(name: string, rival: string, fits: (text: string) => boolean): string {
  let at = 0;
  while (at < name.length && name[at] === rival[at]) at++;
  const start = Math.max(0, at - 4);
  for (let length = name.length - start; length > 1; length--) {
    const cut = `…${name.slice(start, start + length)}${start + length < name.length ? "…" : ""}`;
    if (fits(cut)) return cut;
  }
  return middle(name, 0.5, fits);
}
