import type { ShapeError } from '../base/errors';
import { requirePublicHost } from '../base/public-address';

/** Maximum length of an address, in its normal form too. */
const urlCharactersMax = 2_000;

interface UrlRules {
  /** Whether HTTP without TLS is allowed. */
  allowsHttp: boolean;
  privateAddresses: boolean;
}

/**
 * Parses the address of a receiver. The addresses of a host name are checked for each connection instead.
 * @returns the normal form, which has no control characters
 * @throws Error that says what is wrong, for operators
 */
export function parseWebhookUrl(text: string, { allowsHttp, privateAddresses }: UrlRules): string {
  // A URL may have NUL in its path, but no text of a request may.
  const isUrl = !text.includes('\0') && URL.canParse(text) && new URL(text).href.length <= urlCharactersMax;
  if (!isUrl) throw new Error('it must be one such as https://partner.example.org/events.');
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(allowsHttp && url.protocol === 'http:'))
    throw new Error('it must begin with https, or http with PRIVATE_ADDRESSES=on.');
  if (url.username || url.password)
    throw new Error('it must have no user name and password; receivers verify the signature.');
  if (url.hash) throw new Error('it must have no fragment: what follows # is never sent.');
  if (!privateAddresses) requirePublicHost(url);
  return url.href;
}

/**
 * Finds the faults of a definition's URL that the document's schema cannot express.
 * @param body - as sent, of any shape
 */
export function webhookUrlFaults(body: unknown, privateAddresses: boolean): ShapeError[] {
  const { url } = (body ?? {}) as { url?: unknown };
  if (typeof url !== 'string' || url === '') return [];
  try {
    parseWebhookUrl(url, { allowsHttp: false, privateAddresses });
    return [];
  } catch {
    const msg =
      'Input should be an https URL with a public host, without user name, password and fragment' +
      `, of at most ${urlCharactersMax} characters with its percent codes`;
    return [{ type: 'webhook_url', loc: ['body', 'url'], msg, input: url }];
  }
}
