/** What every response must say that no operation has given a word of its own, by names in lower case. */
const promised = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/**
 * Fails where a response lacks a security header, or has another value.
 * @param own - what its operation says instead; null: the header must not be there
 */
export function expectSecurityHeaders(
  headers: Pick<Headers, 'get'>,
  own: Partial<Record<keyof typeof promised, string | null>> = {},
): void {
  const names = Object.keys(promised) as (keyof typeof promised)[];
  const sent = Object.fromEntries(names.map((name) => [name, headers.get(name)]));
  expect(sent).toEqual({ ...promised, ...own });
  // Over plain HTTP it must not be sent.
  expect(headers.get('strict-transport-security')).toBeNull();
}
