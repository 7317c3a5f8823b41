import type { Database } from '../db/database';
import { inSnapshot } from '../db/transaction';
import { defaulted, type Handlers } from '../http/contract';
import type { Caller } from '../keys/caller';
import { revenueShare, salesByPartner, salesOverTime, type SalesFilter } from './analytics.repository';

/** The operations of the sales figures. */
export function analyticsHandlers(
  db: Database,
): Pick<Handlers, 'getSalesByPartner' | 'getSalesOverTime' | 'getRevenueShare'> {
  return {
    async getSalesByPartner({ query, caller, reply }) {
      return reply(200, {
        analytics_type: 'sales_by_partner',
        results: await inSnapshot(db, (trx) => salesByPartner(trx, filter(caller, query))),
      });
    },

    async getSalesOverTime({ query, caller, reply }) {
      const grain = defaulted(query.grain);
      return reply(200, {
        analytics_type: 'sales_over_time',
        grain,
        results: await inSnapshot(db, (trx) => salesOverTime(trx, grain, filter(caller, query))),
      });
    },

    async getRevenueShare({ query, caller, reply }) {
      const shares = await inSnapshot(db, (trx) => revenueShare(trx, filter(caller, query)));
      return reply(200, {
        analytics_type: 'revenue_share',
        results: shares.map((share) => ({ ...share, revenue_pct: Number(share.revenue_pct) })),
      });
    },
  };
}

function filter({ partnerName }: Caller, { currency }: { currency?: string }): SalesFilter {
  return { scope: partnerName, currency };
}
