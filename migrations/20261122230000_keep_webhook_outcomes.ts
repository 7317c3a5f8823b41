import type { Knex } from 'knex';

/** Keeps ended webhook deliveries for some days, so that they can be listed and replayed. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- Of the last attempt, as text: 'HTTP 500', or the error of the network. Null before the first one.
    alter table webhook_deliveries add column last_result text;

    -- A delivery that was accepted or discarded. A replay moves it back to webhook_deliveries.
    create table webhook_outcomes (
      webhook_outcome_id bigint generated always as identity primary key,
      webhook_endpoint_id bigint not null,
      message_id text collate "C" not null,
      event_type text collate "C" not null,
      happened_at timestamptz not null,
      content json not null,
      attempts integer not null,
      outcome text collate "C" not null,
      last_result text,
      ended_at timestamptz not null default now(),
      constraint webhook_outcomes_outcome_known check (outcome in ('delivered', 'discarded'))
    );
    create index webhook_outcomes_by_event on webhook_outcomes (webhook_endpoint_id, happened_at);
    create index webhook_outcomes_by_end on webhook_outcomes (ended_at);
  `);
}

/** Drops the outcomes. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop table webhook_outcomes;
    alter table webhook_deliveries drop column last_result;
  `);
}
