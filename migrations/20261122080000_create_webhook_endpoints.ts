import type { Knex } from 'knex';

/** Where events are sent to. What is to be sent waits in the queue. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table webhook_endpoints (
      webhook_endpoint_id bigint generated always as identity primary key,
      url text collate "C" not null,
      -- The partner whose events it gets, by name, as keys have it; null: everybody's.
      partner_name text collate "C",
      -- null: all, those to come too.
      event_types text[],
      -- Whoever signs needs the secret itself.
      secret text collate "C" not null,
      created_at timestamptz not null default now(),
      disabled_at timestamptz,
      -- Since the last delivery that was accepted.
      failures_in_a_row integer not null default 0,
      -- Until when nothing is sent, because too much has failed.
      paused_until timestamptz,
      -- The last failure of all.
      failed_at timestamptz,
      failure_reason text,
      -- Events that were given up.
      given_up bigint not null default 0
    );
  `);
}

/** Drops all endpoints. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop table webhook_endpoints');
}
