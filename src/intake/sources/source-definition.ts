import type { components } from '../../../generated/openapi';
import type { ShapeError } from '../../base/errors';
import { scheduleFaults, type ScheduleFault } from './schedule';

export type SourceDefinition = components['schemas']['SourceDefinition'];

/** Placeholder for a secret in a definition that is shown or sent. */
export const mask = '********';

/** Secrets of a source: values of headers by name, in lower case, and the password. */
export interface SourceSecrets {
  headers: Record<string, string>;
  password?: string;
}

/** Headers that the service or the connection sets. */
const ownHeaders =
  /^(?:accept-encoding|connection|content-length|content-type|expect|host|if-.*|keep-alive|proxy-.*|range|te|trailer|transfer-encoding|upgrade|user-agent)$/;
const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

const scheduleTexts: Record<ScheduleFault, { field: 'cron' | 'time_zone'; msg: string }> = {
  schedule_cron: {
    field: 'cron',
    msg: 'Input should be five fields of cron: minute, hour, day, month, day of week',
  },
  schedule_never: { field: 'cron', msg: 'Input should match a time in the future' },
  schedule_too_frequent: {
    field: 'cron',
    msg: 'Input should leave at least 15 minutes between its times',
  },
  schedule_time_zone: { field: 'time_zone', msg: 'Input should be the name of an IANA time zone' },
};

/**
 * Finds the faults of a definition that the document's schema cannot express. Ignores parts of the wrong shape, which the schema
 * reports.
 * @param body - as sent, of any shape
 */
export function sourceFaults(body: unknown): ShapeError[] {
  const { url, mode, max_withdrawn_percent: percent, schedule, headers, basic_auth: auth } = objectOf(body);
  const faults: ShapeError[] = [];
  const add = (type: string, loc: (string | number)[], msg: string) =>
    faults.push({ type, loc: ['body', ...loc], msg });
  if (typeof url === 'string' && url !== '' && !isSourceUrl(url))
    add(
      'source_url',
      ['url'],
      'Input should be an http or https URL without user name, password and fragment',
    );
  if (typeof percent === 'number' && mode !== 'replace')
    add(
      'not_replace',
      ['max_withdrawn_percent'],
      "Input should be absent unless the mode of the feed is 'replace'",
    );
  const { cron, time_zone: zone = 'UTC' } = objectOf(schedule);
  if (typeof cron === 'string' && typeof zone === 'string') {
    for (const fault of scheduleFaults({ cron, time_zone: zone })) {
      const { field, msg } = scheduleTexts[fault];
      add(fault, ['schedule', field], msg);
    }
  }
  const names = new Set<string>();
  for (const [name, value] of Object.entries(objectOf(headers))) {
    const lower = name.toLowerCase();
    const isTwice = names.has(lower) || (lower === 'authorization' && Boolean(auth));
    if (!headerName.test(name) || ownHeaders.test(lower) || isTwice)
      add(
        'header_name',
        ['headers', name],
        'Name should be a valid name of a header, listed once, that the service does not set',
      );
    names.add(lower);
    if (typeof value === 'string' && !headerValue.test(value))
      add(
        'header_value',
        ['headers', name],
        'Value should have characters of ISO 8859-1 only, without control characters',
      );
  }
  for (const member of ['username', 'password']) {
    const text = objectOf(auth)[member];
    if (typeof text === 'string' && text.includes('\0'))
      add('string_nul', ['basic_auth', member], 'String should not contain a NUL character');
  }
  return faults;
}

function isSourceUrl(text: string): boolean {
  if (text.includes('\0') || !URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return ['http:', 'https:'].includes(protocol) && !username && !password && !hash;
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

/** Returns the origin that the secrets of a definition belong to; `null`, as for opaque URLs, if the URL is malformed. */
export const originOf = ({ url }: Pick<SourceDefinition, 'url'>): string =>
  URL.canParse(url) ? new URL(url).origin : 'null';

/** Fills in the defaults of a definition. */
export function withDefaults(
  sent: Partial<SourceDefinition> & Pick<SourceDefinition, 'url'>,
): SourceDefinition {
  const { url } = sent;
  const schedule: { cron: string; time_zone?: string } | null | undefined = sent.schedule;
  return {
    url,
    format: sent.format ?? null,
    mode: sent.mode ?? 'upsert',
    collection: sent.collection ?? null,
    max_withdrawn_percent: sent.max_withdrawn_percent ?? null,
    run_after_fetch: sent.run_after_fetch ?? true,
    schedule: schedule ? { cron: schedule.cron, time_zone: schedule.time_zone ?? 'UTC' } : null,
    headers: sent.headers ?? {},
    basic_auth: sent.basic_auth ?? null,
    is_enabled: sent.is_enabled ?? true,
    stale_after_days: sent.stale_after_days ?? null,
  };
}

/**
 * Separates a definition from its secrets. A masked secret takes the value of `kept`; without one it is removed.
 * @returns the definition with masks, and the secrets; null without any
 */
export function splitSecrets(
  sent: SourceDefinition,
  kept: SourceSecrets,
): { definition: SourceDefinition; secrets: SourceSecrets | null } {
  const values = Object.entries(sent.headers ?? {})
    .map(
      ([name, value]) =>
        [name.toLowerCase(), value === mask ? kept.headers[name.toLowerCase()] : value] as const,
    )
    .filter((entry): entry is [string, string] => entry[1] !== undefined);
  const password = sent.basic_auth?.password === mask ? kept.password : sent.basic_auth?.password;
  const definition = {
    ...sent,
    headers: Object.fromEntries(values.map(([name]) => [name, mask])),
    basic_auth:
      sent.basic_auth && password !== undefined
        ? { username: sent.basic_auth.username, password: mask }
        : null,
  };
  const hasSecrets = values.length > 0 || password !== undefined;
  return { definition, secrets: hasSecrets ? { headers: Object.fromEntries(values), password } : null };
}

/** Tells whether a definition refers to a stored secret. */
export function hasMask({ headers = {}, basic_auth: auth }: SourceDefinition): boolean {
  return auth?.password === mask || Object.values(headers).includes(mask);
}
