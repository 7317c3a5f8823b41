import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/** Lets reads of the history find deleted products, and what retention has removed. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      -- A product that was deleted has only versions, of which one is external.
      create index if not exists product_versions_external on product_versions (partner_id, product_id) where is_external;
      -- When versions that the change ended were removed by their age; null: all of them are there.
      alter table catalog_versions add column if not exists pruned_at timestamptz;
      create index if not exists catalog_versions_pruned on catalog_versions (partner_id, effective_at)
        where pruned_at is not null;
    `,
  );
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop index product_versions_external; alter table catalog_versions drop column pruned_at');
}
