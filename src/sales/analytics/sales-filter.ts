import type { PartnerScope } from '../../base/caller';
import { allOf, raw, sql, type Sql } from '../../base/db/sql';
import { createdIn, dayIn, type DayRange } from '../../base/db/day-range';

/** The orders that count. */
export interface SalesFilter extends DayRange {
  scope: PartnerScope;
  /** Absent: all partners of the scope. */
  partnerName?: string;
  /** Absent: all currencies. */
  currency?: string;
}

/** Whether only orders of one partner count. */
export const isOfOnePartner = ({ scope, partnerName }: SalesFilter): boolean =>
  scope !== null || partnerName !== undefined;

/** Whether only orders of a range of days count. */
export const isOfRange = ({ from, to }: DayRange): boolean => from !== undefined || to !== undefined;

/** The condition on the partner, of orders and of sums by partner. */
export const isOfPartner = ({ scope, partnerName }: SalesFilter): Sql =>
  allOf(
    [scope ?? undefined, partnerName]
      .filter((name) => name !== undefined)
      .map((name) => sql`partner_name = ${name}`),
  );

/** The condition on the currency, of orders and of sums. */
export const isInCurrency = ({ currency }: SalesFilter): Sql =>
  currency === undefined ? raw('true') : sql`currency = ${currency}`;

/** The condition on orders. */
export const isCountedOrder = (filter: SalesFilter): Sql =>
  allOf([isOfPartner(filter), isInCurrency(filter), createdIn(filter)]);

/** The condition on sums by partner and day. */
export const isCountedDay = (filter: SalesFilter): Sql =>
  allOf([isOfPartner(filter), isInCurrency(filter), dayIn(filter, raw('sales_day'))]);
