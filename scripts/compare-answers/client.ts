import { keyHeader } from '../bench/servers';
import type { Answer, Transcript } from './transcript';

export interface FeedFile {
  name: string;
  bytes: Buffer;
  /** Default: `text/csv`. */
  mediaType?: string;
}

/** A part of a form: a field with its value, or the file. */
export type Part = [name: string, value: string] | FeedFile;

export class Client {
  constructor(
    readonly url: string,
    private readonly transcript: Transcript,
  ) {}

  async send(method: string, path: string, init: RequestInit = {}, title = ''): Promise<Answer> {
    const answer = await this.ask(method, path, init);
    this.transcript.add(`${method} ${path}${title}`, answer);
    return answer;
  }

  /** Sends a request without recording its response. */
  async ask(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = { ...keyHeader, ...(init.headers as object) };
    const response = await fetch(`${this.url}${path}`, { ...init, method, headers });
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: Buffer.from(await response.arrayBuffer()),
    };
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send('GET', path, { headers });
  }

  sendForm(path: string, parts: readonly Part[]): Promise<Answer> {
    const title = parts.map((part) => (Array.isArray(part) ? part.join('=') : part.name)).join(', ');
    return this.send('POST', path, { body: formOf(parts) }, ` with ${title}`);
  }

  /** Gets at most five pages of a listing. @returns their items */
  async getPages(path: string): Promise<Record<string, string>[]> {
    const items: Record<string, string>[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 5; page++) {
      const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const body = parsed(await this.get(`${path}${query}`));
      items.push(...((body.items ?? []) as Record<string, string>[]));
      cursor = body.next_cursor as string | undefined;
      if (cursor === undefined) break;
    }
    return items;
  }
}

/** The parsed JSON body of a response; without JSON, an empty object. */
export function parsed({ headers, body }: Answer): Record<string, unknown> {
  if (!String(headers['content-type']).startsWith('application/json')) return {};
  return JSON.parse(body.toString()) as Record<string, unknown>;
}

function formOf(parts: readonly Part[]): FormData {
  const form = new FormData();
  for (const part of parts)
    if (Array.isArray(part)) form.append(...part);
    else form.append('file', new Blob([part.bytes], { type: part.mediaType ?? 'text/csv' }), part.name);
  return form;
}
