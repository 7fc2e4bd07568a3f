/** C++ signatures of kernels -> names that a person can tell apart. */

/** Templates of Eigen that say how a kernel is built, not what it computes. */
const SCAFFOLD = new Set([
  ...["EigenMetaKernel", "TensorEvaluator", "TensorAssignOp", "TensorMap", "Tensor", "TensorForcedEvalOp", "array"],
  ...["TensorCwiseUnaryOp", "TensorCwiseBinaryOp", "TensorCwiseNullaryOp", "TensorCwiseTernaryOp", "DSizes", "Sizes"],
]);

/**
 * A signature without return type, arguments and namespaces; a kernel of Eigen as what it computes and the types that go
 * in and come out: "Eigen greater_equal (half → bool)". A name that is no signature stays as it is.
 */
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

/** The readable name without template parameters, for where there is little room. */
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
