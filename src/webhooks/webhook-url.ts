import type { ShapeError } from '../base/errors';
import { requirePublicHost } from '../base/public-address';

/**
 * Finds the faults of a definition's URL that the document's schema cannot express. The addresses of a host name are checked for
 * each connection instead.
 * @param body - as sent, of any shape
 */
export function webhookUrlFaults(body: unknown, privateAddresses: boolean): ShapeError[] {
  const { url } = (body ?? {}) as { url?: unknown };
  if (typeof url !== 'string' || url === '' || isWebhookUrl(url, privateAddresses)) return [];
  const msg = 'Input should be an https URL with a public host, without user name, password and fragment';
  return [{ type: 'webhook_url', loc: ['body', 'url'], msg, input: url }];
}

function isWebhookUrl(text: string, privateAddresses: boolean): boolean {
  if (text.includes('\0') || !URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.protocol !== 'https:' || url.username || url.password || url.hash) return false;
  try {
    if (!privateAddresses) requirePublicHost(url);
    return true;
  } catch {
    return false;
  }
}
