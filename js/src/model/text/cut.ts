/** Names too long for their column -> names cut in the middle, of which no two are equal. */

/**
 * Cuts every name that does not fit to its informative parts: root, layer and leaf of a path, else both ends.
 * Two different names never get the same text, and no cut name equals another name's full text.
 */
export function cutNames(names: Iterable<string>, fits: (text: string) => boolean): Map<string, string> {
  const cuts = new Map<string, string>();
  const owner = new Map<string, string>();
  const long: string[] = [];
  for (const name of new Set(names)) {
    if (fits(name)) {
      cuts.set(name, name);
      owner.set(name, name);
    } else long.push(name);
  }
  for (const name of long) {
    const cut = firstFree(name, fits, owner);
    cuts.set(name, cut);
    owner.set(cut, name);
  }
  return cuts;
}

function firstFree(name: string, fits: (text: string) => boolean, owner: ReadonlyMap<string, string>): string {
  let rival = "";
  for (const cut of candidates(name, fits)) {
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

/** A call of the function that wraps a whole program: it says nothing about the op, so it goes first. */
const WRAPPER = /^StatefulPartitionedCall(_\d+)?$/;

function* candidates(name: string, fits: (text: string) => boolean): Generator<string> {
  const joint = name.includes("::") ? "::" : "/";
  const all = name.split(joint);
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
  for (const text of texts) if (fits(text.join(joint))) yield text.join(joint);
  for (const share of [0.5, 0.3, 0.7, 0.1]) yield middle(name, share, fits);
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
