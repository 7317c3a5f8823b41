import type { Knex } from 'knex';

/** The oldest version of the service that the schema is compatible with, in one row; contract steps raise it. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table schema_compatibility (
      compatible_from text collate "C" not null
    );
    insert into schema_compatibility (compatible_from) values ('1.2.0');
  `);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop table schema_compatibility');
}
