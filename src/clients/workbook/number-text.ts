/** Digits that Excel keeps of a number. */
const significantDigits = 15;

/** Writes a number with 15 significant digits and a point, without an exponent. A text that is no number stays. */
export function numberText(raw: string): string {
  const number = Number(raw);
  if (!Number.isFinite(number) || raw.trim() === '') return raw;
  if (raw.length <= significantDigits && String(number) === raw && !raw.includes('e')) return raw;
  return decimalText(number, significantDigits);
}

/** Writes a number with that many significant digits. */
function decimalText(number: number, digitCount: number): string {
  const [mantissa, exponent] = Math.abs(number)
    .toExponential(digitCount - 1)
    .split('e') as [string, string];
  const digits = withoutFinalZeros(mantissa.replace('.', ''));
  if (digits === '') return '0';
  const point = Number(exponent) + 1;
  const integer = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0';
  const fraction = point > 0 ? digits.slice(point) : '0'.repeat(-point) + digits;
  return `${number < 0 ? '-' : ''}${integer}${fraction && `.${fraction}`}`;
}

function withoutFinalZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}
