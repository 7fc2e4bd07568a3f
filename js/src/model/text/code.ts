/** Code and a width in characters -> the same code in lines that fit where they can, broken where a person would. */

const INDENT = "  ";

/** Breaks long lines after an opening bracket or a comma, then after "=", and never inside a word. */
export function wrapCode(code: string, width: number): string {
  return code
    .split("\n")
    .flatMap((line) => wrapLine(line, width))
    .join("\n");
}

function wrapLine(line: string, width: number): string[] {
  // The rest of a broken comment would be code.
  if (line.length <= width || line.includes("#")) return [line];
  const indent = `${/^ */.exec(line)?.[0] ?? ""}${INDENT}`;
  const lines = [""];
  const add = (piece: string) => {
    const last = lines.length - 1;
    if (lines[last].trim() === "" || lines[last].length + piece.trimEnd().length <= width) lines[last] += piece;
    else lines.push(indent + piece.trimStart());
  };
  for (const piece of line.split(/(?<=[([{,])/)) {
    const [head, ...values] = piece.split(/(?<=[^=!<>]=)(?!=)/);
    const isLong = indent.length + piece.trim().length > width && values.length > 0;
    if (!isLong) add(piece);
    else if (lines[0] === "") lines[0] = head;
    else lines.push(indent + head.trimStart());
    if (isLong) lines.push(INDENT + indent + values.join("").trimStart());
  }
  return lines.map((text) => text.trimEnd());
}
