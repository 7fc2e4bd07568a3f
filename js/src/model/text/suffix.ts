/** Paths in parts -> the fewest last parts of each that tell it from the others. */

/** Joined with `joint`; equal paths stay equal. */
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
