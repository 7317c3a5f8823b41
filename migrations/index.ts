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

/** Every migration, in the order in which they run. A migration that has landed is never edited. */
export const migrations: Record<string, Knex.Migration> = {
  '20261121090000_create_catalog': createCatalog,
  '20261121220000_add_api_keys': addApiKeys,
  '20261121230000_create_idempotency_keys': createIdempotencyKeys,
  '20261122010000_index_catalog': indexCatalog,
  '20261122020000_roll_up_sales': rollUpSales,
  '20261122030000_keep_record_digests': keepRecordDigests,
  '20261122040000_trust_the_feed_of_a_product': trustTheFeedOfAProduct,
  '20261122050000_create_product_horizons': createProductHorizons,
  '20261122060000_queue_runs': queueRuns,
  '20261122070000_show_progress': showProgress,
  '20261122080000_create_webhook_endpoints': createWebhookEndpoints,
};
