import type { Knex } from 'knex';

/**
 * Keeps `record_digests` empty: nothing tells it of manual changes any more. Release 1.2.0, which fills and trusts it, then
 * compares every row of a feed: slower, and right. The next release drops it.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Against runs of 1.2.0 in progress, which lock rows here before they write: with a weaker lock, they and the statements
    -- below would wait for each other.
    lock table record_digests in exclusive mode;

    create function ignore_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;
    create trigger record_digests_stay_empty before insert on record_digests
      for each row execute function ignore_row();
    delete from record_digests;
  `);
}

/** Lets runs of 1.2.0 fill the table again. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop trigger record_digests_stay_empty on record_digests;
    drop function ignore_row();
  `);
}
