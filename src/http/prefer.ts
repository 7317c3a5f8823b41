/** What a client prefers of the response (RFC 7240); other preferences are ignored. */
interface Preferences {
  respondAsync: boolean;
  /** How long it would wait for the response, in seconds. */
  wait?: number;
}

/** Parses the header `Prefer`; Node joins several of them. Of a repeated preference, the first counts (section 2). */
export function parsePrefer(header = ''): Preferences {
  const values = new Map<string, string>();
  // What is between commas, or semicolons, that are not in a quoted string; one that is not closed extends to the end.
  for (const element of header.match(/(?:"(?:\\.|[^"\\])*"?|[^",])+/g) ?? []) {
    const [preference = ''] = element.match(/(?:"(?:\\.|[^"\\])*"?|[^";])+/) ?? [];
    const [name = '', ...rest] = preference.split('=');
    const key = name.trim().toLowerCase();
    if (!values.has(key)) values.set(key, unquote(rest.join('=').trim()));
  }
  const wait = values.get('wait') ?? '';
  return {
    // An empty value is none (section 2).
    respondAsync: values.get('respond-async') === '',
    ...(/^\d{1,9}$/.test(wait) && { wait: Number(wait) }),
  };
}

function unquote(word: string): string {
  return word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word;
}
