import type { Knex } from 'knex';

/**
 * A `created_at` that is set by hand to the present lies behind the latest product horizon, where default listings do not
 * look: each such statement notes a horizon too, as each insert does.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create or replace trigger products_note_horizon after insert or update of created_at on products
      for each statement execute function note_product_horizon();
    -- Lists the products that were hidden until now.
    insert into product_horizons values (now());
  `);
}

/** Notes inserts only. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    create or replace trigger products_note_horizon after insert on products
      for each statement execute function note_product_horizon();
  `);
}
