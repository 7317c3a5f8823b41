import type { components } from '../../../generated/openapi';
import { formatId } from '../../base/ids';
import type { FetchRow } from './fetches.repository';
import { failingAfter } from '../../catalog/partners/attention';
import type { SourceRow } from './sources.repository';

export function sourceBody(source: SourceRow): components['schemas']['Source'] {
  const { definition, failures_in_a_row } = source;
  return {
    source_name: source.source_name,
    partner_name: source.partner_name,
    definition,
    state: failures_in_a_row >= failingAfter ? 'failing' : definition.is_enabled ? 'active' : 'disabled',
    failures_in_a_row,
    next_fetch_at: source.next_slot_at?.toISOString() ?? null,
    last_feed_id: feedIdOf(source.last_feed_id),
    created_at: source.created_at.toISOString(),
    updated_at: source.updated_at.toISOString(),
  };
}

export function fetchBody(fetch: FetchRow): components['schemas']['SourceFetch'] {
  return {
    fetch: fetch.fetch_number,
    status: fetch.status,
    slot_at: fetch.slot_at?.toISOString() ?? null,
    requested_by: fetch.requested_by,
    requested_at: fetch.requested_at.toISOString(),
    started_at: fetch.started_at?.toISOString() ?? null,
    finished_at: fetch.finished_at?.toISOString() ?? null,
    attempts: fetch.attempts,
    next_attempt_at: fetch.status === 'queued' ? fetch.next_attempt_at.toISOString() : null,
    http_status: fetch.http_status,
    feed_id: feedIdOf(fetch.feed_id),
    failure_reason: fetch.failure_reason,
  };
}

const feedIdOf = (feedId: number | null) => (feedId === null ? null : formatId('FD', feedId));
