import { RequestError, type Schemas } from '../api';
import { readerTimeZone } from '../locale';
import type { SourcePath } from './sources';

/** The service's placeholder for a secret; sent back, it keeps the stored one. */
export const secretMask = '********';

/** A source as the fields of its form. */
export interface SourceDraft {
  partner: string;
  name: string;
  url: string;
  /** Empty: the partner's default one. */
  format: string;
  mode: Schemas['LoadMode'];
  /** Empty: none is named. */
  collection: string;
  /** Empty: the usual limit. */
  percent: string;
  run: boolean;
  isScheduled: boolean;
  cron: string;
  timeZone: string;
  /** Days; empty: the default of the service. */
  staleDays: string;
  headers: { name: string; value: string }[];
  /** Empty: no authentication. */
  username: string;
  password: string;
  isEnabled: boolean;
}

export function sourceDraftOf(partner: string, source?: Schemas['Source']): SourceDraft {
  const { definition } = source ?? {};
  const { schedule, basic_auth: auth } = definition ?? {};
  return {
    partner,
    name: source?.source_name ?? '',
    url: definition?.url ?? '',
    format: definition?.format ?? '',
    mode: definition?.mode ?? 'upsert',
    collection: definition?.collection ?? '',
    percent: definition?.max_withdrawn_percent?.toString() ?? '',
    run: definition?.run_after_fetch ?? true,
    isScheduled: source === undefined || Boolean(schedule),
    cron: schedule?.cron ?? '30 5 * * *',
    timeZone: schedule?.time_zone ?? readerTimeZone,
    staleDays: definition?.stale_after_days?.toString() ?? '',
    headers: Object.entries(definition?.headers ?? {}).map(([name, value]) => ({ name, value })),
    username: auth?.username ?? '',
    password: auth?.password ?? '',
    isEnabled: definition?.is_enabled ?? true,
  };
}

export const pathOf = ({ partner, name }: SourceDraft): SourcePath => ({
  partner_name: partner.trim(),
  source_name: name.trim(),
});

/** Returns the definition in the form. @param stored - members that the form does not have stay unchanged */
export function definitionOf(
  draft: SourceDraft,
  stored?: Schemas['SourceDefinition'],
): Schemas['SourceDefinition'] {
  const { mode, percent, run, cron, timeZone, username, password } = draft;
  const headers = draft.headers.filter(({ name }) => name.trim() !== '');
  return {
    ...stored,
    url: draft.url.trim(),
    format: draft.format || null,
    mode,
    collection: draft.collection.trim() || null,
    max_withdrawn_percent: mode === 'replace' && percent.trim() !== '' ? Number(percent) : null,
    run_after_fetch: run,
    schedule: draft.isScheduled ? { cron: cron.trim(), time_zone: timeZone.trim() } : null,
    stale_after_days: draft.staleDays.trim() === '' ? null : Number(draft.staleDays),
    headers: Object.fromEntries(headers.map(({ name, value }) => [name.trim(), value])),
    basic_auth: username ? { username, password } : null,
    is_enabled: draft.isEnabled,
  };
}

/** Whether the limit of withdrawals is empty or a percentage: other texts cannot be sent. */
export const isPercentage = ({ percent }: SourceDraft) =>
  percent.trim() === '' || (Number(percent) >= 0 && Number(percent) <= 100);

/** Whether stored secrets are lost: they belong to the origin of the address, which has changed. */
export function losesSecrets(draft: SourceDraft, stored?: Schemas['SourceDefinition']): boolean {
  const isKept = draft.password === secretMask || draft.headers.some(({ value }) => value === secretMask);
  return isKept && stored !== undefined && originOf(draft.url) !== originOf(stored.url);
}

const originOf = (url: string) => (URL.canParse(url) ? new URL(url).origin : url);

/** Returns the faults in a refusal, by JSON pointers into the definition: `/schedule/cron`. */
export function faultsByPointer(error: Error | null): Record<string, string> {
  if (!(error instanceof RequestError)) return {};
  const { detail } = error.body as { detail?: { pointer?: string; msg?: string }[] | string };
  if (!Array.isArray(detail)) return {};
  return Object.fromEntries(detail.map(({ pointer = '', msg = '' }) => [pointer, msg]));
}
