import { rangeFaults } from '../base/db/day-range';
import type { Reads } from '../base/db/reads';
import { inSnapshot } from '../base/db/transaction';
import { formatId } from '../base/ids';
import { storedPartnerName } from '../catalog/partners/stored-partner-name';
import { defaulted, type OperationsOf } from '../http/contract/contract';
import { ageSecondsMaxOf } from '../http/reply/caching';
import { countSkippedRows } from './skipped-rows.repository';

/** The operation on skipped rows of all feeds. */
export function skippedRowsOperations(reads: Reads): OperationsOf<'getSkippedRows'> {
  return {
    getSkippedRows: {
      rule: rangeFaults,
      async handle({ query, headers, caller, reply }) {
        const { from, to } = periodOf(query, new Date());
        const figures = await reads(ageSecondsMaxOf(headers), (db) =>
          inSnapshot(db, async (trx) =>
            countSkippedRows(trx, {
              from,
              to,
              scope: caller.partnerName,
              partnerName: query.partner_name && (await storedPartnerName(trx, query.partner_name)),
              limit: defaulted(query.limit),
            }),
          ),
        );
        const { feeds, ...summary } = figures.total;
        return reply(200, {
          analytics_type: 'skipped_rows',
          from: dayText(from),
          to: dayText(to),
          feeds,
          summary,
          partners: figures.partners,
          results: figures.codes.map(({ last_feed_id: feedId, ...code }) => ({
            ...code,
            last_feed_id: formatId('FD', feedId),
          })),
        });
      },
    },
  };
}

const dayMilliseconds = 24 * 3600 * 1000;

/** Days before `to`, if the request has no `from`. */
const daysUsual = 30;

/** The first and the last day that a response can show. */
const firstDay = Date.parse('0000-01-01');
const lastDay = Date.parse('9999-12-31');

/**
 * Returns the period of a request. Without `to` it ends with today, or with the day of `from` if that is later; without `from` it
 * begins 30 days before.
 */
function periodOf(query: { from?: string; to?: string }, now: Date): { from: Date; to: Date } {
  const today = dayText(now);
  const lastOfPeriod = Date.parse(query.from !== undefined && query.from > today ? query.from : today);
  const to =
    query.to === undefined ? Math.min(lastDay, lastOfPeriod + dayMilliseconds) : Date.parse(query.to);
  const from =
    query.from === undefined ? Math.max(firstDay, to - daysUsual * dayMilliseconds) : Date.parse(query.from);
  return { from: new Date(from), to: new Date(to) };
}

const dayText = (time: Date): string => time.toISOString().slice(0, 10);
