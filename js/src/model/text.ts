/** Numbers, code and tables as text: short figures with a unit, lines that fit, CSV. */

const PS_UNITS: readonly [number, string][] = [
  [1e12, "s"],
  [1e9, "ms"],
  [1e6, "µs"],
  [1e3, "ns"],
  [1, "ps"],
];
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** One a number of decimals: to make one takes longer than all else that a frame says. */
const FIXED: Intl.NumberFormat[] = [];

/** "1,234.50": with exactly so many decimals. */
export function formatFixed(value: number, decimals: number): string {
  FIXED[decimals] ??= new Intl.NumberFormat("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
  return FIXED[decimals].format(value);
}

/** Three significant digits, never an exponent: 0.00123, 1.23, 12.3, 123, 1,234. */
export function formatNumber(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  const decimals = Math.max(0, Math.min(12, digits - 1 - magnitude));
  return formatFixed(value, decimals);
}

/** A number of any size: "0.0312", "4.10e-9". */
export function formatAny(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential(2) : formatNumber(value);
}

/** A duration in ps: "12.3 ms". Seconds are kept up to any length; zero is "0 ms". */
export function formatTime(ps: number): string {
  if (ps === 0) return "0 ms";
  const rounded = Math.abs(Number(ps.toPrecision(3)));
  const [scale, unit] = PS_UNITS.find(([size]) => rounded >= size) ?? PS_UNITS[PS_UNITS.length - 1];
  return `${formatNumber(ps / scale)} ${unit}`;
}

/** How long one slice is: one without a length is an instant, not a time that was measured as nothing. */
export function formatLength(ps: number): string {
  return ps === 0 ? "instant" : formatTime(ps);
}

export function formatMs(ms: number): string {
  return formatTime(ms * 1e9);
}

/** The number alone, in ms, for columns whose head names the unit. */
export function formatMsNumber(ps: number): string {
  return formatNumber(ps / 1e9);
}

/** Bytes in binary units: "3.34 GiB", "512 B". */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return "–";
  let value = bytes;
  let unit = 0;
  while (Math.round(Math.abs(value)) >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? formatCount(value) : formatNumber(value)} ${BYTE_UNITS[unit]}`;
}

export function formatCount(count: number): string {
  return Number.isFinite(count) ? formatFixed(Math.round(count), 0) : "–";
}

export function formatAmount(count: number): string {
  return Math.abs(count - Math.round(count)) < 1e-6 ? formatCount(count) : formatNumber(count);
}

/** Values of a column are told apart as far down as this. */
const TOLD_APART = 20;

/** Decimals for all values of a column: three digits of the largest, and two of those that follow it. */
export function commonDecimals(values: readonly number[], most = 3): number {
  const sizes = Float64Array.from(
    values.filter((value) => Number.isFinite(value) && value !== 0),
    Math.abs,
  ).sort();
  if (sizes.every(Number.isInteger)) return 0;
  const decimals = (size: number, digits: number) => digits - 1 - Math.floor(Math.log10(size));
  const last = sizes[Math.max(0, sizes.length - TOLD_APART)];
  return Math.max(0, Math.min(most, Math.max(decimals(sizes[sizes.length - 1], 3), decimals(last, 2))));
}

/** A value to so many decimals: "28.90", "0.07", "<0.01" for what is there but rounds to nothing. */
export function formatTo(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const least = 10 ** -decimals;
  return Math.abs(value) < least / 2 ? `<${formatFixed(least, decimals)}` : formatFixed(value, decimals);
}

/** A ratio as per cent: "62 %", "0.4 %", "<0.1 %". */
export function formatPercent(ratio: number): string {
  const percent = ratio * 100;
  if (!Number.isFinite(percent)) return "–";
  if (percent === 0) return "0 %";
  if (Math.abs(percent) < 0.1) return "<0.1 %";
  if (Math.abs(percent) < 9.95) return `${formatNumber(percent, 2)} %`;
  return `${Math.round(percent)} %`;
}

export function plural(count: number, noun: string): string {
  return `${formatAmount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A point on the trace's clock, exact enough to tell neighbours `resolution_ps` apart: "487.968 ms". */
export function formatInstant(ps: number, resolutionPs = 1e6): string {
  // One unit per axis, hence chosen by the resolution alone.
  const [scale, unit] = resolutionPs >= 2e11 ? PS_UNITS[0] : PS_UNITS[1];
  const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(scale / Math.max(1, resolutionPs)) - 1e-9)));
  return `${formatFixed(ps / scale, decimals)} ${unit}`;
}

export type Cell = string | number | boolean | null | undefined;

/** Name of a column -> its value in a row, in the order of the file. */
export type CsvColumns<R> = Readonly<Record<string, (row: R) => Cell>>;

/** Columns of the values that rows have under the same names. */
export function fields<R>(...names: readonly (keyof R & string)[]): CsvColumns<R> {
  return Object.fromEntries(names.map((name) => [name, (row: R) => row[name] as Cell]));
}

/** The columns of Python's tables that are sums. */
const IS_SUM = /^(?!avg_|min_|max_)(?:\w*time_[um]s|occurrences|bytes|round_trips)$/;

/** The same columns under names that say that their sums are a step. */
export function aStep<R>(columns: CsvColumns<R>): CsvColumns<R> {
  const named = ([name, value]: [string, CsvColumns<R>[string]]) => [
    IS_SUM.test(name) ? `${name}_per_step` : name,
    value,
  ];
  return Object.fromEntries(Object.entries(columns).map(named));
}

export function csvOf<R>(columns: CsvColumns<R>, rows: readonly R[]): string {
  const values = Object.values(columns);
  return toCsv(
    Object.keys(columns),
    rows.map((row) => values.map((value) => value(row))),
  );
}

/** Header and rows with CRLF ends; a cell is quoted where it must be. Numbers keep full precision; what is unknown is empty. */
export function toCsv(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header, ...rows].map((cells) => cells.map(quote).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function quote(cell: Cell): string {
  const text = Number.isNaN(cell) ? "" : String(cell ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

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
