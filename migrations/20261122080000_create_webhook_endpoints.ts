import type { Knex } from 'knex';

/**
 * Where events are sent to, and what puts events and their deliveries into the queue. Those are functions because each
 * upload, run and order asks for them: the database plans them once for a connection, instead of with each statement.
 */
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
      -- null: somebody has disabled it.
      disabled_reason text,
      -- Since the last delivery that was accepted.
      failures_in_a_row integer not null default 0,
      -- The first failure since then.
      failing_since timestamptz,
      -- Until when nothing is sent, because too much has failed.
      paused_until timestamptz,
      -- The last failure of all.
      failed_at timestamptz,
      failure_reason text,
      -- Events that were given up.
      given_up bigint not null default 0
    );

    -- Puts a delivery for each of the events and each endpoint that wants it into the queue. Says how many.
    create function queue_events(event_types text[], partner_names text[], contents json[], lanes integer)
    returns bigint language plpgsql as $$
    declare
      wanted json[];
    begin
      -- There is no endpoint.
      if event_types is null then
        return 0;
      end if;
      -- Once for each event: it has the same id wherever it is sent, however the rest is planned.
      with event as materialized (
        select event_type, partner_name, content, clock_timestamp() as happened_at,
          'msg_' || replace(cast(gen_random_uuid() as text), '-', '') as message_id
        from unnest(event_types, partner_names, contents) as given (event_type, partner_name, content)
      )
      select array_agg(json_build_object(
        'endpoint_id', webhook_endpoint_id, 'message_id', message_id, 'type', event_type, 'timestamp', happened_at,
        'content', content, 'failed_attempts', 0
      )) into wanted
      from event
      join webhook_endpoints as endpoint
        on disabled_at is null
        and (endpoint.partner_name is null or endpoint.partner_name = event.partner_name)
        and (endpoint.event_types is null or event_type = any (endpoint.event_types));
      if wanted is null then
        return 0;
      end if;
      return queue_deliveries(wanted, 0, lanes);
    end $$;

    -- Puts deliveries into the queue, each in one of so many lanes of its endpoint, in which one comes after the other, and in
    -- place of itself if it is there.
    create function queue_deliveries(deliveries json[], seconds double precision, lanes integer)
    returns bigint language plpgsql as $$
    begin
      return (select count(*) from graphile_worker.add_jobs(array(
        select cast(row(
          'send_webhook',
          delivery,
          'webhook ' || (delivery ->> 'endpoint_id') || ' ' || floor(random() * lanes),
          now() + seconds * interval '1 second',
          null,
          'webhook ' || (delivery ->> 'message_id') || ' ' || (delivery ->> 'endpoint_id'),
          null,
          null
        ) as graphile_worker.job_spec)
        from unnest(deliveries) as delivery
      )));
    end $$;
  `);
}

/** Drops all endpoints, and the functions. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop function queue_events;
    drop function queue_deliveries;
    drop table webhook_endpoints;
  `);
}
