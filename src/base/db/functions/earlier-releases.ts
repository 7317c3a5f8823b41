/** Functions that only release 1.2.0 calls, needed while its processes may run beside this release. */

/** Enqueues a delivery for each event and each subscribed endpoint in graphile-worker's queue. */
export const queueEventsSql = `
  create or replace function queue_events(event_types text[], partner_names text[], contents json[], lanes integer)
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
`;

/** Enqueues deliveries, each in one of the lanes of its endpoint; replaces a delivery that is already in the queue. */
export const queueDeliveriesSql = `
  create or replace function queue_deliveries(deliveries json[], seconds double precision, lanes integer)
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
`;

/** Keeps `record_digests` empty, as manual changes do not update it: release 1.2.0 then compares every row of a feed. */
export const ignoreRowSql = `
  create or replace function ignore_row() returns trigger language plpgsql as $$
  begin
    return null;
  end $$;
`;
