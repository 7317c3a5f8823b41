import type { Knex } from 'knex';
import { createFunctions } from './create-functions';

export const functions = {
  claim_idempotency_keys: '406cf0d207579a24',
  count_feeds: '4b0f566e8c8ea737',
  count_products: 'ddd0b4100b3566c8',
  ignore_row: 'df47702554a484c8',
  keep_run: 'd88a15d6da57b1bf',
  keep_versions: '771fb7f47ac4b202',
  log_manual_change: '8b29c0efa94dfe8a',
  log_manual_truncation: '294f0af75f7b475b',
  log_search_change: 'e063f44e4298b989',
  log_search_truncation: 'cdc96ae43b60421f',
  note_changed_order_items: 'f150db43e018652f',
  note_changed_orders: '844d9cfab6914512',
  note_completed_run: '9d48e9f514241925',
  note_product_horizon: '98e4d33c08922d4e',
  products_to_order: 'aa21d3e7cc2b5ad5',
  publish_events: '32824973d9ea2250',
  queue_deliveries: '32f7d695e4b2eb28',
  queue_events: 'c01aa81da090e996',
  recount_partner: '9cbdbefd0b178bc0',
  search_words: '238b7aabe1c43d5c',
  stamp_order: 'e45fb746bdfa861a',
};

/** Creates the functions from `src/base/db/functions`; they are those that earlier migrations created. */
export const up = (db: Knex): Promise<void> => createFunctions(db, functions);

/** Leaves the functions, which are those of before. */
export const down = (): Promise<void> => Promise.resolve();
