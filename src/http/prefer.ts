/** What a client would like of the answer (RFC 7240); what it says besides is ignored. */
export interface Preferences {
  respondAsync: boolean;
  /** How long it would wait for the answer, in seconds. */
  wait?: number;
}

/** Reads the header `Prefer`. Of a preference that comes twice, the first counts (section 2). */
export function parsePrefer(header: string | undefined): Preferences {
  const preferences: Preferences = { respondAsync: false };
  for (const part of (header ?? '').split(',')) {
    const [preference = ''] = part.split(';');
    if (/^\s*respond-async\s*$/i.test(preference)) preferences.respondAsync = true;
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*$/i.exec(preference) ?? [];
    if (seconds !== undefined) preferences.wait ??= Number(seconds);
  }
  return preferences;
}
