import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/** Creates the formats of partners, and what a feed keeps of its own. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      create table if not exists partner_formats (
        -- Releases that do not know this table remove partners too.
        partner_id bigint not null references partners on delete cascade,
        format_name text collate "C" not null,
        -- Not jsonb: the order of its words for the stock status has a meaning.
        definition json not null,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        primary key (partner_id, format_name)
      );

      -- Both null: no format, the file is read as the specification says.
      alter table feeds add column if not exists format_name text collate "C";
      alter table feeds add column if not exists format_definition json;
    `,
  );
}

/** Drops what `up` created. Feeds are read without a format then. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table feeds drop column format_name, drop column format_definition;
    drop table partner_formats;
  `);
}
