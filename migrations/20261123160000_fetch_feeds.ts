import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/** Creates the sources from which feeds are fetched, and their fetches. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      create table if not exists sources (
        source_id bigint generated always as identity primary key,
        -- Releases that do not know this table remove partners too.
        partner_id bigint not null references partners on delete cascade,
        source_name text collate "C" not null,
        -- Of the definition, for the deletion of a format.
        format_name text collate "C",
        -- As it is shown: without secrets.
        definition json not null,
        -- Header values and password, encrypted by SECRETS_KEY; null without any.
        secrets bytea,
        -- Null without a schedule.
        next_slot_at timestamptz,
        -- When next_slot_at was computed: a time in the future shows that the clock was set back since.
        scheduled_at timestamptz not null default now(),
        failures_in_a_row integer not null default 0,
        fetch_count integer not null default 0,
        -- What the last fetch made, and the validators of its response.
        last_feed_id bigint,
        etag text,
        last_modified text,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        unique (partner_id, source_name)
      );
      create index if not exists sources_due on sources (next_slot_at);
      create index if not exists sources_scheduled on sources (scheduled_at);

      create table if not exists source_fetches (
        source_id bigint not null references sources on delete cascade,
        fetch_number integer not null,
        -- Null for a fetch on request.
        slot_at timestamptz,
        status text not null,
        requested_by text,
        requested_at timestamptz not null default now(),
        started_at timestamptz,
        finished_at timestamptz,
        -- Attempts begun. Whoever ends one names its number: a worker whose lease has expired changes nothing.
        attempts integer not null default 0,
        -- When it is due; while it is running, when the lease of its worker expires.
        next_attempt_at timestamptz not null default now(),
        http_status integer,
        feed_id bigint,
        failure_reason text,
        primary key (source_id, fetch_number),
        unique (source_id, slot_at),
        constraint source_fetches_status_known
          check (status in ('queued', 'running', 'completed', 'unchanged', 'failed', 'skipped')),
        constraint source_fetches_finished check ((status in ('queued', 'running')) = (finished_at is null))
      );
      create unique index if not exists source_fetches_unfinished on source_fetches (source_id)
        where status in ('queued', 'running');
      create index if not exists source_fetches_due on source_fetches (next_attempt_at)
        where status in ('queued', 'running');
      create index if not exists source_fetches_finished_at on source_fetches (finished_at);

      -- Maximum percentage of active products that the requested run may withdraw; null: the usual limit.
      alter table validation_jobs add column if not exists max_withdrawn_percent double precision;
    `,
  );
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table validation_jobs drop column max_withdrawn_percent;
    drop table source_fetches;
    drop table sources;
  `);
}
