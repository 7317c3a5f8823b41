import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/**
 * Distinguishes a feed whose upload names its collection, to which it moves products, from one of `main` by default. Feeds and
 * sources of before count as without a name unless their mode is `replace`. Can be repeated after a failure.
 */
export async function up(db: Knex): Promise<void> {
  // Release 1.2.0 knows no collections: its feeds name none.
  await withShortLock(
    db,
    'alter table feeds add column if not exists is_collection_named boolean not null default false',
  );
  await db.raw(
    "update feeds set is_collection_named = true where mode = 'replace' and not is_collection_named",
  );
  await db.raw(`
    update sources set definition = cast(jsonb_set(cast(definition as jsonb), '{collection}', 'null') as json)
    where definition ->> 'collection' = 'main' and definition ->> 'mode' <> 'replace'`);
}

/** Drops what `up` created. All feeds move products then. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    update sources set definition = cast(jsonb_set(cast(definition as jsonb), '{collection}', '"main"') as json)
    where definition ->> 'collection' is null;
    alter table feeds drop column is_collection_named;
  `);
}
