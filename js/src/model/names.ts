/** Long names of events, kernels and files made short, so that no two of them look equal. */

/**
 * Cuts names that do not fit to root, layer and leaf of a path (of its parts the rarest is left longest), else to both ends.
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

const MOST_TIP_LETTERS = 72;

export function tipName(name: string): string {
  return cutNames([name], (text) => text.length <= MOST_TIP_LETTERS).get(name) ?? name;
}

export function leafOf(name: string): string {
  const joint = jointOf(name);
  const leaf = name.slice(name.lastIndexOf(joint) + joint.length);
  return name.includes(joint) && leaf !== "" ? leaf : name;
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

export function shortestSuffixes(paths: readonly (readonly string[])[], joint: string): string[] {
  const whole = paths.map((parts) => parts.join(joint));
  return paths.map((parts, i) => {
    for (let n = 1; n < parts.length; n++) {
      const short = parts.slice(-n).join(joint);
      const isTaken = (other: readonly string[], k: number) =>
        whole[k] !== whole[i] && other.slice(-n).join(joint) === short;
      if (short !== "" && !paths.some(isTaken)) return short;
    }
    return whole[i];
  });
}

/** Templates of Eigen that say how a kernel is built, not what it computes. */
const SCAFFOLD = new Set([
  ...["EigenMetaKernel", "TensorEvaluator", "TensorAssignOp", "TensorMap", "Tensor", "TensorForcedEvalOp", "array"],
  ...["TensorCwiseUnaryOp", "TensorCwiseBinaryOp", "TensorCwiseNullaryOp", "TensorCwiseTernaryOp", "DSizes", "Sizes"],
]);

/** A signature without return type, arguments and namespaces; of Eigen what it computes: "Eigen greater_equal (half → bool)". */
export function readableKernel(signature: string): string {
  const name = withoutArguments(signature.replace(/^(?:static |inline |__global__ )*void /, ""));
  const bare = name.replace(/(?:\b[A-Za-z_]\w*|\(anonymous namespace\))::/g, "").replaceAll("> >", ">>");
  if (bare.startsWith("EigenMetaKernel<")) return eigenKernel(bare) || bare;
  return bare.trim() || signature;
}

/** The readable name of each kernel; of several that would be equal the later ones say their rank, or get a number. */
export function readableKernels(signatures: Iterable<string>): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const signature of new Set(signatures)) {
    const readable = readableKernel(signature);
    let name = taken.has(readable) ? withRank(readable, signature) : readable;
    for (let n = 2; taken.has(name); n++) name = `${readable} (${n})`;
    taken.add(name);
    names.set(signature, name);
  }
  return names;
}

/** With the rank of the tensor that a kernel of Eigen writes: "Eigen Broadcasting (half, 2-d)". */
function withRank(readable: string, signature: string): string {
  const rank = /\bTensor<[\w: ]+, (\d+),/.exec(signature)?.[1];
  return rank && readable.endsWith(")") ? `${readable.slice(0, -1)}, ${rank}-d)` : readable;
}

export function shortKernel(readable: string): string {
  return readable.replace(/[<(].*$/s, "").trim() || readable;
}

/** Up to the parenthesis outside all angle brackets that opens the arguments. */
function withoutArguments(name: string): string {
  let depth = 0;
  for (let i = 0; i < name.length; i++) {
    if (name[i] === "<") depth += 1;
    else if (name[i] === ">") depth -= 1;
    else if (name[i] === "(" && depth === 0 && i > 0 && !name.startsWith("(anonymous namespace)", i)) {
      return name.slice(0, i);
    }
  }
  return name;
}

function eigenKernel(bare: string): string {
  const words: string[] = [];
  for (const [, template] of bare.matchAll(/(\w+)</g)) {
    if (SCAFFOLD.has(template)) continue;
    const word = template.replace(/^scalar_|^Tensor/, "").replace(/_op$|Op$/, "");
    if (word && !words.includes(word)) words.push(word);
  }
  const types = [...bare.matchAll(/\bTensor<([\w ]+?)(?: const)?,/g)].map(([, type]) => type);
  const [output, ...inputs] = types;
  if (words.length === 0 || output === undefined) return "";
  const input = [...new Set(inputs)].join(", ");
  const shape = input && input !== output ? `${input} → ${output}` : output;
  return `Eigen ${words.join(" ")} (${shape})`;
}

/** How the signature of a kernel begins, or what only signatures hold. */
const SIGNATURE = /^(?:static |inline |__global__ )*void \S|\(anonymous namespace\)::/;

/**
 * Of an iterator its last dataset, of an op its type, of a traced call the function, of a kernel what it computes, of a C++ name
 * the last part without templates, of a path the leaf. A name that is short of structure stays whole.
 */
export function shortName(name: string): string {
  if (name.startsWith("Iterator::")) return lastPart(name, "::").replace(/\[\d+\]$/, "");
  const traced = /__(?:inference|forward|backward)_(.+?)(?:_\d+)?$/.exec(name);
  if (traced) return traced[1];
  const typed = /^[\w./[\]-]+:([A-Z]\w+)$/.exec(name);
  if (typed) return typed[1];
  if (SIGNATURE.test(name)) return shortKernel(readableKernel(name));
  const plain = name.split(/[<(#]/, 1)[0].trim() || name;
  if (plain.includes("::")) return cppName(plain);
  return plain.includes("/") ? lastPart(opLabel(plain), "/") || plain : plain;
}

/** The path of an op -> its layer and itself, "dense_8/MatMul"; parts that only say the op again are left out, as is the number of a copy ("_3"). */
export function opLabel(path: string): string {
  const parts = path.split("/");
  if (parts.length > 1 && /^_\d+$/.test(parts[parts.length - 1])) parts.pop();
  while (parts.length > 2 && parts[parts.length - 1].startsWith(parts[parts.length - 2])) parts.splice(-2, 1);
  return parts.slice(-2).join("/");
}

/** `Class::Method` keeps both unless the method says enough: ExecutorState::Process, cudnn::dgrad2d -> dgrad2d. */
function cppName(name: string): string {
  const parts = name.split("::");
  const last = parts[parts.length - 1];
  const isNamespace = /^[a-z]/.test(parts[parts.length - 2] ?? "");
  return isNamespace ? last || name : parts.slice(-2).join("::");
}

function lastPart(text: string, separator: string): string {
  return text.slice(text.lastIndexOf(separator) + (text.includes(separator) ? separator.length : 1));
}
