import type { components } from '../../../generated/openapi';
import { exitCodes } from './failures';
import { jsonBody, readJson } from './json-body';
import { moreText, type PageOptions } from './lists';
import { printable, printableJson } from './printable';
import { pathText } from './requests';
import { unexpectedResponse, type Request } from './service';
import type { Session, Work } from './session';
import { textTable } from './table';

type Source = components['schemas']['Source'];
type SourceFetch = components['schemas']['SourceFetch'];

interface PartnerOption {
  partner: string;
}

export function showSources({ partner: partner_name, ...page }: PageOptions & Partial<PartnerOption>): Work {
  return async ({ service, json }) => {
    const query = { partner_name, ...page };
    const sources = await service.getList('the request for sources', '/sources', { query });
    if (json) process.stdout.write(`${printableJson(sources)}\n`);
    else if (sources.count === 0) process.stdout.write('There are no sources.\n');
    else process.stdout.write(sourceTable(sources.items) + moreText(sources.next_cursor));
    return exitCodes.done;
  };
}

/** Creates or replaces a source. @param path - a JSON file with a definition; `-`: standard input */
export function addSource(name: string, path: string, { partner }: PartnerOption): Work {
  return async (session) => {
    const body = await readJson(path);
    const source = await ask<Source>(session, 'the source', { method: 'PUT', name, partner, body });
    showOutcome(session, source, `Source ${source.source_name} of partner ${source.partner_name} is stored.`);
    return exitCodes.done;
  };
}

export function requestSourceDeletion(name: string, { partner }: PartnerOption): Work {
  return async (session) => {
    const source = await ask<Source>(session, 'the deletion', { method: 'DELETE', name, partner });
    showOutcome(
      session,
      source,
      `Source ${source.source_name} of partner ${source.partner_name} is deleted.`,
    );
    return exitCodes.done;
  };
}

/** Requests a fetch without waiting for it. */
export function requestSourceFetch(name: string, { partner }: PartnerOption): Work {
  return async (session) => {
    const request = { method: 'POST', name, partner, below: '/fetch' } as const;
    const { fetch, status, ...rest } = await ask<SourceFetch>(session, 'the request for a fetch', request);
    const more = `See: ${session.invocation} sources history ${name} --partner "${partner}"`;
    showOutcome(
      session,
      { fetch, status, ...rest },
      `Fetch ${fetch} of source ${name} is ${status}. ${more}`,
    );
    return exitCodes.done;
  };
}

export function showFetches(name: string, { partner, ...query }: PageOptions & PartnerOption): Work {
  return async ({ service, json }) => {
    const fetches = await service.getList(
      'the request for fetches',
      '/partners/{partner_name}/sources/{source_name}/fetches',
      { path: { partner_name: partner, source_name: name }, query },
    );
    if (json) process.stdout.write(`${printableJson(fetches)}\n`);
    else if (fetches.count === 0) process.stdout.write('The source has not been fetched.\n');
    else process.stdout.write(fetchTable(fetches.items) + moreText(fetches.next_cursor));
    return exitCodes.done;
  };
}

interface SourceRequest extends PartnerOption {
  method: Request['method'];
  name: string;
  below?: string;
  body?: Buffer;
}

async function ask<Body>(
  { service }: Session,
  what: string,
  { method, name, partner, below = '', body }: SourceRequest,
): Promise<Body> {
  const path = pathText(`/partners/{partner_name}/sources/{source_name}${below}`, {
    partner_name: partner,
    source_name: name,
  });
  const response = await service.ask(what, { method, path, ...(body && jsonBody(body)) });
  if (typeof response!.body !== 'object' || response!.body === null) throw unexpectedResponse('a source');
  return response!.body as Body;
}

function showOutcome({ json }: Session, body: object, line: string): void {
  process.stdout.write(`${json ? printableJson(body) : printable(line)}\n`);
}

function sourceTable(sources: readonly Source[]): string {
  return textTable(
    [
      ['source', 24],
      ['partner', 20],
      ['state', 8],
      ['next fetch', 24],
      ['last feed', 10],
    ],
    'url',
    sources.map(({ source_name, partner_name, state, next_fetch_at, last_feed_id, definition }) => [
      source_name,
      partner_name,
      state,
      next_fetch_at ?? '',
      last_feed_id ?? '',
      definition.url,
    ]),
  );
}

function fetchTable(fetches: readonly SourceFetch[]): string {
  return textTable(
    [
      ['fetch', 6],
      ['status', 9],
      ['requested', 24],
      ['attempts', 8],
      ['feed', 10],
    ],
    'failure',
    fetches.map(({ fetch, status, requested_at, attempts, feed_id, failure_reason }) => [
      String(fetch),
      status,
      requested_at,
      String(attempts),
      feed_id ?? '',
      failure_reason ?? '',
    ]),
  );
}
