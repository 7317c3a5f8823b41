import { claimIdempotencyKeysSql } from './claim-idempotency-keys';
import { countFeedsSql, countProductsSql, noteCompletedRunSql, recountPartnerSql } from './count-partners';
import { ignoreRowSql, queueDeliveriesSql, queueEventsSql } from './earlier-releases';
import { keepRunSql, showRunSql } from './keep-run';
import { keepVersionsSql } from './keep-versions';
import { logManualChangeSql, logManualTruncationSql } from './log-manual-changes';
import { logSearchChangeSql, logSearchTruncationSql } from './log-search-changes';
import { noteChangedOrderItemsSql, noteChangedOrdersSql, stampOrderSql } from './note-changed-orders';
import { noteProductHorizonSql } from './note-product-horizon';
import { productsToOrderSql } from './products-to-order';
import { publishEventsFunctionSql } from './publish-events';
import { searchWordsSql } from './search-words';

/**
 * The functions and trigger functions of the schema by name, each as the statements that create it or replace it.
 *
 * To change one, edit it here, and add a migration that creates it (`migrations/create-functions.ts`).
 */
export const schemaFunctions: Readonly<Record<string, string>> = {
  claim_idempotency_keys: claimIdempotencyKeysSql,
  count_feeds: countFeedsSql,
  count_products: countProductsSql,
  ignore_row: ignoreRowSql,
  keep_run: keepRunSql,
  keep_versions: keepVersionsSql,
  log_manual_change: logManualChangeSql,
  log_manual_truncation: logManualTruncationSql,
  log_search_change: logSearchChangeSql,
  log_search_truncation: logSearchTruncationSql,
  note_changed_order_items: noteChangedOrderItemsSql,
  note_changed_orders: noteChangedOrdersSql,
  note_completed_run: noteCompletedRunSql,
  note_product_horizon: noteProductHorizonSql,
  products_to_order: productsToOrderSql,
  publish_events: publishEventsFunctionSql,
  queue_deliveries: queueDeliveriesSql,
  queue_events: queueEventsSql,
  recount_partner: recountPartnerSql,
  search_words: searchWordsSql,
  show_run: showRunSql,
  stamp_order: stampOrderSql,
};
