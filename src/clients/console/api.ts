import createClient from 'openapi-fetch';
import type { components, paths } from '../../../generated/openapi';
import { apiKey, refuseKey } from './session';
import { texts } from './texts';

export type Schemas = components['schemas'];

/** The root of the service, also behind a proxy that adds a path prefix. */
export const root = new URL('../', import.meta.url);
/** The path of the console, without a slash at its end. */
export const consolePath = new URL('console', root).pathname;

export const serviceUrl = root.href.replace(/\/$/, '');

// The browser would answer from a copy of two seconds ago, also right after a change.
export const client = createClient<paths>({ baseUrl: serviceUrl, cache: 'no-cache' });
client.use({
  onRequest({ request }) {
    const key = apiKey();
    if (key && !request.headers.has('x-api-key')) request.headers.set('x-api-key', key);
    return request;
  },
  onResponse({ response }) {
    if (response.status === 401) refuseKey();
  },
});

/** A refusal of the service, with its message. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly body: unknown,
    readonly requestId: string | null,
    /** Reason for decisions of the program, as the message is for people; null: unknown. */
    readonly code: string | null,
  ) {
    super(detailOf(status, body));
  }
}

/** Makes the error of a response. @param header - returns a header by its name */
export const refusalOf = (status: number, body: unknown, header: (name: string) => string | null) =>
  new RequestError(status, body, header('x-request-id'), header('x-error-code'));

/** Returns the body of a successful response. @throws RequestError; Error when the service cannot be reached */
export async function bodyOf<Body>(
  sent: Promise<{ data?: Body; error?: unknown; response: Response }>,
): Promise<Body> {
  const { data, error, response } = await sent.catch(() => {
    throw new Error(texts.failure.offline);
  });
  if (!response.ok) throw refusalOf(response.status, error, (name) => response.headers.get(name));
  return data as Body;
}

interface Fault {
  loc?: (string | number)[];
  msg?: string;
}

/** Returns the text of an error body: `detail`, its faults with their places, or `message`. */
function detailOf(status: number, body: unknown): string {
  const { detail, message } = (typeof body === 'object' && body !== null ? body : {}) as {
    detail?: string | Fault[];
    message?: string;
  };
  if (Array.isArray(detail))
    return detail.map(({ loc = [], msg = '' }) => `${loc.slice(1).join('.')}: ${msg}`).join('\n');
  return detail ?? message ?? (status === 503 ? texts.failure.busy : `HTTP ${status}`);
}

export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
