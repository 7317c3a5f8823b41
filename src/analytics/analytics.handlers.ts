import type { Database } from '../db/database';
import { defaulted, type Handlers } from '../http/contract';
import { revenueShare, salesByPartner, salesOverTime } from './analytics.repository';

/** The operations of the sales figures. */
export function analyticsHandlers(
  db: Database,
): Pick<Handlers, 'getSalesByPartner' | 'getSalesOverTime' | 'getRevenueShare'> {
  return {
    async getSalesByPartner({ query, reply }) {
      return reply(200, {
        analytics_type: 'sales_by_partner',
        results: await salesByPartner(db, query.currency),
      });
    },

    async getSalesOverTime({ query, reply }) {
      const grain = defaulted(query.grain);
      return reply(200, {
        analytics_type: 'sales_over_time',
        grain,
        results: await salesOverTime(db, grain, query.currency),
      });
    },

    async getRevenueShare({ query, reply }) {
      const shares = await revenueShare(db, query.currency);
      return reply(200, {
        analytics_type: 'revenue_share',
        results: shares.map((share) => ({ ...share, revenue_pct: Number(share.revenue_pct) })),
      });
    },
  };
}
