import type { Knex } from 'knex';
import type { Database } from '../../base/db/database';
import type { Reads } from '../../base/db/reads';
import { inSnapshot } from '../../base/db/transaction';
import { ageSecondsMaxOf } from '../../http/reply/caching';
import { defaulted, type OperationsOf } from '../../http/contract/contract';
import type { Caller } from '../../base/caller';
import { storedPartnerName } from '../../catalog/partners/stored-partner-name';
import { rangeFaults, type DayRange } from '../../base/db/day-range';
import { revenueShare, salesByPartner, salesOverTime } from './analytics.repository';
import { nameProducts } from './product-names';
import { salesByProduct } from './product-sales.repository';
import type { SalesFilter } from './sales-filter';

export function analyticsOperations(
  reads: Reads,
): OperationsOf<'getSalesByPartner' | 'getSalesOverTime' | 'getRevenueShare' | 'getSalesByProduct'> {
  /** Reads figures from one snapshot, as recent as the request requires. */
  const readFigures = <T>(
    headers: { 'Cache-Control'?: string },
    read: (trx: Knex.Transaction) => Promise<T>,
  ): Promise<T> => reads(ageSecondsMaxOf(headers), (db) => inSnapshot(db, read));

  return {
    getSalesByPartner: {
      rule: rangeFaults,
      async handle({ query, headers, caller, reply }) {
        return reply(200, {
          analytics_type: 'sales_by_partner',
          results: await readFigures(headers, (trx) => salesByPartner(trx, filter(caller, query))),
        });
      },
    },

    getSalesOverTime: {
      rule: rangeFaults,
      async handle({ query, headers, caller, reply }) {
        const grain = defaulted(query.grain);
        return reply(200, {
          analytics_type: 'sales_over_time',
          grain,
          results: await readFigures(headers, async (trx) =>
            salesOverTime(trx, grain, await partnerFilter(trx, caller, query)),
          ),
        });
      },
    },

    getRevenueShare: {
      rule: rangeFaults,
      async handle({ query, headers, caller, reply }) {
        const shares = await readFigures(headers, (trx) => revenueShare(trx, filter(caller, query)));
        return reply(200, {
          analytics_type: 'revenue_share',
          results: shares.map((share) => ({ ...share, revenue_pct: Number(share.revenue_pct) })),
        });
      },
    },

    getSalesByProduct: {
      rule: rangeFaults,
      async handle({ query, headers, caller, reply }) {
        const limit = defaulted(query.limit);
        const results = await readFigures(headers, async (trx) => {
          const sales = await salesByProduct(trx, await partnerFilter(trx, caller, query), limit);
          return nameProducts(trx, sales, caller.partnerName);
        });
        return reply(200, { analytics_type: 'sales_by_product', results });
      },
    },
  };
}

interface SentFilter extends DayRange {
  currency?: string;
  partner_name?: string;
}

const filter = ({ partnerName }: Caller, { currency, from, to }: SentFilter): SalesFilter => ({
  scope: partnerName,
  currency,
  from,
  to,
});

async function partnerFilter(db: Database, caller: Caller, query: SentFilter): Promise<SalesFilter> {
  const { partner_name: name } = query;
  return { ...filter(caller, query), partnerName: name && (await storedPartnerName(db, name)) };
}
