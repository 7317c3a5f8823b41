/** A Spectral function: the description of an enum must name each value between backticks; null explains itself. */
export default function describesValues({ enum: values, description = '' }) {
  const missing = values.filter((value) => value !== null && !String(description).includes(`\`${value}\``));
  return missing.length === 0 ? undefined : [{ message: missing.map((value) => `\`${value}\``).join(', ') }];
}
