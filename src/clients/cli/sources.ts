import type { components } from '../../../generated/openapi';
import { exitCodes } from './failures';
import { readJson } from './read-json';
import { moreText, type PageOptions } from './lists';
import { printable, printableJson } from './printable';
import { list } from './service';
import type { Session, Work } from './session';
import { textTable } from './table';

type Source = components['schemas']['Source'];
type SourceDefinition = components['schemas']['SourceDefinition'];
type SourceFetch = components['schemas']['SourceFetch'];

interface PartnerOption {
  partner: string;
}

export function showSources({ partner: partner_name, ...page }: PageOptions & Partial<PartnerOption>): Work {
  return async ({ service, json }) => {
    const query = { partner_name, ...page };
    const sources = await service.askFor('the request for sources', list, () =>
      service.api.GET('/sources', { params: { query } }),
    );
    if (json) process.stdout.write(`${printableJson(sources)}\n`);
    else if (sources.count === 0) process.stdout.write('There are no sources.\n');
    else process.stdout.write(sourceTable(sources.items) + moreText(sources.next_cursor));
    return exitCodes.done;
  };
}

/** Creates or replaces a source. @param file - a JSON file with a definition; `-`: standard input */
export function addSource(name: string, file: string, ofPartner: PartnerOption): Work {
  return async (session) => {
    const { service } = session;
    const body = await readJson<SourceDefinition>(file);
    const source = await service.askFor('the source', aSource, () =>
      service.api.PUT(path, { params: paramsOf(name, ofPartner), body }),
    );
    showOutcome(session, source, `Source ${source.source_name} of partner ${source.partner_name} is stored.`);
    return exitCodes.done;
  };
}

export function requestSourceDeletion(name: string, ofPartner: PartnerOption): Work {
  return async (session) => {
    const { service } = session;
    const source = await service.askFor('the deletion', aSource, () =>
      service.api.DELETE(path, { params: paramsOf(name, ofPartner) }),
    );
    showOutcome(
      session,
      source,
      `Source ${source.source_name} of partner ${source.partner_name} is deleted.`,
    );
    return exitCodes.done;
  };
}

/** Requests a fetch without waiting for it. */
export function requestSourceFetch(name: string, ofPartner: PartnerOption): Work {
  return async (session) => {
    const { service } = session;
    const fetched = await service.askFor('the request for a fetch', ['a fetch', 'fetch'], () =>
      service.api.POST(`${path}/fetch`, { params: paramsOf(name, ofPartner) }),
    );
    const more = `See: ${session.invocation} sources history ${name} --partner "${ofPartner.partner}"`;
    showOutcome(session, fetched, `Fetch ${fetched.fetch} of source ${name} is ${fetched.status}. ${more}`);
    return exitCodes.done;
  };
}

export function showFetches(name: string, { partner, ...query }: PageOptions & PartnerOption): Work {
  return async ({ service, json }) => {
    const fetches = await service.askFor('the request for fetches', list, () =>
      service.api.GET(`${path}/fetches`, { params: { ...paramsOf(name, { partner }), query } }),
    );
    if (json) process.stdout.write(`${printableJson(fetches)}\n`);
    else if (fetches.count === 0) process.stdout.write('The source has not been fetched.\n');
    else process.stdout.write(fetchTable(fetches.items) + moreText(fetches.next_cursor));
    return exitCodes.done;
  };
}

const path = '/partners/{partner_name}/sources/{source_name}';
const paramsOf = (source_name: string, { partner: partner_name }: PartnerOption) => ({
  path: { partner_name, source_name },
});
const aSource = ['a source', 'source_name'] as const;

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
