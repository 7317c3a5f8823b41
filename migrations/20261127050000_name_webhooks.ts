import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/**
 * Lets partners have webhooks by name, with encrypted secrets. Release 1.2.0 cannot sign for them: its attempts fail, and
 * this release repeats those that it has not given up. Renames columns of `webhook_outcomes`, which 1.2.0 does not know. Can be repeated after a failure.
 */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      alter table webhook_endpoints
        -- The partner manages it by this name; null: the operator manages it.
        add column if not exists webhook_name text collate "C",
        -- Encrypted; null with a plain secret.
        add column if not exists sealed_secret bytea,
        -- The secret before the last rotation, and the end of its validity.
        add column if not exists previous_sealed_secret bytea,
        add column if not exists previous_secret_until timestamptz,
        -- The end of the pause that the partner has requested.
        add column if not exists held_until timestamptz,
        alter column secret drop not null,
        drop constraint if exists webhook_endpoints_one_secret,
        add constraint webhook_endpoints_one_secret check (num_nonnulls(secret, sealed_secret) = 1),
        drop constraint if exists webhook_endpoints_name_of_partner,
        add constraint webhook_endpoints_name_of_partner check (
          (webhook_name is null) = (sealed_secret is null) and (webhook_name is null or partner_name is not null)
        );
      create unique index if not exists webhook_endpoints_named on webhook_endpoints (partner_name, webhook_name)
        where webhook_name is not null;
    `,
  );
  if (!(await db.schema.hasColumn('webhook_outcomes', 'outcome'))) return;
  await withShortLock(
    db,
    `
      alter table webhook_outcomes rename column outcome to status;
      alter table webhook_outcomes rename column ended_at to finished_at;
      alter table webhook_outcomes rename constraint webhook_outcomes_outcome_known to webhook_outcomes_status_known;
    `,
  );
}

/** Drops what `up` created, with the webhooks of partners, and restores the names. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table webhook_outcomes rename column status to outcome;
    alter table webhook_outcomes rename column finished_at to ended_at;
    alter table webhook_outcomes rename constraint webhook_outcomes_status_known to webhook_outcomes_outcome_known;
    delete from webhook_endpoints where webhook_name is not null;
    alter table webhook_endpoints
      drop column webhook_name,
      drop column sealed_secret,
      drop column previous_sealed_secret,
      drop column previous_secret_until,
      drop column held_until,
      alter column secret set not null;
  `);
}
