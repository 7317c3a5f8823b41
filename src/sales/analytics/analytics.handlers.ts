import type { Knex } from 'knex';
import type { Reads } from '../../base/db/reads';
import { inSnapshot } from '../../base/db/transaction';
import { ageSecondsMaxOf } from '../../http/reply/caching';
import { defaulted, type OperationsOf } from '../../http/contract/contract';
import type { Caller } from '../../base/caller';
import { revenueShare, salesByPartner, salesOverTime, type SalesFilter } from './analytics.repository';

export function analyticsOperations(
  reads: Reads,
): OperationsOf<'getSalesByPartner' | 'getSalesOverTime' | 'getRevenueShare'> {
  /** Reads figures from one snapshot, as recent as the request requires. */
  const readFigures = <T>(
    headers: { 'Cache-Control'?: string },
    read: (trx: Knex.Transaction) => Promise<T>,
  ): Promise<T> => reads(ageSecondsMaxOf(headers), (db) => inSnapshot(db, read));

  return {
    getSalesByPartner: {
      async handle({ query, headers, caller, reply }) {
        return reply(200, {
          analytics_type: 'sales_by_partner',
          results: await readFigures(headers, (trx) => salesByPartner(trx, filter(caller, query))),
        });
      },
    },

    getSalesOverTime: {
      async handle({ query, headers, caller, reply }) {
        const grain = defaulted(query.grain);
        return reply(200, {
          analytics_type: 'sales_over_time',
          grain,
          results: await readFigures(headers, (trx) => salesOverTime(trx, grain, filter(caller, query))),
        });
      },
    },

    getRevenueShare: {
      async handle({ query, headers, caller, reply }) {
        const shares = await readFigures(headers, (trx) => revenueShare(trx, filter(caller, query)));
        return reply(200, {
          analytics_type: 'revenue_share',
          results: shares.map((share) => ({ ...share, revenue_pct: Number(share.revenue_pct) })),
        });
      },
    },
  };
}

function filter({ partnerName }: Caller, { currency }: { currency?: string }): SalesFilter {
  return { scope: partnerName, currency };
}
