/** Advice of the service as parameters of a request, and the options of the command line for it. */
const advice: readonly [RegExp, string][] = [
  [/\bmax_withdrawn=(\d+)/g, '--max-withdrawn $1'],
  [/\bon_conflict=skip\b/g, '--skip-conflicts'],
];

/** Replaces parameters in a message of the service by options of the command line. */
export function inOptions(message: string): string {
  return advice.reduce((text, [parameter, option]) => text.replace(parameter, option), message);
}
