/**
 * Adds a delivery of each event for each subscribed endpoint, and returns their number.
 * It is a function, because each upload, run and order calls it: the database plans it once per connection.
 */
export const publishEventsFunctionSql = `
  create or replace function publish_events(event_types text[], partner_names text[], contents json[])
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
`;
