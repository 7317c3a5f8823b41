/** The preferences of a client (RFC 7240); others are ignored. */
interface Preferences {
  respondAsync: boolean;
  /** Whether unknown query parameters are errors. */
  isStrict: boolean;
  /** Maximum wait for the response, in seconds. */
  wait?: number;
}

/** Parses the header `Prefer`, whose lines Node joins. The first of repeated preferences counts (section 2). */
export function parsePrefer(header = ''): Preferences {
  const values = new Map<string, string>();
  // Splits at commas and semicolons outside quoted strings; an unclosed string extends to the end.
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
    isStrict: values.get('handling') === 'strict',
    ...(/^\d{1,9}$/.test(wait) && { wait: Number(wait) }),
  };
}

function unquote(word: string): string {
  return word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word;
}
