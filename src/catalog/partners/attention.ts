import type { components } from '../../../generated/openapi';

export type AttentionReason = components['schemas']['KnownAttentionReason'];

/** The reasons, worst first: the severity of a reason is its position, from 1. */
export const attentionReasons = [
  'last_run_failed',
  'withdrawals_blocked',
  'price_jump',
  'no_prices',
  'source_failing',
  'much_smaller',
  'many_skipped',
  'more_skipped',
  'stale',
  'never_run',
] as const satisfies readonly AttentionReason[];

/** Number of consecutive failed attempts after which a source is `failing`. */
export const failingAfter = 5;

/** A reason in a response. */
export interface Attention {
  reason: string;
  /** ISO 8601, UTC. */
  since: string;
  count: number;
}

/** A reason that began or ended, in an event. */
export type AttentionChange = components['schemas']['AttentionChange'];

/** The position of a partner in the order by attention. */
export interface AttentionPosition {
  /** The worst reason; null without one. */
  worst: { severity: number; since: string } | null;
  partnerName: string;
}

/** Formats a position as a cursor: `reason/since/name`, or `//name`. */
export function attentionCursor({ worst, partnerName }: AttentionPosition): string {
  return worst ? `${attentionReasons[worst.severity - 1]}/${worst.since}/${partnerName}` : `//${partnerName}`;
}

const cursorPattern =
  /^(?:(?<reason>[a-z_]+)\/(?<since>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)|\/)\/(?<name>[^\0]*)$/su;

/** Parses a cursor. @returns undefined for a malformed text */
export function parseAttentionCursor(cursor: string): AttentionPosition | undefined {
  const { reason, since, name } = cursorPattern.exec(cursor)?.groups ?? {};
  if (name === undefined) return undefined;
  if (reason === undefined) return { worst: null, partnerName: name };
  const severity = attentionReasons.findIndex((known) => known === reason) + 1;
  if (severity === 0 || !isTime(since!)) return undefined;
  return { worst: { severity, since: since! }, partnerName: name };
}

/** Tells whether the text is a valid time: `Date` converts a date that does not exist to another one. */
function isTime(text: string): boolean {
  const time = new Date(text);
  const isDate = !Number.isNaN(time.getTime()) && time.toISOString().slice(0, 19) === text.slice(0, 19);
  return isDate && time.getUTCFullYear() > 0;
}
