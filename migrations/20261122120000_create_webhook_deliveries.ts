import type { Knex } from 'knex';

/**
 * Keeps webhook deliveries in a table of their own. Release 1.2.0 goes on with `queue_events`, which puts them into
 * graphile-worker's queue; this release moves from there what its workers leave.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- One event for one endpoint, until it is accepted or given up.
    create table webhook_deliveries (
      webhook_delivery_id bigint generated always as identity primary key,
      -- No foreign key: an upload or an order must not fail because its endpoint is being removed.
      webhook_endpoint_id bigint not null,
      -- The same for every endpoint and every attempt.
      message_id text collate "C" not null,
      event_type text collate "C" not null,
      happened_at timestamptz not null,
      -- What the data of the message are made of.
      content json not null,
      -- Attempts begun. Whoever ends one names its number: a worker whose lease has expired changes nothing.
      attempts integer not null default 0,
      -- When it is due; while it is being sent, when the lease of its worker expires.
      next_attempt_at timestamptz not null default now(),
      is_being_sent boolean not null default false
    );
    create index webhook_deliveries_due on webhook_deliveries (webhook_endpoint_id, next_attempt_at);
    create index webhook_deliveries_being_sent on webhook_deliveries (webhook_endpoint_id) where is_being_sent;

    -- Adds a delivery of each event for each endpoint that wants it. Says how many. A function, because each upload, run
    -- and order calls it: the database plans it once for a connection, instead of with each statement.
    create function publish_events(event_types text[], partner_names text[], contents json[])
    returns bigint language plpgsql as $$
    declare
      deliveries bigint;
    begin
      -- There is no endpoint.
      if event_types is null then
        return 0;
      end if;
      -- Once for each event: it has the same id for every endpoint, however the rest is planned.
      with event as materialized (
        select event_type, partner_name, content, clock_timestamp() as happened_at,
          'msg_' || replace(cast(gen_random_uuid() as text), '-', '') as message_id
        from unnest(event_types, partner_names, contents) as given (event_type, partner_name, content)
      )
      insert into webhook_deliveries (webhook_endpoint_id, message_id, event_type, happened_at, content)
      select webhook_endpoint_id, message_id, event_type, happened_at, content
      from event
      join webhook_endpoints as endpoint
        on disabled_at is null
        and (endpoint.partner_name is null or endpoint.partner_name = event.partner_name)
        and (endpoint.event_types is null or event_type = any (endpoint.event_types));
      get diagnostics deliveries = row_count;
      return deliveries;
    end $$;
  `);
}

/** Drops the deliveries that wait. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop function publish_events; drop table webhook_deliveries');
}
