// Numbers and values as people read them.

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const SCALES = ["", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion", "septillion", "octillion", "nonillion", "decillion"];

/** What differs from 1 by rounding only is certain. */
const CERTAIN = 1 - 1e-12;

const raised = (text) => [...text].map((c) => RAISED[c] ?? { ".": "·", "-": "⁻" }[c] ?? c).join("");

/** A power of two by its exponent: 2⁶⁰, 2⁴⁸·⁵. */
export const power = (log) => `2${raised(log.toFixed(1).replace(/\.0$/, ""))}`;

/** The powers in a text of the server, as in `2^94.9 bytes`. */
export const withPowers = (text) => text.replace(/2\^(\d+(\.\d+)?)/g, (_, log) => power(Number(log)));

/** A probability as people read it: 12.3 %, and small ones with a power of ten. Only certain values are shown as 100 %. */
export function percent(p) {
  if (p === 0) return "0 %";
  if (p >= 0.9995) return p < CERTAIN ? "> 99.9 %" : "100 %";
  if (p >= 0.0005) return `${(100 * p).toFixed(1)} %`;
  return `${tens((100 * p).toExponential(1))} %`;
}

/** A number with a power of ten as it is printed: 4.75·10⁻⁸ for 4.75e-8. */
const tens = (text) => text.replace(/e\+?(-?\d+)$/, (_, exponent) => `·10${raised(exponent)}`);

/** The same where there is no room, without the sign. */
export function short(p) {
  if (p === 0) return "0";
  if (p < 0.0005) return "<0.1";
  if (p >= 0.9995) return p < CERTAIN ? ">99.9" : "100";
  return (100 * p).toFixed(1);
}

/** A count: with commas, or as a power of two where that says more. */
export function count(n) {
  if (n === null || !Number.isFinite(n)) return `> ${power(1023)}`;
  return n < 1e7 ? Math.round(n).toLocaleString("en") : power(Math.log2(n));
}

/** A large number in words: 400 trillion. */
export function inWords(n) {
  const thousands = Math.floor(Math.log10(n) / 3 + 1e-9);
  if (thousands < 2 || thousands >= SCALES.length) return null;
  return `${Number((n / 1000 ** thousands).toPrecision(2))} ${SCALES[thousands]}`;
}

/** How many times: 3.4, 1,200, or a million and more in words and as a power. */
export function times(factor) {
  if (factor < 10) return factor.toFixed(1);
  if (factor < 1e6) return Math.round(factor).toLocaleString("en");
  const words = inWords(factor);
  return words ? `${words} (${power(Math.log2(factor))})` : power(Math.log2(factor));
}

/** Digits that matter, without trailing zeros. */
export const digits = (x, n = 6) => String(Number(x.toPrecision(n)));

/** The same for reading: not for what is typed or parsed. */
export const figure = (x, n = 6) => tens(digits(x, n));

export const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

/** A value as it is shown: of v0, v1, v2, … the digits alone. */
export function label({ values }, value) {
  if (values.length < 2 || !values.every((one) => /^v\d+$/.test(one))) return value;
  return value.slice(1);
}
