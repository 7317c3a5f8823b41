import type { Knex } from 'knex';
import * as createCatalog from './20261121090000_create_catalog';
import * as addApiKeys from './20261121220000_add_api_keys';
import * as createIdempotencyKeys from './20261121230000_create_idempotency_keys';
import * as indexCatalog from './20261122010000_index_catalog';
import * as rollUpSales from './20261122020000_roll_up_sales';
import * as keepRecordDigests from './20261122030000_keep_record_digests';
import * as trustTheFeedOfAProduct from './20261122040000_trust_the_feed_of_a_product';
import * as createProductHorizons from './20261122050000_create_product_horizons';
import * as queueRuns from './20261122060000_queue_runs';
import * as showProgress from './20261122070000_show_progress';
import * as createWebhookEndpoints from './20261122080000_create_webhook_endpoints';
import * as keepCompatibility from './20261122090000_keep_compatibility';
import * as noteChangedCreationTimes from './20261122100000_note_changed_creation_times';
import * as correctSales from './20261122100100_correct_sales';
import * as retireRecordDigests from './20261122110000_retire_record_digests';
import * as logManualChanges from './20261122110100_log_manual_changes';
import * as createWebhookDeliveries from './20261122120000_create_webhook_deliveries';
import * as queueRunsInTheirJobs from './20261122120100_queue_runs_in_their_jobs';
import * as limitApiKeys from './20261122130000_limit_api_keys';
import * as keepWebhookOutcomes from './20261122230000_keep_webhook_outcomes';
import * as prepareProducts from './20261123010000_prepare_products';
import * as searchProducts from './20261123020000_search_products';
import * as readPagesByIndex from './20261123030000_read_pages_by_index';
import * as listFeeds from './20261123050000_list_feeds';
import * as countPartners from './20261123080000_count_partners';
import * as withdrawProducts from './20261123090000_withdraw_products';
import * as loadInModes from './20261123090100_load_in_modes';
import * as retainData from './20261123100000_retain_data';
import * as keepHistory from './20261123110000_keep_history';
import * as readHistory from './20261123120000_read_history';
import * as keepSources from './20261123120100_keep_sources';
import * as revertRuns from './20261123130000_revert_runs';
import * as keepFormats from './20261123140000_keep_formats';
import * as fetchFeeds from './20261123160000_fetch_feeds';
import * as traceRuns from './20261123170000_trace_runs';
import * as noticeStalePartners from './20261124010000_notice_stale_partners';
import * as orderByStatement from './20261124090000_order_by_statement';
import * as claimIdempotencyKeys from './20261124090100_claim_idempotency_keys';
import * as nameCollections from './20261126010000_name_collections';
import * as limitPriceJumps from './20261126020000_limit_price_jumps';
import * as cancelWaitingRuns from './20261126050000_cancel_waiting_runs';
import * as cancelReverts from './20261126060000_cancel_reverts';
import * as keepAttention from './20261126070000_keep_attention';
import * as readPagesByPlainStatements from './20261127010000_read_pages_by_plain_statements';
import * as createFunctions from './20261127030000_create_functions';
import * as keepRunsFromTheirRequest from './20261127040000_keep_runs_from_their_request';
import * as nameWebhooks from './20261127050000_name_webhooks';
import * as indexCompletedLoads from './20261128010000_index_completed_loads';
import * as rollUpSalesOfProducts from './20261128020000_roll_up_sales_of_products';
import * as identifyDatabase from './20261129010000_identify_database';
import type { FunctionDigests } from './create-functions';

/** A version of the service: `info.version` of the document. */
export type Version = `${number}.${number}.${number}`;

/** A migration, with the digests of the functions that it creates from `src/base/db/functions`. */
type Migration = Knex.Migration & { functions?: FunctionDigests };

/** A migration, marked with what it does to the releases before it. */
export type MarkedMigration = Migration &
  ({ kind: 'expand' } | { kind: 'contract'; compatibleFrom: Version });

/**
 * Marks a migration that only adds: the last release starts and serves on the result, and what it writes stays right. New
 * tables and indexes; columns that are nullable or have a default; constraints that what the last release writes satisfies;
 * functions and triggers that still do what it calls them for.
 */
export function expand(migration: Migration): MarkedMigration {
  return { ...migration, kind: 'expand' };
}

/**
 * Marks a migration that removes, renames or narrows something that an earlier release needs. It ships one release after
 * the expand step that made the thing superfluous; until then, the code neither needs it nor drops it.
 * @param compatibleFrom - the first release that works without the thing: older ones refuse to start from then on
 */
export function contract(migration: Migration, compatibleFrom: Version): MarkedMigration {
  return { ...migration, kind: 'contract', compatibleFrom };
}

/**
 * Every migration, in the order in which they run. A migration that has landed is never edited.
 *
 * To add one: a file with `up` and `down`, named by its time; here its import, and a line that marks it, `expand(…)` or
 * `contract(…, '1.4.0')`. An entry without a mark does not compile. Then `make generate`. One that creates or changes functions
 * takes them from `src/base/db/functions`: `test/base/db/functions.test.ts` says which line it needs.
 */
export const migrations: Record<string, MarkedMigration> = {
  '20261121090000_create_catalog': expand(createCatalog),
  '20261121220000_add_api_keys': expand(addApiKeys),
  '20261121230000_create_idempotency_keys': expand(createIdempotencyKeys),
  '20261122010000_index_catalog': expand(indexCatalog),
  '20261122020000_roll_up_sales': expand(rollUpSales),
  '20261122030000_keep_record_digests': expand(keepRecordDigests),
  '20261122040000_trust_the_feed_of_a_product': expand(trustTheFeedOfAProduct),
  '20261122050000_create_product_horizons': expand(createProductHorizons),
  '20261122060000_queue_runs': expand(queueRuns),
  '20261122070000_show_progress': expand(showProgress),
  '20261122080000_create_webhook_endpoints': expand(createWebhookEndpoints),
  '20261122090000_keep_compatibility': expand(keepCompatibility),
  '20261122100000_note_changed_creation_times': expand(noteChangedCreationTimes),
  '20261122100100_correct_sales': expand(correctSales),
  '20261122110000_retire_record_digests': expand(retireRecordDigests),
  '20261122110100_log_manual_changes': expand(logManualChanges),
  '20261122120000_create_webhook_deliveries': expand(createWebhookDeliveries),
  '20261122120100_queue_runs_in_their_jobs': expand(queueRunsInTheirJobs),
  '20261122130000_limit_api_keys': expand(limitApiKeys),
  '20261122230000_keep_webhook_outcomes': expand(keepWebhookOutcomes),
  '20261123010000_prepare_products': expand(prepareProducts),
  '20261123020000_search_products': expand(searchProducts),
  '20261123030000_read_pages_by_index': expand(readPagesByIndex),
  '20261123050000_list_feeds': expand(listFeeds),
  '20261123080000_count_partners': expand(countPartners),
  '20261123090000_withdraw_products': expand(withdrawProducts),
  '20261123090100_load_in_modes': expand(loadInModes),
  '20261123100000_retain_data': expand(retainData),
  '20261123110000_keep_history': expand(keepHistory),
  '20261123120000_read_history': expand(readHistory),
  '20261123120100_keep_sources': expand(keepSources),
  '20261123130000_revert_runs': expand(revertRuns),
  '20261123140000_keep_formats': expand(keepFormats),
  '20261123160000_fetch_feeds': expand(fetchFeeds),
  '20261123170000_trace_runs': expand(traceRuns),
  '20261124010000_notice_stale_partners': expand(noticeStalePartners),
  '20261124090000_order_by_statement': expand(orderByStatement),
  '20261124090100_claim_idempotency_keys': expand(claimIdempotencyKeys),
  '20261126010000_name_collections': expand(nameCollections),
  '20261126020000_limit_price_jumps': expand(limitPriceJumps),
  '20261126050000_cancel_waiting_runs': expand(cancelWaitingRuns),
  '20261126060000_cancel_reverts': expand(cancelReverts),
  '20261126070000_keep_attention': expand(keepAttention),
  '20261127010000_read_pages_by_plain_statements': expand(readPagesByPlainStatements),
  '20261127030000_create_functions': expand(createFunctions),
  '20261127040000_keep_runs_from_their_request': expand(keepRunsFromTheirRequest),
  '20261127050000_name_webhooks': expand(nameWebhooks),
  '20261128010000_index_completed_loads': expand(indexCompletedLoads),
  '20261128020000_roll_up_sales_of_products': expand(rollUpSalesOfProducts),
  '20261129010000_identify_database': expand(identifyDatabase),
};
