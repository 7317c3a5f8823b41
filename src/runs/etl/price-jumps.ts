import { sql, type Sql } from '../../base/db/sql';
import { rowIssue } from '../../feed-format/rows/row-issues';
import { PriceJumpLimit } from './run-result';
import type { RunStats } from './run-stats';
import type { FeedToRun } from './raw-file';

/** Fewer do not indicate a wrong decimal separator or currency. */
const jumpsMin = 10;
const jumpPercentMin = 5;

/**
 * SQL that tells whether the price of a product jumps; null where it does not change, or there is nothing to compare: another
 * currency, no price or 0 before, none after, or a withdrawn product.
 */
export const priceJumpSql = (price: Sql, currency: Sql) => sql`
  case when products.withdrawn_at is null and products.price > 0 and ${price} <> products.price
      and ${currency} is not distinct from products.currency
    then ${price} >= 5 * products.price or 5 * ${price} <= products.price end`;

/** Tells whether so large a share of prices jumps that a run warns of them. */
export const areMany = ({ changed, jumped }: RunStats['prices']): boolean =>
  jumped >= jumpsMin && (jumped * 100) / changed >= jumpPercentMin;

/**
 * Warns once if many prices jump in a run, and checks the limit of the upload.
 * @throws PriceJumpLimit if more prices jump than it allows
 */
export function checkPriceJumps(
  { maxPriceJumpPercent }: Pick<FeedToRun, 'maxPriceJumpPercent'>,
  { issues, headerPlace, prices: { changed, jumped } }: RunStats,
): void {
  if (jumped === 0) return;
  const percent = (jumped * 100) / changed;
  // The comparison may have been repeated.
  const isReported = issues.countsByCode.some(({ code }) => code === 'price_jump');
  if (areMany({ changed, jumped }) && !isReported) {
    issues.add(
      rowIssue(headerPlace, null, { code: 'price_jump', field: 'price', value: `${jumped} of ${changed}` }),
    );
  }
  if (maxPriceJumpPercent === null || percent <= maxPriceJumpPercent) return;
  throw new PriceJumpLimit(
    `${jumped} of ${changed} changed prices rose or fell by a factor of five or more: more than the ` +
      `${maxPriceJumpPercent} % that max_price_jump_percent allows.`,
    jumped,
  );
}
