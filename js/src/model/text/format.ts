/** Turns numbers into short texts with a unit: three significant digits, no trailing noise, thin differences kept. */

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

/** A number of milliseconds as a duration with the unit that suits it. */
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

/** A whole number with separators: "61,204". */
export function formatCount(count: number): string {
  return Number.isFinite(count) ? formatFixed(Math.round(count), 0) : "–";
}

/** A number of things, which is not whole where it is a mean: "18", "0.333". */
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

/** "1 step", "7 steps". */
export function plural(count: number, noun: string): string {
  return `${formatAmount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A point on the trace's clock, exact enough to tell neighbours `resolution_ps` apart: "487.968 ms". */
export function formatInstant(ps: number, resolutionPs = 1e6): string {
  const [scale, unit] = instantUnit(resolutionPs);
  const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(scale / Math.max(1, resolutionPs)) - 1e-9)));
  return `${formatFixed(ps / scale, decimals)} ${unit}`;
}

/** One unit per axis, hence chosen by the resolution alone. */
function instantUnit(resolutionPs: number): readonly [number, string] {
  return resolutionPs >= 2e11 ? PS_UNITS[0] : PS_UNITS[1];
}
