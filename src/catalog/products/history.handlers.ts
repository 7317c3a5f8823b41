import type { components } from '../../../generated/openapi';
import type { Reads } from '../../base/db/reads';
import { ageSecondsMaxOf, cacheHeaders, representationOf } from '../../http/reply/caching';
import { defaulted, type OperationsOf } from '../../http/contract/contract';
import { exactNumber } from '../../base/exact-json';
import { formatId } from '../../base/ids';
import { toListBody } from '../../base/pagination';
import { formatMicros, type Micros } from './point-in-time';
import { listVersions, parseVersionCursor, type ProductVersion } from './product-history';
import type { PricePeriod } from './prices.repository';
import { readPrices, type ProductPrices } from './product-prices';

export function historyOperations(reads: Reads): OperationsOf<'listProductHistory' | 'getProductPrices'> {
  return {
    listProductHistory: {
      check({ query }) {
        if (query.cursor !== undefined) parseVersionCursor(query.cursor);
      },
      async handle({ path, query, headers, caller, reply }) {
        const asked = {
          id: path.product_id,
          scope: caller.partnerName,
          ageSecondsMax: ageSecondsMaxOf(headers),
        };
        const page = { cursor: query.cursor, limit: defaulted(query.limit) };
        const versions = representationOf(toListBody(await listVersions(reads, asked, page), versionBody));
        return reply(200, versions.body, cacheHeaders(versions));
      },
    },

    getProductPrices: {
      async handle({ path, query, headers, caller, reply }) {
        const id = path.product_id;
        const asked = { id, scope: caller.partnerName, ageSecondsMax: ageSecondsMaxOf(headers) };
        const days = defaulted(query.days);
        const prices = representationOf(pricesBody(id, days, await readPrices(reads, asked, days)));
        return reply(200, prices.body, cacheHeaders(prices));
      },
    },
  };
}

function versionBody(version: ProductVersion): components['schemas']['ProductVersion'] {
  return {
    valid_from: formatMicros(version.valid_from),
    valid_to: timeOf(version.valid_to),
    feed_id: formatId('FD', version.feed_id),
    job_id: version.job_id === null ? null : formatId('JV', version.job_id),
    run: version.run,
    is_external: version.isExternal,
    changes: version.changes,
  };
}

function pricesBody(
  id: string,
  days: number,
  { current, lowestPrice, observedFrom, isComplete, changes }: ProductPrices,
): components['schemas']['ProductPrices'] {
  return {
    product_id: id,
    days,
    price: amountOf(current?.price ?? null),
    currency: current?.currency ?? null,
    price_from: timeOf(current?.from ?? null),
    lowest_price: amountOf(lowestPrice),
    observed_from: formatMicros(observedFrom),
    is_complete: isComplete,
    changes: changes.map(periodBody),
  };
}

function periodBody(period: PricePeriod): components['schemas']['PricePeriod'] {
  return {
    price: amountOf(period.price),
    currency: period.currency,
    is_withdrawn: period.isWithdrawn,
    valid_from: formatMicros(period.from),
    valid_to: timeOf(period.to),
  };
}

const amountOf = (price: string | null) => (price === null ? null : exactNumber(price));

const timeOf = (time: Micros | null) => (time === null ? null : formatMicros(time));
