/**
 * Bytes for large columns that the browser commits page by page, as they are written.
 *
 * An ordinary ArrayBuffer is filled with zeros at once: half a second for the columns of 10 M events, and their memory is
 * taken before the first of them is here. That of a WebAssembly memory is mapped lazily; no WebAssembly code is involved.
 */

const PAGE_BYTES = 65_536;
/** Each such memory reserves much address space, so small ones stay ordinary. */
const LEAST_BYTES = 8 * 2 ** 20;

export function lazyBuffer(nBytes: number): ArrayBuffer {
  if (nBytes >= LEAST_BYTES) {
    try {
      return new WebAssembly.Memory({ initial: Math.ceil(nBytes / PAGE_BYTES) }).buffer as ArrayBuffer;
    } catch {
      // Forbidden, absent or out of address space: the ordinary kind may still do.
    }
  }
  return new ArrayBuffer(nBytes);
}
