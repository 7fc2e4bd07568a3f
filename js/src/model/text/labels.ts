/** Turns long event names into their informative part: what is left when a slice or column is too narrow. */

import { readableKernel, shortKernel } from "./kernel_names";

/** How the signature of a kernel begins, or what only signatures hold. */
const SIGNATURE = /^(?:static |inline |__global__ )*void \S|\(anonymous namespace\)::/;

/**
 * Iterator: its last dataset; op: its type; traced call: the function; kernel: what it computes; C++ name: the last part without templates;
 * path: the leaf. A name that is short of structure stays whole.
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
  return plain.includes("/") ? lastPart(plain, "/") || plain : plain;
}

/** The path of an op -> its layer and itself, "dense_8/MatMul"; parts that only say the op again are left out. */
export function opLabel(path: string): string {
  const parts = path.split("/");
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
