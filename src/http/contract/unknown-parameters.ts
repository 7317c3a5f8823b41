import type { ShapeError } from '../../base/errors';
import type { Reply } from './contract';
import { parsePrefer } from './prefer';
import type { Parameter } from '../body/query';
import { toWellFormed } from '../body/well-formed';

/** Maximum number of names in `Ignored-Parameters`. */
const shownMax = 10;

/** The query parameters of a request that its operation does not have. */
export interface UnknownParameters {
  /** By name, as sent; names and values are well-formed. */
  values: [name: string, value: unknown][];
  /** Whether the client prefers an error: `handling=strict` (RFC 7240, section 4.4). */
  isStrict: boolean;
}

/** Finds the unknown parameters. An empty name, as in `?=1`, does not count. @returns undefined if there are none to report */
export function findUnknownParameters(
  declared: readonly Parameter[],
  query: object,
  prefer: string | undefined,
): UnknownParameters | undefined {
  const isKnown = (sent: string) =>
    sent === '' || declared.some(({ in: place, name }) => place === 'query' && name === sent);
  const unknown = Object.entries(query).filter(([name]) => !isKnown(name));
  const isStrict = prefer !== undefined && parsePrefer(prefer).isStrict;
  if (unknown.length === 0 && !isStrict) return undefined;
  return { values: unknown.map((entry) => toWellFormed(entry, []).value), isStrict };
}

/** Returns an error for each unknown parameter if the client prefers that. */
export function strictErrors({ values, isStrict }: UnknownParameters): ShapeError[] {
  if (!isStrict) return [];
  const msg = 'Extra inputs are not permitted';
  return values.map(([name, input]) => ({ type: 'extra_forbidden', loc: ['query', name], msg, input }));
}

/** Adds `Ignored-Parameters` to a 2xx, and `handling=strict` to the applied preferences of a 2xx or 422. */
export function withParameterHeaders(reply: Reply, { values, isStrict }: UnknownParameters): Reply {
  const isSuccess = reply.status >= 200 && reply.status < 300;
  const headers = { ...reply.headers };
  if (isSuccess && values.length > 0) {
    const names = values.slice(0, shownMax).map(([name]) => encodeURIComponent(name));
    headers['Ignored-Parameters'] = names.join(', ');
  }
  if (isStrict && (isSuccess || reply.status === 422)) {
    const applied = headers['Preference-Applied'] as string | undefined;
    headers['Preference-Applied'] = applied ? `${applied}, handling=strict` : 'handling=strict';
  }
  return { ...reply, headers };
}
