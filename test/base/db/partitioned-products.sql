-- A database whose products are in four partitions, for test/db/partitioned-products.test.ts. Made by `npm run migrate -- --partition 4`
-- of commit 6a13c3c on PostgreSQL 15, between the second and the third feed of two partners, and before an order;
-- then by `pg_dump --no-owner --no-privileges --inserts`, without comments, settings and commands of psql.

SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;

CREATE FUNCTION public.claim_idempotency_keys(locks bigint[], api_key_digests bytea[], keys text[]) RETURNS TABLE(is_claimed boolean, request_digest bytea, response_text text)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS $$
    declare
      claims boolean[];
    begin
      claims := array(
        select pg_try_advisory_xact_lock(lock) from unnest(locks) with ordinality as given (lock, position) order by position
      );
      return query
        select given.is_claimed, stored.request_digest, stored.response_text
        from unnest(claims, api_key_digests, keys)
          with ordinality as given (is_claimed, api_key_digest, idempotency_key, position)
        left join lateral (
          select answer.request_digest, cast(answer.response_body as text) as response_text
          from idempotency_keys as answer
          where answer.api_key_digest = given.api_key_digest and answer.idempotency_key = given.idempotency_key
            and answer.expires_at > now()
          limit 1
        ) as stored on true
        order by position;
    end $$;

CREATE FUNCTION public.count_feeds() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
      begin
        if tg_op <> 'INSERT' then
          insert into partner_counts (partner_id, feeds) values (old.partner_id, -1);
        end if;
        if tg_op <> 'DELETE' then
          insert into partner_counts (partner_id, feeds) values (new.partner_id, 1);
        end if;
        return null;
      end $$;

CREATE FUNCTION public.count_products() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
      begin
        case tg_op
          when 'INSERT' then
            insert into partner_counts (partner_id, products)
            select partner_id, count(*) from added_products where withdrawn_at is null group by partner_id;
          when 'DELETE' then
            insert into partner_counts (partner_id, products)
            select partner_id, -count(*) from removed_products where withdrawn_at is null group by partner_id;
          when 'UPDATE' then
            insert into partner_counts (partner_id, products)
            select partner_id, sum(change)
            from (
              select partner_id, -1 as change from removed_products where withdrawn_at is null
              union all
              select partner_id, 1 from added_products where withdrawn_at is null
            ) as changed
            group by partner_id having sum(change) <> 0;
          else
            insert into partner_counts (partner_id, products)
            select partner_id, -sum(products) from partner_counts group by partner_id having sum(products) <> 0;
        end case;
        return null;
      end $$;

CREATE FUNCTION public.ignore_row() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    begin
      return null;
    end $$;

CREATE FUNCTION public.keep_run() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
      begin
        if old.status = 'running' and new.run_count = old.run_count and new.status in ('completed', 'failed') then
          update runs set status = new.status, finished_at = new.finished_at, failure_reason = new.failure_reason,
            processed = new.processed, inserted = new.inserted, updated = new.updated, unchanged = new.unchanged,
            skipped = new.skipped, withdrawn = coalesce(new.withdrawn, 0), restored = coalesce(new.restored, 0),
            would_withdraw = new.would_withdraw, withdrawals_withheld = new.withdrawals_withheld
          where job_id = new.job_id and run = new.run_count and status = 'running';
        elsif old.status = 'running' and (new.status <> 'running' or new.run_count <> old.run_count) then
          update runs set status = 'failed', finished_at = clock_timestamp(), failure_reason = 'The run was interrupted.',
            processed = 0, inserted = 0, updated = 0, unchanged = 0, skipped = 0, withdrawn = 0, restored = 0
          where job_id = new.job_id and run = old.run_count and status = 'running';
        end if;
        if new.status = 'running' and new.run_count <> old.run_count then
          insert into runs (job_id, run, status, mode, requested_by, requested_at, started_at)
          select new.job_id, new.run_count, new.status, mode, new.requested_by, new.run_requested_at, new.started_at
          from feeds where feed_id = new.feed_id;
        end if;
        return null;
      end $$;

CREATE FUNCTION public.keep_versions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
      declare
        change_text text := coalesce(current_setting('partner_catalog.change', true), '');
        change bigint;
      begin
        if change_text = 'none' then
          return null;
        end if;
        if change_text = '' then
          insert into product_versions (
  partner_id, product_id, sku, product_name, description, brand, category, price, currency, availability, feed_id,
  collection, created_at, withdrawn_at, record_offset, run_id, until_run_id, is_external)
          select 
  partner_id, product_id, sku, product_name, description, brand, category, price, currency, availability, feed_id,
  collection, created_at, withdrawn_at, record_offset, run_id, 9223372036854775807, true from changed_products
          on conflict do nothing;
          return null;
        end if;
        change := cast(change_text as bigint);
        -- The statement has locked the products: a manual change is committed before it, and visible, or comes after it.
        if exists (
          select from product_versions
          where partner_id = (select partner_id from changed_products limit 1) and until_run_id = 9223372036854775807
        ) then
          update product_versions as version set until_run_id = change
          from changed_products
          where (version.partner_id, version.product_id) = (changed_products.partner_id, changed_products.product_id)
            and version.until_run_id = 9223372036854775807;
          insert into product_versions (
  partner_id, product_id, sku, product_name, description, brand, category, price, currency, availability, feed_id,
  collection, created_at, withdrawn_at, record_offset, run_id, until_run_id)
          select 
  partner_id, product_id, sku, product_name, description, brand, category, price, currency, availability, feed_id,
  collection, created_at, withdrawn_at, record_offset, run_id, change from changed_products
          where not exists (
            select from product_versions as version
            where (version.partner_id, version.product_id) = (changed_products.partner_id, changed_products.product_id)
              and version.until_run_id = change
          );
        else
          insert into product_versions (
  partner_id, product_id, sku, product_name, description, brand, category, price, currency, availability, feed_id,
  collection, created_at, withdrawn_at, record_offset, run_id, until_run_id)
          select 
  partner_id, product_id, sku, product_name, description, brand, category, price, currency, availability, feed_id,
  collection, created_at, withdrawn_at, record_offset, run_id, change from changed_products;
        end if;
        return null;
      end $$;

CREATE FUNCTION public.log_manual_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    begin
      if current_setting('partner_catalog.keeps_digests', true) = 'on' then
        return null;
      end if;
      -- A row that is there will do, if this transaction can keep runs from deleting it: so a partner has hardly more than
      -- one. A transaction with a snapshot of its own would fail on a row that was deleted since.
      insert into manual_changes (partner_id)
      select partner_id
      from (select distinct partner_id from changed_products) as changed
      where current_setting('transaction_isolation') <> 'read committed'
        or not exists (
          select from manual_changes as logged where logged.partner_id = changed.partner_id for key share skip locked
        );
      return null;
    end $$;

CREATE FUNCTION public.log_manual_truncation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    begin
      insert into manual_changes (partner_id) select partner_id from partners;
      return null;
    end $$;

CREATE FUNCTION public.log_search_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
      begin
        if current_setting('partner_catalog.keeps_digests', true) = 'on' then
          return null;
        end if;
        insert into search_backlog (partner_id, product_ids)
        select partner_id, case when count(*) <= 1000 then array_agg(product_id) end
        from changed_products
        group by partner_id;
        return null;
      end $$;

CREATE FUNCTION public.log_search_truncation() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
      begin
        insert into search_backlog (partner_id) select partner_id from partners;
        return null;
      end $$;

CREATE FUNCTION public.note_changed_order_items() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    begin
      if tg_op = 'TRUNCATE' then
        insert into sales_changes values (null, null);
      elsif tg_op = 'INSERT' then
        -- An order that is created by the same transaction counts with all of its items.
        insert into sales_changes
        select distinct partner_name, sales_day
        from (
          select partner_name, cast(created_at at time zone 'UTC' as date) as sales_day
          from (select distinct order_id from new_rows) as changed join orders using (order_id)
          where transaction_id <> pg_current_xact_id()
          for share of orders
        ) as changed;
      elsif tg_op = 'DELETE' then
        insert into sales_changes
        select distinct partner_name, sales_day
        from (
          select partner_name, cast(created_at at time zone 'UTC' as date) as sales_day
          from (select distinct order_id from old_rows) as changed join orders using (order_id)
          for share of orders
        ) as changed;
      else
        insert into sales_changes
        select distinct partner_name, sales_day
        from (
          select partner_name, cast(created_at at time zone 'UTC' as date) as sales_day
          from (select order_id from old_rows union select order_id from new_rows) as changed
          join orders using (order_id)
          for share of orders
        ) as changed;
      end if;
      return null;
    end $$;

CREATE FUNCTION public.note_changed_orders() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    begin
      if tg_op = 'TRUNCATE' then
        insert into sales_changes values (null, null);
      elsif tg_op = 'DELETE' then
        insert into sales_changes
        select distinct partner_name, cast(created_at at time zone 'UTC' as date) from old_rows;
      else
        insert into sales_changes
        select distinct partner_name, cast(created_at at time zone 'UTC' as date)
        from (
          (
            select order_id, partner_name, currency, created_at, transaction_id from old_rows
            except all
            select order_id, partner_name, currency, created_at, transaction_id from new_rows
          )
          union all
          (
            select order_id, partner_name, currency, created_at, transaction_id from new_rows
            except all
            select order_id, partner_name, currency, created_at, transaction_id from old_rows
          )
        ) as changed;
      end if;
      return null;
    end $$;

CREATE FUNCTION public.note_completed_run() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
      declare
        run_of bigint := (select partner_id from feeds where feed_id = new.feed_id);
      begin
        with replaced as (
          delete from partner_counts where partner_id = run_of returning products, feeds, last_completed_at
        )
        insert into partner_counts (partner_id, products, feeds, last_completed_at)
        select run_of, coalesce(sum(products), 0), coalesce(sum(feeds), 0),
          greatest(max(last_completed_at), new.finished_at)
        from replaced;
        return null;
      end $$;

CREATE FUNCTION public.note_product_horizon() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    declare
      -- Of a row there is a time of its own.
      horizon timestamptz := coalesce(new.created_at, now());
    begin
      -- Those that another load is replacing are left to it: loads do not wait for each other here.
      delete from product_horizons where ctid = any (
        array(select ctid from product_horizons where created_at <= horizon for update skip locked)
      );
      insert into product_horizons values (horizon);
      return null;
    end
    $$;

CREATE FUNCTION public.page_of_products(statement text, bindings text[]) RETURNS TABLE(state text, partner_id bigint, product_id bigint)
    LANGUAGE plpgsql STABLE ROWS 20
    SET enable_sort TO 'off'
    SET enable_incremental_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$
    begin
      return query execute statement using bindings;
    end $$;

CREATE FUNCTION public.products_to_order(among bigint[]) RETURNS TABLE(product_id bigint, partner_name text, sku text, product_name text, price numeric, currency text, availability text, withdrawn_at timestamp with time zone, run_id bigint, feed_id bigint, record_offset bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS $$
  #variable_conflict use_column
  begin
    -- Only replays, for example: they wait for no lock.
    if cardinality(among) = 0 then
      return;
    end if;
    -- The low byte separates the key from other locks: see src/partners/partner-lock.ts.
    perform pg_advisory_xact_lock_shared((partner_id << 8) | 4)
    from (select distinct partner_id from products where product_id = any (among) order by partner_id) as supplier;
    return query
      select product_id, partner_name, sku, product_name, price, currency, availability, withdrawn_at, run_id, feed_id, record_offset
      from products join partners using (partner_id)
      where product_id = any (among);
  end $$;

CREATE FUNCTION public.publish_events(event_types text[], partner_names text[], contents json[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.queue_deliveries(deliveries json[], seconds double precision, lanes integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.queue_events(event_types text[], partner_names text[], contents json[], lanes integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.recount_partner(of_partner bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
      begin
        -- As a run does, see src/partners/partner-lock.ts.
        perform pg_advisory_xact_lock((of_partner << 8) | 3);
        perform from partners where partner_id = of_partner for no key update;
        with replaced as (
          delete from partner_counts where partner_id = of_partner returning last_completed_at
        )
        insert into partner_counts (partner_id, products, feeds, last_completed_at)
        select of_partner,
          (select count(*) from products where partner_id = of_partner and withdrawn_at is null),
          (select count(*) from feeds where partner_id = of_partner),
          greatest(
            (select max(last_completed_at) from replaced),
            (
              select max(finished_at) from validation_jobs join feeds using (feed_id)
              where partner_id = of_partner and validation_jobs.status = 'completed'
            )
          );
      end $$;

CREATE FUNCTION public.search_words(text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $_$
      declare
        word_list text := case
          when octet_length($1) = length($1)
            then regexp_replace(lower($1 collate "C"), '[^a-z0-9]+' collate "C", ' ', 'g')
          else regexp_replace(
            translate(
              lower(regexp_replace(normalize($1, nfkd), '[\U00000300-\U0000036f\U00000483-\U00000489\U00000591-\U000005bd\U000005bf\U000005c1-\U000005c2\U000005c4-\U000005c5\U000005c7\U00000610-\U0000061a\U0000064b-\U0000065f\U00000670\U000006d6-\U000006dc\U000006df-\U000006e4\U000006e7-\U000006e8\U000006ea-\U000006ed\U00000711\U00000730-\U0000074a\U000007a6-\U000007b0\U000007eb-\U000007f3\U000007fd\U00000816-\U00000819\U0000081b-\U00000823\U00000825-\U00000827\U00000829-\U0000082d\U00000859-\U0000085b\U00000897-\U0000089f\U000008ca-\U000008e1\U000008e3-\U00000903\U0000093a-\U0000093c\U0000093e-\U0000094f\U00000951-\U00000957\U00000962-\U00000963\U00000981-\U00000983\U000009bc\U000009be-\U000009cd\U000009d7\U000009e2-\U000009e3\U000009fe-\U00000a03\U00000a3c-\U00000a51\U00000a70-\U00000a71\U00000a75\U00000a81-\U00000a83\U00000abc\U00000abe-\U00000acd\U00000ae2-\U00000ae3\U00000afa-\U00000b03\U00000b3c\U00000b3e-\U00000b57\U00000b62-\U00000b63\U00000b82\U00000bbe-\U00000bcd\U00000bd7\U00000c00-\U00000c04\U00000c3c\U00000c3e-\U00000c56\U00000c62-\U00000c63\U00000c81-\U00000c83\U00000cbc\U00000cbe-\U00000cd6\U00000ce2-\U00000ce3\U00000cf3-\U00000d03\U00000d3b-\U00000d3c\U00000d3e-\U00000d4d\U00000d57\U00000d62-\U00000d63\U00000d81-\U00000d83\U00000dca-\U00000ddf\U00000df2-\U00000df3\U00000e31\U00000e34-\U00000e3a\U00000e47-\U00000e4e\U00000eb1\U00000eb4-\U00000ebc\U00000ec8-\U00000ece\U00000f18-\U00000f19\U00000f35\U00000f37\U00000f39\U00000f3e-\U00000f3f\U00000f71-\U00000f84\U00000f86-\U00000f87\U00000f8d-\U00000fbc\U00000fc6\U0000102b-\U0000103e\U00001056-\U00001059\U0000105e-\U00001060\U00001062-\U00001064\U00001067-\U0000106d\U00001071-\U00001074\U00001082-\U0000108d\U0000108f\U0000109a-\U0000109d\U0000135d-\U0000135f\U00001712-\U00001715\U00001732-\U00001734\U00001752-\U00001753\U00001772-\U00001773\U000017b4-\U000017d3\U000017dd\U0000180b-\U0000180d\U0000180f\U00001885-\U00001886\U000018a9\U00001920-\U0000193b\U00001a17-\U00001a1b\U00001a55-\U00001a7f\U00001ab0-\U00001b04\U00001b34-\U00001b44\U00001b6b-\U00001b73\U00001b80-\U00001b82\U00001ba1-\U00001bad\U00001be6-\U00001bf3\U00001c24-\U00001c37\U00001cd0-\U00001cd2\U00001cd4-\U00001ce8\U00001ced\U00001cf4\U00001cf7-\U00001cf9\U00001dc0-\U00001dff\U000020d0-\U000020f0\U00002cef-\U00002cf1\U00002d7f\U00002de0-\U00002dff\U0000302a-\U0000302f\U00003099-\U0000309a\U0000a66f-\U0000a672\U0000a674-\U0000a67d\U0000a69e-\U0000a69f\U0000a6f0-\U0000a6f1\U0000a802\U0000a806\U0000a80b\U0000a823-\U0000a827\U0000a82c\U0000a880-\U0000a881\U0000a8b4-\U0000a8c5\U0000a8e0-\U0000a8f1\U0000a8ff\U0000a926-\U0000a92d\U0000a947-\U0000a953\U0000a980-\U0000a983\U0000a9b3-\U0000a9c0\U0000a9e5\U0000aa29-\U0000aa36\U0000aa43\U0000aa4c-\U0000aa4d\U0000aa7b-\U0000aa7d\U0000aab0\U0000aab2-\U0000aab4\U0000aab7-\U0000aab8\U0000aabe-\U0000aabf\U0000aac1\U0000aaeb-\U0000aaef\U0000aaf5-\U0000aaf6\U0000abe3-\U0000abea\U0000abec-\U0000abed\U0000fb1e\U0000fe00-\U0000fe0f\U0000fe20-\U0000fe2f\U000101fd\U000102e0\U00010376-\U0001037a\U00010a01-\U00010a0f\U00010a38-\U00010a3f\U00010ae5-\U00010ae6\U00010d24-\U00010d27\U00010d69-\U00010d6d\U00010eab-\U00010eac\U00010efa-\U00010eff\U00010f46-\U00010f50\U00010f82-\U00010f85\U00011000-\U00011002\U00011038-\U00011046\U00011070\U00011073-\U00011074\U0001107f-\U00011082\U000110b0-\U000110ba\U000110c2\U00011100-\U00011102\U00011127-\U00011134\U00011145-\U00011146\U00011173\U00011180-\U00011182\U000111b3-\U000111c0\U000111c9-\U000111cc\U000111ce-\U000111cf\U0001122c-\U00011237\U0001123e\U00011241\U000112df-\U000112ea\U00011300-\U00011303\U0001133b-\U0001133c\U0001133e-\U0001134d\U00011357\U00011362-\U00011374\U000113b8-\U000113d0\U000113d2\U000113e1-\U000113e2\U00011435-\U00011446\U0001145e\U000114b0-\U000114c3\U000115af-\U000115c0\U000115dc-\U000115dd\U00011630-\U00011640\U000116ab-\U000116b7\U0001171d-\U0001172b\U0001182c-\U0001183a\U00011930-\U0001193e\U00011940\U00011942-\U00011943\U000119d1-\U000119e0\U000119e4\U00011a01-\U00011a0a\U00011a33-\U00011a39\U00011a3b-\U00011a3e\U00011a47\U00011a51-\U00011a5b\U00011a8a-\U00011a99\U00011b60-\U00011b67\U00011c2f-\U00011c3f\U00011c92-\U00011cb6\U00011d31-\U00011d45\U00011d47\U00011d8a-\U00011d97\U00011ef3-\U00011ef6\U00011f00-\U00011f01\U00011f03\U00011f34-\U00011f42\U00011f5a\U00013440\U00013447-\U00013455\U0001611e-\U0001612f\U00016af0-\U00016af4\U00016b30-\U00016b36\U00016f4f\U00016f51-\U00016f92\U00016fe4-\U00016ff1\U0001bc9d-\U0001bc9e\U0001cf00-\U0001cf46\U0001d165-\U0001d169\U0001d16d-\U0001d172\U0001d17b-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244\U0001da00-\U0001da36\U0001da3b-\U0001da6c\U0001da75\U0001da84\U0001da9b-\U0001daaf\U0001e000-\U0001e02a\U0001e08f\U0001e130-\U0001e136\U0001e2ae\U0001e2ec-\U0001e2ef\U0001e4ec-\U0001e4ef\U0001e5ee-\U0001e5ef\U0001e6e3\U0001e6e6\U0001e6ee-\U0001e6ef\U0001e6f5\U0001e8d0-\U0001e8d6\U0001e944-\U0001e94a\U000e0100-\U000e01ef]+' collate "C", '', 'g') collate "und-x-icu"),
              'ς', 'σ'
            ),
            '[^[:alnum:]]+', ' ', 'g'
          ) collate "C"
        end;
        words text[] := string_to_array(trim(word_list), ' ');
      begin
        if length(word_list) <= 500 then
          return words;
        end if;
        return array(select left(word, 500) from unnest(words) with ordinality as each_word (word, place) order by place);
      end $_$;

CREATE FUNCTION public.stamp_order() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    begin
      new.transaction_id := pg_current_xact_id();
      return new;
    end $$;

CREATE TABLE public.api_keys (
    api_key_id bigint NOT NULL,
    key_name text NOT NULL COLLATE pg_catalog."C",
    key_digest bytea NOT NULL,
    partner_name text COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    is_read_only boolean DEFAULT false NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT api_keys_digest_is_whole CHECK ((octet_length(key_digest) = 32)),
    CONSTRAINT api_keys_name_not_blank CHECK ((key_name ~ '\S'::text))
);

ALTER TABLE public.api_keys ALTER COLUMN api_key_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.api_keys_api_key_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.catalog_versions (
    run_id bigint NOT NULL,
    partner_id bigint,
    effective_at timestamp with time zone NOT NULL,
    job_id bigint,
    run integer,
    pruned_at timestamp with time zone
);

CREATE TABLE public.digest_blocks (
    partner_id bigint NOT NULL,
    block_number integer NOT NULL,
    records bytea NOT NULL,
    skus bytea NOT NULL,
    CONSTRAINT digest_blocks_of_as_many_skus CHECK ((octet_length(records) = octet_length(skus)))
);
ALTER TABLE ONLY public.digest_blocks ALTER COLUMN records SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.digest_blocks ALTER COLUMN skus SET STORAGE EXTERNAL;

CREATE SEQUENCE public.early_withdrawal_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.feeds (
    feed_id bigint NOT NULL,
    partner_id bigint NOT NULL,
    filename text NOT NULL,
    content_type text NOT NULL,
    status text DEFAULT 'processing'::text NOT NULL,
    uploaded_at timestamp with time zone DEFAULT now() NOT NULL,
    raw_file_bucket text NOT NULL,
    raw_file_object_key text NOT NULL,
    sha256 bytea NOT NULL,
    size_bytes bigint NOT NULL,
    mode text DEFAULT 'upsert'::text NOT NULL,
    collection text DEFAULT 'main'::text NOT NULL COLLATE pg_catalog."C",
    max_skipped_percent numeric,
    last_completed_at timestamp with time zone,
    raw_file_removed_at timestamp with time zone,
    delimiter text COLLATE pg_catalog."C",
    format_name text COLLATE pg_catalog."C",
    format_definition json,
    CONSTRAINT feeds_sha256_is_whole CHECK ((octet_length(sha256) = 32)),
    CONSTRAINT feeds_size_positive CHECK ((size_bytes > 0)),
    CONSTRAINT feeds_status_known CHECK ((status = ANY (ARRAY['uploaded'::text, 'processing'::text, 'validating'::text, 'validated'::text, 'processed'::text, 'failed'::text])))
);

ALTER TABLE public.feeds ALTER COLUMN feed_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.feeds_feed_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.idempotency_keys (
    api_key_digest bytea NOT NULL,
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    request_digest bytea NOT NULL,
    response_body json NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT idempotency_keys_digests_are_whole CHECK (((octet_length(api_key_digest) = 32) AND (octet_length(request_digest) = 32)))
);

CREATE TABLE public.knex_migrations (
    id integer NOT NULL,
    name character varying(255),
    batch integer,
    migration_time timestamp with time zone
);

CREATE SEQUENCE public.knex_migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.knex_migrations_id_seq OWNED BY public.knex_migrations.id;

CREATE TABLE public.knex_migrations_lock (
    index integer NOT NULL,
    is_locked integer
);

CREATE SEQUENCE public.knex_migrations_lock_index_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.knex_migrations_lock_index_seq OWNED BY public.knex_migrations_lock.index;

CREATE TABLE public.manual_changes (
    manual_change_id bigint NOT NULL,
    partner_id bigint NOT NULL
);

ALTER TABLE public.manual_changes ALTER COLUMN manual_change_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.manual_changes_manual_change_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.order_items (
    order_item_id bigint NOT NULL,
    order_id bigint NOT NULL,
    product_id bigint NOT NULL,
    sku text NOT NULL,
    product_name text NOT NULL,
    quantity integer NOT NULL,
    unit_price numeric(16,4) NOT NULL,
    line_total numeric NOT NULL,
    run_id bigint,
    record_offset bigint,
    feed_id bigint,
    CONSTRAINT order_items_price_not_negative CHECK ((unit_price >= (0)::numeric)),
    CONSTRAINT order_items_quantity_positive CHECK ((quantity > 0)),
    CONSTRAINT order_items_total_is_product CHECK ((line_total = (unit_price * (quantity)::numeric)))
);

ALTER TABLE public.order_items ALTER COLUMN order_item_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.order_items_order_item_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.orders (
    order_id bigint NOT NULL,
    partner_name text NOT NULL COLLATE pg_catalog."C",
    customer_reference text,
    status text DEFAULT 'created'::text NOT NULL,
    total_amount numeric NOT NULL,
    currency text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    transaction_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
    CONSTRAINT orders_status_known CHECK ((status = 'created'::text)),
    CONSTRAINT orders_total_not_negative CHECK ((total_amount >= (0)::numeric))
);

ALTER TABLE public.orders ALTER COLUMN order_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.orders_order_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.partner_counts (
    partner_count_id bigint NOT NULL,
    partner_id bigint NOT NULL,
    products bigint DEFAULT 0 NOT NULL,
    feeds bigint DEFAULT 0 NOT NULL,
    last_completed_at timestamp with time zone
);

ALTER TABLE public.partner_counts ALTER COLUMN partner_count_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.partner_counts_partner_count_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.partner_formats (
    partner_id bigint NOT NULL,
    format_name text NOT NULL COLLATE pg_catalog."C",
    definition json NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.partners (
    partner_id bigint NOT NULL,
    partner_name text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT partners_name_not_blank CHECK ((partner_name ~ '\S'::text))
);

ALTER TABLE public.partners ALTER COLUMN partner_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.partners_partner_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.product_horizons (
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.product_versions (
    partner_id bigint NOT NULL,
    product_id bigint NOT NULL,
    until_run_id bigint NOT NULL,
    run_id bigint,
    feed_id bigint NOT NULL,
    record_offset bigint,
    created_at timestamp with time zone NOT NULL,
    withdrawn_at timestamp with time zone,
    price numeric(16,4),
    is_external boolean DEFAULT false NOT NULL,
    sku text NOT NULL COLLATE pg_catalog."C",
    product_name text NOT NULL COLLATE pg_catalog."C",
    description text,
    brand text COLLATE pg_catalog."C",
    category text COLLATE pg_catalog."C",
    currency text COLLATE pg_catalog."C",
    availability text COLLATE pg_catalog."C",
    collection text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.product_words (
    partner_id bigint NOT NULL,
    product_id bigint NOT NULL,
    words tsvector NOT NULL
);

CREATE TABLE public.products (
    product_id bigint NOT NULL,
    feed_id bigint NOT NULL,
    partner_id bigint NOT NULL,
    sku text NOT NULL COLLATE pg_catalog."C",
    product_name text NOT NULL COLLATE pg_catalog."C",
    description text,
    brand text COLLATE pg_catalog."C",
    category text COLLATE pg_catalog."C",
    price numeric(16,4),
    currency text COLLATE pg_catalog."C",
    availability text COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    withdrawn_at timestamp with time zone,
    run_id bigint,
    record_offset bigint,
    collection text DEFAULT 'main'::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT products_price_not_negative CHECK ((price >= (0)::numeric))
)
PARTITION BY HASH (partner_id);

CREATE TABLE public.products_1_of_4 (
    product_id bigint NOT NULL,
    feed_id bigint NOT NULL,
    partner_id bigint NOT NULL,
    sku text NOT NULL COLLATE pg_catalog."C",
    product_name text NOT NULL COLLATE pg_catalog."C",
    description text,
    brand text COLLATE pg_catalog."C",
    category text COLLATE pg_catalog."C",
    price numeric(16,4),
    currency text COLLATE pg_catalog."C",
    availability text COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    withdrawn_at timestamp with time zone,
    run_id bigint,
    record_offset bigint,
    collection text DEFAULT 'main'::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT products_price_not_negative CHECK ((price >= (0)::numeric))
);

CREATE TABLE public.products_2_of_4 (
    product_id bigint NOT NULL,
    feed_id bigint NOT NULL,
    partner_id bigint NOT NULL,
    sku text NOT NULL COLLATE pg_catalog."C",
    product_name text NOT NULL COLLATE pg_catalog."C",
    description text,
    brand text COLLATE pg_catalog."C",
    category text COLLATE pg_catalog."C",
    price numeric(16,4),
    currency text COLLATE pg_catalog."C",
    availability text COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    withdrawn_at timestamp with time zone,
    run_id bigint,
    record_offset bigint,
    collection text DEFAULT 'main'::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT products_price_not_negative CHECK ((price >= (0)::numeric))
);

CREATE TABLE public.products_3_of_4 (
    product_id bigint NOT NULL,
    feed_id bigint NOT NULL,
    partner_id bigint NOT NULL,
    sku text NOT NULL COLLATE pg_catalog."C",
    product_name text NOT NULL COLLATE pg_catalog."C",
    description text,
    brand text COLLATE pg_catalog."C",
    category text COLLATE pg_catalog."C",
    price numeric(16,4),
    currency text COLLATE pg_catalog."C",
    availability text COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    withdrawn_at timestamp with time zone,
    run_id bigint,
    record_offset bigint,
    collection text DEFAULT 'main'::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT products_price_not_negative CHECK ((price >= (0)::numeric))
);

CREATE TABLE public.products_4_of_4 (
    product_id bigint NOT NULL,
    feed_id bigint NOT NULL,
    partner_id bigint NOT NULL,
    sku text NOT NULL COLLATE pg_catalog."C",
    product_name text NOT NULL COLLATE pg_catalog."C",
    description text,
    brand text COLLATE pg_catalog."C",
    category text COLLATE pg_catalog."C",
    price numeric(16,4),
    currency text COLLATE pg_catalog."C",
    availability text COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    withdrawn_at timestamp with time zone,
    run_id bigint,
    record_offset bigint,
    collection text DEFAULT 'main'::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT products_price_not_negative CHECK ((price >= (0)::numeric))
);

ALTER TABLE public.products ALTER COLUMN product_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.products_product_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.record_digests (
    partner_id bigint NOT NULL,
    block_number integer NOT NULL,
    records bytea NOT NULL,
    skus bytea NOT NULL,
    CONSTRAINT record_digests_of_as_many_skus CHECK ((octet_length(records) = octet_length(skus)))
);
ALTER TABLE ONLY public.record_digests ALTER COLUMN records SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.record_digests ALTER COLUMN skus SET STORAGE EXTERNAL;

CREATE TABLE public.removed_objects (
    bucket text NOT NULL COLLATE pg_catalog."C",
    object_key text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.retention (
    is_the_only_row boolean DEFAULT true NOT NULL,
    pruned_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    lease_holder uuid,
    leased_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT retention_is_the_only_row_check CHECK (is_the_only_row)
);

CREATE TABLE public.row_issues (
    job_id bigint NOT NULL,
    issue_number integer NOT NULL,
    line bigint NOT NULL,
    last_line bigint NOT NULL,
    row_number bigint NOT NULL,
    sku text,
    field text,
    column_number integer,
    code text NOT NULL,
    severity text NOT NULL,
    message text NOT NULL,
    value text,
    CONSTRAINT row_issues_severity_known CHECK ((severity = ANY (ARRAY['error'::text, 'warning'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.005', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='1');

CREATE SEQUENCE public.run_ids
    START WITH 1000000000000
    INCREMENT BY 10000000
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.runs (
    job_id bigint NOT NULL,
    run integer NOT NULL,
    kind text DEFAULT 'load'::text NOT NULL,
    status text NOT NULL,
    mode text,
    requested_by text,
    requested_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    failure_reason text,
    processed bigint,
    inserted bigint,
    updated bigint,
    unchanged bigint,
    skipped bigint,
    withdrawn bigint,
    restored bigint,
    would_withdraw bigint,
    withdrawals_withheld boolean,
    reverts_run integer,
    skips_conflicts boolean DEFAULT false NOT NULL,
    attempts_left smallint DEFAULT 0 NOT NULL,
    request_id text COLLATE pg_catalog."C",
    CONSTRAINT runs_counted_when_finished CHECK (((status = ANY (ARRAY['completed'::text, 'failed'::text])) = (num_nonnulls(finished_at, processed, inserted, updated, unchanged, skipped) = 6))),
    CONSTRAINT runs_kind_known CHECK ((kind = ANY (ARRAY['load'::text, 'revert'::text]))),
    CONSTRAINT runs_reason_when_failed CHECK (((status = 'failed'::text) = (failure_reason IS NOT NULL))),
    CONSTRAINT runs_reverts_a_run CHECK (((kind = 'revert'::text) = (reverts_run IS NOT NULL))),
    CONSTRAINT runs_status_known CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'failed'::text])))
);

CREATE TABLE public.sales_by_day (
    sales_day date NOT NULL,
    currency text NOT NULL COLLATE pg_catalog."C",
    units_sold bigint NOT NULL,
    total_sales numeric NOT NULL
)
WITH (fillfactor='90');

CREATE TABLE public.sales_by_partner (
    partner_name text NOT NULL COLLATE pg_catalog."C",
    currency text NOT NULL COLLATE pg_catalog."C",
    units_sold bigint NOT NULL,
    total_sales numeric NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.sales_by_partner_and_day (
    partner_name text NOT NULL COLLATE pg_catalog."C",
    sales_day date NOT NULL,
    currency text NOT NULL COLLATE pg_catalog."C",
    units_sold bigint NOT NULL,
    total_sales numeric NOT NULL
)
WITH (fillfactor='90');

CREATE TABLE public.sales_changes (
    partner_name text COLLATE pg_catalog."C",
    sales_day date
);

CREATE TABLE public.sales_rollup (
    is_the_only_row boolean DEFAULT true NOT NULL,
    seen pg_snapshot NOT NULL,
    transaction_id xid8 NOT NULL,
    rolled_up_at timestamp with time zone NOT NULL,
    CONSTRAINT sales_rollup_is_the_only_row_check CHECK (is_the_only_row)
);

CREATE TABLE public.sales_verification (
    is_the_only_row boolean DEFAULT true NOT NULL,
    fingerprint text NOT NULL,
    verified_at timestamp with time zone NOT NULL,
    seconds double precision NOT NULL,
    CONSTRAINT sales_verification_is_the_only_row_check CHECK (is_the_only_row)
);

CREATE TABLE public.schema_compatibility (
    compatible_from text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.schema_migrations (
    id integer NOT NULL,
    name character varying(255),
    batch integer,
    migration_time timestamp with time zone
);

CREATE SEQUENCE public.schema_migrations_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.schema_migrations_id_seq OWNED BY public.schema_migrations.id;

CREATE TABLE public.schema_migrations_lock (
    index integer NOT NULL,
    is_locked integer
);

CREATE SEQUENCE public.schema_migrations_lock_index_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.schema_migrations_lock_index_seq OWNED BY public.schema_migrations_lock.index;

CREATE TABLE public.search_backlog (
    search_backlog_id bigint NOT NULL,
    partner_id bigint NOT NULL,
    feed_id bigint,
    product_ids bigint[],
    logged_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE public.search_backlog ALTER COLUMN search_backlog_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.search_backlog_search_backlog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.source_digests (
    feed_id bigint NOT NULL,
    record_offset bigint NOT NULL,
    sha256 bytea NOT NULL,
    CONSTRAINT source_digests_sha256_check CHECK ((octet_length(sha256) = 32))
);

CREATE TABLE public.source_fetches (
    source_id bigint NOT NULL,
    fetch_number integer NOT NULL,
    slot_at timestamp with time zone,
    status text NOT NULL,
    requested_by text,
    requested_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now() NOT NULL,
    http_status integer,
    feed_id bigint,
    failure_reason text,
    CONSTRAINT source_fetches_finished CHECK (((status = ANY (ARRAY['queued'::text, 'running'::text])) = (finished_at IS NULL))),
    CONSTRAINT source_fetches_status_known CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'unchanged'::text, 'failed'::text, 'skipped'::text])))
);

CREATE TABLE public.sources (
    source_id bigint NOT NULL,
    partner_id bigint NOT NULL,
    source_name text NOT NULL COLLATE pg_catalog."C",
    format_name text COLLATE pg_catalog."C",
    definition json NOT NULL,
    secrets bytea,
    next_slot_at timestamp with time zone,
    scheduled_at timestamp with time zone DEFAULT now() NOT NULL,
    failures_in_a_row integer DEFAULT 0 NOT NULL,
    fetch_count integer DEFAULT 0 NOT NULL,
    last_feed_id bigint,
    etag text,
    last_modified text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.sources ALTER COLUMN source_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.sources_source_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.stale_partners (
    partner_id bigint NOT NULL,
    completed_at timestamp with time zone NOT NULL,
    is_stale boolean NOT NULL
);

CREATE TABLE public.submission_jobs (
    job_id bigint NOT NULL,
    feed_id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.submission_jobs ALTER COLUMN job_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.submission_jobs_job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.validation_jobs (
    job_id bigint NOT NULL,
    feed_id bigint NOT NULL,
    status text DEFAULT 'queued'::text NOT NULL,
    run_count integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    failure_reason text,
    processed bigint,
    inserted bigint,
    updated bigint,
    unchanged bigint,
    skipped bigint,
    issue_counts json DEFAULT '[]'::json NOT NULL,
    queued_at timestamp with time zone,
    progress jsonb,
    cancel_requested boolean DEFAULT false NOT NULL,
    run_requested_at timestamp with time zone,
    attempts_left smallint DEFAULT 0 NOT NULL,
    run_partner_id bigint,
    max_withdrawn bigint,
    allow_older boolean DEFAULT false NOT NULL,
    withdrawn bigint,
    restored bigint,
    would_withdraw bigint,
    withdrawals_withheld boolean,
    issues_removed_at timestamp with time zone,
    requested_by text,
    max_withdrawn_percent double precision,
    request_id text COLLATE pg_catalog."C",
    CONSTRAINT validation_jobs_counted_when_finished CHECK (((status = ANY (ARRAY['completed'::text, 'failed'::text])) = (num_nonnulls(finished_at, processed, inserted, updated, unchanged, skipped) = 6))),
    CONSTRAINT validation_jobs_queued_until_it_runs CHECK (((queued_at IS NULL) OR (status = 'queued'::text))),
    CONSTRAINT validation_jobs_reason_when_failed CHECK (((status = 'failed'::text) = (failure_reason IS NOT NULL))),
    CONSTRAINT validation_jobs_rows_accounted_for CHECK ((processed = (((inserted + updated) + unchanged) + skipped))),
    CONSTRAINT validation_jobs_status_known CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'completed'::text, 'failed'::text])))
);

ALTER TABLE public.validation_jobs ALTER COLUMN job_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.validation_jobs_job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhook_deliveries (
    webhook_delivery_id bigint NOT NULL,
    webhook_endpoint_id bigint NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    event_type text NOT NULL COLLATE pg_catalog."C",
    happened_at timestamp with time zone NOT NULL,
    content json NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now() NOT NULL,
    is_being_sent boolean DEFAULT false NOT NULL,
    last_result text
);

ALTER TABLE public.webhook_deliveries ALTER COLUMN webhook_delivery_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_deliveries_webhook_delivery_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhook_endpoints (
    webhook_endpoint_id bigint NOT NULL,
    url text NOT NULL COLLATE pg_catalog."C",
    partner_name text COLLATE pg_catalog."C",
    event_types text[],
    secret text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    disabled_at timestamp with time zone,
    disabled_reason text,
    failures_in_a_row integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    paused_until timestamp with time zone,
    failed_at timestamp with time zone,
    failure_reason text,
    given_up bigint DEFAULT 0 NOT NULL
);

ALTER TABLE public.webhook_endpoints ALTER COLUMN webhook_endpoint_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_endpoints_webhook_endpoint_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhook_outcomes (
    webhook_outcome_id bigint NOT NULL,
    webhook_endpoint_id bigint NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    event_type text NOT NULL COLLATE pg_catalog."C",
    happened_at timestamp with time zone NOT NULL,
    content json NOT NULL,
    attempts integer NOT NULL,
    outcome text NOT NULL COLLATE pg_catalog."C",
    last_result text,
    ended_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT webhook_outcomes_outcome_known CHECK ((outcome = ANY (ARRAY['delivered'::text, 'discarded'::text])))
);

ALTER TABLE public.webhook_outcomes ALTER COLUMN webhook_outcome_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.webhook_outcomes_webhook_outcome_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY public.products ATTACH PARTITION public.products_1_of_4 FOR VALUES WITH (modulus 4, remainder 0);

ALTER TABLE ONLY public.products ATTACH PARTITION public.products_2_of_4 FOR VALUES WITH (modulus 4, remainder 1);

ALTER TABLE ONLY public.products ATTACH PARTITION public.products_3_of_4 FOR VALUES WITH (modulus 4, remainder 2);

ALTER TABLE ONLY public.products ATTACH PARTITION public.products_4_of_4 FOR VALUES WITH (modulus 4, remainder 3);

ALTER TABLE ONLY public.knex_migrations ALTER COLUMN id SET DEFAULT nextval('public.knex_migrations_id_seq'::regclass);

ALTER TABLE ONLY public.knex_migrations_lock ALTER COLUMN index SET DEFAULT nextval('public.knex_migrations_lock_index_seq'::regclass);

ALTER TABLE ONLY public.schema_migrations ALTER COLUMN id SET DEFAULT nextval('public.schema_migrations_id_seq'::regclass);

ALTER TABLE ONLY public.schema_migrations_lock ALTER COLUMN index SET DEFAULT nextval('public.schema_migrations_lock_index_seq'::regclass);

INSERT INTO public.catalog_versions VALUES (0, NULL, '2026-11-25 16:01:05.939673+00', NULL, NULL, NULL);
INSERT INTO public.catalog_versions VALUES (1000000000000, 1, '2026-11-25 16:01:10.039882+00', 1, 1, NULL);
INSERT INTO public.catalog_versions VALUES (1000010000000, 2, '2026-11-25 16:01:10.376154+00', 2, 1, NULL);
INSERT INTO public.catalog_versions VALUES (1000020000000, 1, '2026-11-25 16:01:12.658516+00', 3, 1, NULL);

INSERT INTO public.digest_blocks VALUES (2, 0, '\xaeda856b1010e52284d04b42ec8cce667e0c9d0cdf983912', '\x7c631ca033d3fdd85da4fc3130ef67ad1213e3b74098c4c9');
INSERT INTO public.digest_blocks VALUES (1, 0, '\x52232e0bf6bda87f59caf0a9e545a0b71e520d0c306ea92a08f6a0b85de57933fc5409b8', '\x7c631ca033d3fdd85da4fc315a6322f9349c9c09d1d2dfed4ea9252a19cdda5d2c081e61');

INSERT INTO public.feeds VALUES (1, 1, 'acme1.csv', 'text/csv', 'processed', '2026-11-25 16:01:08.083264+00', 'local', 'raw/partners/acme-outdoor/feeds/FD00001/acme1.csv', '\xb4653c091b66d7e0b32e6e49f94e96800e341c0d53d7574634533c4aecc1f19e', 236, 'upsert', 'main', NULL, '2026-11-25 16:01:10.026611+00', NULL, ',', NULL, NULL);
INSERT INTO public.feeds VALUES (2, 2, 'north.csv', 'text/csv', 'processed', '2026-11-25 16:01:10.224786+00', 'local', 'raw/partners/northwind/feeds/FD00002/north.csv', '\x73b80bea8a88e644c6601864bda7493029b2e6b2001f26bbc79a6517e60efaa0', 175, 'upsert', 'main', NULL, '2026-11-25 16:01:10.373374+00', NULL, ',', NULL, NULL);
INSERT INTO public.feeds VALUES (3, 1, 'acme2.csv', 'text/csv', 'processed', '2026-11-25 16:01:12.489332+00', 'local', 'raw/partners/acme-outdoor/feeds/FD00003/acme2.csv', '\x9eabd41a960af5e394d5c47578e74dd64b0275d48a2b7c9eb149df76e0c55e82', 293, 'upsert', 'main', NULL, '2026-11-25 16:01:12.654217+00', NULL, ',', NULL, NULL);

INSERT INTO public.knex_migrations VALUES (1, '20261121090000_create_catalog', 1, '2026-11-25 16:01:05.133+00');
INSERT INTO public.knex_migrations VALUES (2, '20261121220000_add_api_keys', 1, '2026-11-25 16:01:05.153+00');
INSERT INTO public.knex_migrations VALUES (3, '20261121230000_create_idempotency_keys', 1, '2026-11-25 16:01:05.164+00');
INSERT INTO public.knex_migrations VALUES (4, '20261122010000_index_catalog', 1, '2026-11-25 16:01:05.182+00');
INSERT INTO public.knex_migrations VALUES (5, '20261122020000_roll_up_sales', 1, '2026-11-25 16:01:05.243+00');
INSERT INTO public.knex_migrations VALUES (6, '20261122030000_keep_record_digests', 1, '2026-11-25 16:01:05.264+00');
INSERT INTO public.knex_migrations VALUES (7, '20261122040000_trust_the_feed_of_a_product', 1, '2026-11-25 16:01:05.27+00');
INSERT INTO public.knex_migrations VALUES (8, '20261122050000_create_product_horizons', 1, '2026-11-25 16:01:05.28+00');
INSERT INTO public.knex_migrations VALUES (9, '20261122060000_queue_runs', 1, '2026-11-25 16:01:05.286+00');
INSERT INTO public.knex_migrations VALUES (10, '20261122070000_show_progress', 1, '2026-11-25 16:01:05.291+00');
INSERT INTO public.knex_migrations VALUES (11, '20261122080000_create_webhook_endpoints', 1, '2026-11-25 16:01:05.304+00');

INSERT INTO public.knex_migrations_lock VALUES (2, 0);

INSERT INTO public.order_items OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'TENT-1', 'Two-person tent', 2, 189.9000, 379.8000, 1000000000000, 60, 1);
INSERT INTO public.order_items OVERRIDING SYSTEM VALUE VALUES (2, 1, 5, 'BOOT-1', 'Hiking boots', 1, 129.0000, 129.0000, 1000010000000, 123, 2);

INSERT INTO public.orders OVERRIDING SYSTEM VALUE VALUES (1, 'Northwind', NULL, 'created', 508.8000, 'EUR', '2026-11-25 16:01:12.83958+00', '1009');

INSERT INTO public.partner_counts OVERRIDING SYSTEM VALUE VALUES (6, 2, 2, 1, '2026-11-25 16:01:10.370536+00');
INSERT INTO public.partner_counts OVERRIDING SYSTEM VALUE VALUES (8, 1, 3, 2, '2026-11-25 16:01:12.650785+00');

INSERT INTO public.partners OVERRIDING SYSTEM VALUE VALUES (1, 'Acme Outdoor');
INSERT INTO public.partners OVERRIDING SYSTEM VALUE VALUES (2, 'Northwind');

INSERT INTO public.product_horizons VALUES ('2026-11-25 16:01:10.286207+00');

INSERT INTO public.product_versions VALUES (1, 2, 1000020000000, 1000000000000, 1, 123, '2026-11-25 16:01:09.69873+00', NULL, 24.9000, false, 'LAMP-1', 'Head lamp', NULL, 'Lumen', 'Camping/Lamps', 'EUR', 'in_stock', 'main');

INSERT INTO public.product_words VALUES (1, 1, '''1'' ''fjord'' ''person'' ''tent'' ''two''');
INSERT INTO public.product_words VALUES (1, 2, '''1'' ''head'' ''lamp'' ''lumen''');
INSERT INTO public.product_words VALUES (1, 3, '''1'' ''fjord'' ''mat'' ''sleeping''');
INSERT INTO public.product_words VALUES (2, 5, '''1'' ''boot'' ''boots'' ''fjord'' ''hiking''');
INSERT INTO public.product_words VALUES (2, 4, '''1'' ''north'' ''tent'' ''tunnel''');

INSERT INTO public.products_1_of_4 VALUES (1, 1, 1, 'TENT-1', 'Two-person tent', NULL, 'Fjord', 'Camping/Tents', 189.9000, 'EUR', 'in_stock', '2026-11-25 16:01:09.69873+00', NULL, 1000000000000, 60, 'main');
INSERT INTO public.products_1_of_4 VALUES (3, 1, 1, 'MAT-1', 'Sleeping mat', NULL, 'Fjord', 'Camping/Mats', 59.0000, 'EUR', 'in_stock', '2026-11-25 16:01:09.69873+00', NULL, 1000000000000, 179, 'main');
INSERT INTO public.products_1_of_4 VALUES (2, 3, 1, 'LAMP-1', 'Head lamp', NULL, 'Lumen', 'Camping/Lamps', 22.9000, 'EUR', 'in_stock', '2026-11-25 16:01:09.69873+00', NULL, 1000020000000, 123, 'main');

INSERT INTO public.products_3_of_4 VALUES (4, 2, 2, 'TENT-1', 'Tunnel tent', NULL, 'North', 'Camping/Tents', 399.0000, 'EUR', 'out_of_stock', '2026-11-25 16:01:10.286207+00', NULL, 1000010000000, 60, 'main');
INSERT INTO public.products_3_of_4 VALUES (5, 2, 2, 'BOOT-1', 'Hiking boots', NULL, 'Fjord', 'Shoes', 129.0000, 'EUR', 'in_stock', '2026-11-25 16:01:10.286207+00', NULL, 1000010000000, 123, 'main');

INSERT INTO public.retention VALUES (true, '-infinity', NULL, '-infinity');

INSERT INTO public.row_issues VALUES (3, 1, 5, 5, 4, 'STOVE-1', 'price', 5, 'invalid_price', 'error', 'price is not a number in the accepted form, for example 1299.00, 1,299.00, $5 or 5 EUR, and at most 999,999,999,999.9999.', 'oops');

INSERT INTO public.runs VALUES (1, 1, 'load', 'completed', 'upsert', 'api-keys', '2026-11-25 16:01:08.362453+00', '2026-11-25 16:01:09.754372+00', '2026-11-25 16:01:10.019833+00', NULL, 3, 3, 0, 0, 0, 0, 0, NULL, NULL, NULL, false, 0, NULL);
INSERT INTO public.runs VALUES (2, 1, 'load', 'completed', 'upsert', 'api-keys', '2026-11-25 16:01:10.283654+00', '2026-11-25 16:01:10.291126+00', '2026-11-25 16:01:10.370536+00', NULL, 2, 2, 0, 0, 0, 0, 0, NULL, NULL, NULL, false, 0, NULL);
INSERT INTO public.runs VALUES (3, 1, 'load', 'completed', 'upsert', 'api-keys', '2026-11-25 16:01:12.537985+00', '2026-11-25 16:01:12.546625+00', '2026-11-25 16:01:12.650785+00', NULL, 4, 0, 1, 2, 1, 0, 0, NULL, NULL, NULL, false, 0, NULL);

INSERT INTO public.sales_by_day VALUES ('2026-11-25', 'EUR', 3, 508.8000);

INSERT INTO public.sales_by_partner VALUES ('Northwind', 'EUR', 3, 508.8000);

INSERT INTO public.sales_by_partner_and_day VALUES ('Northwind', '2026-11-25', 'EUR', 3, 508.8000);

INSERT INTO public.sales_rollup VALUES (true, '1010:1010:', '1010', '2026-11-25 16:01:13.092651+00');

INSERT INTO public.sales_verification VALUES (true, 'f1fd9689f0941ad167624814e28b24a4', '2026-11-25 16:01:09.034632+00', 0.02878355400000055);

INSERT INTO public.schema_compatibility VALUES ('1.2.0');

INSERT INTO public.schema_migrations VALUES (1, '20261122090000_keep_compatibility', 1, '2026-11-25 16:01:05.393+00');
INSERT INTO public.schema_migrations VALUES (2, '20261122100000_note_changed_creation_times', 1, '2026-11-25 16:01:05.413+00');
INSERT INTO public.schema_migrations VALUES (3, '20261122100100_correct_sales', 1, '2026-11-25 16:01:05.455+00');
INSERT INTO public.schema_migrations VALUES (4, '20261122110000_retire_record_digests', 1, '2026-11-25 16:01:05.463+00');
INSERT INTO public.schema_migrations VALUES (5, '20261122110100_log_manual_changes', 1, '2026-11-25 16:01:05.494+00');
INSERT INTO public.schema_migrations VALUES (6, '20261122120000_create_webhook_deliveries', 1, '2026-11-25 16:01:05.521+00');
INSERT INTO public.schema_migrations VALUES (7, '20261122120100_queue_runs_in_their_jobs', 1, '2026-11-25 16:01:05.539+00');
INSERT INTO public.schema_migrations VALUES (8, '20261122130000_limit_api_keys', 1, '2026-11-25 16:01:05.546+00');
INSERT INTO public.schema_migrations VALUES (9, '20261122230000_keep_webhook_outcomes', 1, '2026-11-25 16:01:05.565+00');
INSERT INTO public.schema_migrations VALUES (10, '20261123010000_prepare_products', 1, '2026-11-25 16:01:05.686+00');
INSERT INTO public.schema_migrations VALUES (11, '20261123020000_search_products', 1, '2026-11-25 16:01:05.727+00');
INSERT INTO public.schema_migrations VALUES (12, '20261123030000_read_pages_by_index', 1, '2026-11-25 16:01:05.733+00');
INSERT INTO public.schema_migrations VALUES (13, '20261123050000_list_feeds', 1, '2026-11-25 16:01:05.741+00');
INSERT INTO public.schema_migrations VALUES (14, '20261123080000_count_partners', 1, '2026-11-25 16:01:05.765+00');
INSERT INTO public.schema_migrations VALUES (15, '20261123090000_withdraw_products', 1, '2026-11-25 16:01:05.787+00');
INSERT INTO public.schema_migrations VALUES (16, '20261123090100_load_in_modes', 1, '2026-11-25 16:01:05.806+00');
INSERT INTO public.schema_migrations VALUES (17, '20261123100000_retain_data', 1, '2026-11-25 16:01:05.849+00');
INSERT INTO public.schema_migrations VALUES (18, '20261123110000_keep_history', 1, '2026-11-25 16:01:05.941+00');
INSERT INTO public.schema_migrations VALUES (19, '20261123120000_read_history', 1, '2026-11-25 16:01:05.952+00');
INSERT INTO public.schema_migrations VALUES (20, '20261123120100_keep_sources', 1, '2026-11-25 16:01:05.969+00');
INSERT INTO public.schema_migrations VALUES (21, '20261123130000_revert_runs', 1, '2026-11-25 16:01:06.058+00');
INSERT INTO public.schema_migrations VALUES (22, '20261123140000_keep_formats', 1, '2026-11-25 16:01:06.083+00');
INSERT INTO public.schema_migrations VALUES (23, '20261123160000_fetch_feeds', 1, '2026-11-25 16:01:06.142+00');
INSERT INTO public.schema_migrations VALUES (24, '20261123170000_trace_runs', 1, '2026-11-25 16:01:06.176+00');
INSERT INTO public.schema_migrations VALUES (25, '20261124010000_notice_stale_partners', 1, '2026-11-25 16:01:06.207+00');
INSERT INTO public.schema_migrations VALUES (26, '20261124090000_order_by_statement', 1, '2026-11-25 16:01:06.221+00');
INSERT INTO public.schema_migrations VALUES (27, '20261124090100_claim_idempotency_keys', 1, '2026-11-25 16:01:06.226+00');

INSERT INTO public.schema_migrations_lock VALUES (2, 0);

INSERT INTO public.submission_jobs OVERRIDING SYSTEM VALUE VALUES (1, 1, '2026-11-25 16:01:08.083264+00');
INSERT INTO public.submission_jobs OVERRIDING SYSTEM VALUE VALUES (2, 2, '2026-11-25 16:01:10.224786+00');
INSERT INTO public.submission_jobs OVERRIDING SYSTEM VALUE VALUES (3, 3, '2026-11-25 16:01:12.489332+00');

INSERT INTO public.validation_jobs OVERRIDING SYSTEM VALUE VALUES (1, 1, 'completed', 1, '2026-11-25 16:01:08.083264+00', '2026-11-25 16:01:09.754372+00', '2026-11-25 16:01:10.019833+00', NULL, 3, 3, 0, 0, 0, '[]', NULL, NULL, false, NULL, 0, 1, NULL, false, 0, 0, NULL, NULL, NULL, 'api-keys', NULL, 'eac522b8-58f9-4d10-8aee-32823a759a89');
INSERT INTO public.validation_jobs OVERRIDING SYSTEM VALUE VALUES (2, 2, 'completed', 1, '2026-11-25 16:01:10.224786+00', '2026-11-25 16:01:10.291126+00', '2026-11-25 16:01:10.370536+00', NULL, 2, 2, 0, 0, 0, '[]', NULL, NULL, false, NULL, 0, 2, NULL, false, 0, 0, NULL, NULL, NULL, 'api-keys', NULL, 'f64ce202-9fae-47c7-a8ea-45e68040ff69');
INSERT INTO public.validation_jobs OVERRIDING SYSTEM VALUE VALUES (3, 3, 'completed', 1, '2026-11-25 16:01:12.489332+00', '2026-11-25 16:01:12.546625+00', '2026-11-25 16:01:12.650785+00', NULL, 4, 0, 1, 2, 1, '[{"code":"invalid_price","severity":"error","count":1,"first_rows":[{"line":5,"row":4,"sku":"STOVE-1","value":"oops"}]}]', NULL, NULL, false, NULL, 0, 1, NULL, false, 0, 0, NULL, NULL, NULL, 'api-keys', NULL, '67effe8e-4828-4a1c-9720-08599c0fb79b');

SELECT pg_catalog.setval('public.api_keys_api_key_id_seq', 1, false);

SELECT pg_catalog.setval('public.early_withdrawal_ids', 1, false);

SELECT pg_catalog.setval('public.feeds_feed_id_seq', 3, true);

SELECT pg_catalog.setval('public.knex_migrations_id_seq', 11, true);

SELECT pg_catalog.setval('public.knex_migrations_lock_index_seq', 2, true);

SELECT pg_catalog.setval('public.manual_changes_manual_change_id_seq', 1, false);

SELECT pg_catalog.setval('public.order_items_order_item_id_seq', 2, true);

SELECT pg_catalog.setval('public.orders_order_id_seq', 1, true);

SELECT pg_catalog.setval('public.partner_counts_partner_count_id_seq', 8, true);

SELECT pg_catalog.setval('public.partners_partner_id_seq', 2, true);

SELECT pg_catalog.setval('public.products_product_id_seq', 5, true);

SELECT pg_catalog.setval('public.run_ids', 1000020000000, true);

SELECT pg_catalog.setval('public.schema_migrations_id_seq', 27, true);

SELECT pg_catalog.setval('public.schema_migrations_lock_index_seq', 2, true);

SELECT pg_catalog.setval('public.search_backlog_search_backlog_id_seq', 6, true);

SELECT pg_catalog.setval('public.sources_source_id_seq', 1, false);

SELECT pg_catalog.setval('public.submission_jobs_job_id_seq', 3, true);

SELECT pg_catalog.setval('public.validation_jobs_job_id_seq', 3, true);

SELECT pg_catalog.setval('public.webhook_deliveries_webhook_delivery_id_seq', 1, false);

SELECT pg_catalog.setval('public.webhook_endpoints_webhook_endpoint_id_seq', 1, false);

SELECT pg_catalog.setval('public.webhook_outcomes_webhook_outcome_id_seq', 1, false);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_key_digest_key UNIQUE (key_digest);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (api_key_id);

ALTER TABLE ONLY public.catalog_versions
    ADD CONSTRAINT catalog_versions_pkey PRIMARY KEY (run_id);

ALTER TABLE ONLY public.digest_blocks
    ADD CONSTRAINT digest_blocks_pkey PRIMARY KEY (partner_id, block_number);

ALTER TABLE ONLY public.feeds
    ADD CONSTRAINT feeds_feed_id_partner_id_key UNIQUE (feed_id, partner_id);

ALTER TABLE ONLY public.feeds
    ADD CONSTRAINT feeds_pkey PRIMARY KEY (feed_id);

ALTER TABLE ONLY public.feeds
    ADD CONSTRAINT feeds_raw_file_bucket_raw_file_object_key_key UNIQUE (raw_file_bucket, raw_file_object_key);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (api_key_digest, idempotency_key);

ALTER TABLE ONLY public.knex_migrations_lock
    ADD CONSTRAINT knex_migrations_lock_pkey PRIMARY KEY (index);

ALTER TABLE ONLY public.knex_migrations
    ADD CONSTRAINT knex_migrations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.manual_changes
    ADD CONSTRAINT manual_changes_pkey PRIMARY KEY (partner_id, manual_change_id);

ALTER TABLE ONLY public.order_items
    ADD CONSTRAINT order_items_pkey PRIMARY KEY (order_item_id);

ALTER TABLE ONLY public.orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (order_id);

ALTER TABLE ONLY public.partner_counts
    ADD CONSTRAINT partner_counts_pkey PRIMARY KEY (partner_id, partner_count_id);

ALTER TABLE ONLY public.partner_formats
    ADD CONSTRAINT partner_formats_pkey PRIMARY KEY (partner_id, format_name);

ALTER TABLE ONLY public.partners
    ADD CONSTRAINT partners_partner_name_key UNIQUE (partner_name);

ALTER TABLE ONLY public.partners
    ADD CONSTRAINT partners_pkey PRIMARY KEY (partner_id);

ALTER TABLE ONLY public.product_versions
    ADD CONSTRAINT product_versions_pkey PRIMARY KEY (partner_id, product_id, until_run_id);

ALTER TABLE ONLY public.product_words
    ADD CONSTRAINT product_words_pkey PRIMARY KEY (partner_id, product_id);

ALTER TABLE ONLY public.products
    ADD CONSTRAINT products_pkey PRIMARY KEY (partner_id, product_id);

ALTER TABLE ONLY public.products_1_of_4
    ADD CONSTRAINT products_1_of_4_pkey PRIMARY KEY (partner_id, product_id);

ALTER TABLE ONLY public.products_2_of_4
    ADD CONSTRAINT products_2_of_4_pkey PRIMARY KEY (partner_id, product_id);

ALTER TABLE ONLY public.products_3_of_4
    ADD CONSTRAINT products_3_of_4_pkey PRIMARY KEY (partner_id, product_id);

ALTER TABLE ONLY public.products_4_of_4
    ADD CONSTRAINT products_4_of_4_pkey PRIMARY KEY (partner_id, product_id);

ALTER TABLE ONLY public.record_digests
    ADD CONSTRAINT record_digests_pkey PRIMARY KEY (partner_id, block_number);

ALTER TABLE ONLY public.removed_objects
    ADD CONSTRAINT removed_objects_pkey PRIMARY KEY (bucket, object_key);

ALTER TABLE ONLY public.retention
    ADD CONSTRAINT retention_pkey PRIMARY KEY (is_the_only_row);

ALTER TABLE ONLY public.row_issues
    ADD CONSTRAINT row_issues_pkey PRIMARY KEY (job_id, issue_number);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (job_id, run);

ALTER TABLE ONLY public.sales_by_day
    ADD CONSTRAINT sales_by_day_pkey PRIMARY KEY (sales_day, currency);

ALTER TABLE ONLY public.sales_by_partner_and_day
    ADD CONSTRAINT sales_by_partner_and_day_pkey PRIMARY KEY (partner_name, sales_day, currency);

ALTER TABLE ONLY public.sales_by_partner
    ADD CONSTRAINT sales_by_partner_pkey PRIMARY KEY (partner_name, currency);

ALTER TABLE ONLY public.sales_rollup
    ADD CONSTRAINT sales_rollup_pkey PRIMARY KEY (is_the_only_row);

ALTER TABLE ONLY public.sales_verification
    ADD CONSTRAINT sales_verification_pkey PRIMARY KEY (is_the_only_row);

ALTER TABLE ONLY public.schema_migrations_lock
    ADD CONSTRAINT schema_migrations_lock_pkey PRIMARY KEY (index);

ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.search_backlog
    ADD CONSTRAINT search_backlog_pkey PRIMARY KEY (partner_id, search_backlog_id);

ALTER TABLE ONLY public.source_digests
    ADD CONSTRAINT source_digests_pkey PRIMARY KEY (feed_id, record_offset);

ALTER TABLE ONLY public.source_fetches
    ADD CONSTRAINT source_fetches_pkey PRIMARY KEY (source_id, fetch_number);

ALTER TABLE ONLY public.source_fetches
    ADD CONSTRAINT source_fetches_source_id_slot_at_key UNIQUE (source_id, slot_at);

ALTER TABLE ONLY public.sources
    ADD CONSTRAINT sources_partner_id_source_name_key UNIQUE (partner_id, source_name);

ALTER TABLE ONLY public.sources
    ADD CONSTRAINT sources_pkey PRIMARY KEY (source_id);

ALTER TABLE ONLY public.stale_partners
    ADD CONSTRAINT stale_partners_pkey PRIMARY KEY (partner_id);

ALTER TABLE ONLY public.submission_jobs
    ADD CONSTRAINT submission_jobs_feed_id_key UNIQUE (feed_id);

ALTER TABLE ONLY public.submission_jobs
    ADD CONSTRAINT submission_jobs_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.validation_jobs
    ADD CONSTRAINT validation_jobs_feed_id_key UNIQUE (feed_id);

ALTER TABLE ONLY public.validation_jobs
    ADD CONSTRAINT validation_jobs_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (webhook_delivery_id);

ALTER TABLE ONLY public.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (webhook_endpoint_id);

ALTER TABLE ONLY public.webhook_outcomes
    ADD CONSTRAINT webhook_outcomes_pkey PRIMARY KEY (webhook_outcome_id);

CREATE UNIQUE INDEX api_keys_name_in_use ON public.api_keys USING btree (key_name) WHERE (revoked_at IS NULL);

CREATE INDEX catalog_versions_partner_id_effective_at ON public.catalog_versions USING btree (partner_id, effective_at);

CREATE INDEX catalog_versions_partner_id_run_id ON public.catalog_versions USING btree (partner_id, run_id);

CREATE INDEX catalog_versions_pruned ON public.catalog_versions USING btree (partner_id, effective_at) WHERE (pruned_at IS NOT NULL);

CREATE INDEX feeds_partner_id_sha256 ON public.feeds USING btree (partner_id, sha256, feed_id);

CREATE INDEX feeds_partner_id_uploaded_at ON public.feeds USING btree (partner_id, uploaded_at, feed_id);

CREATE INDEX feeds_uploaded_at ON public.feeds USING btree (uploaded_at, feed_id);

CREATE INDEX idempotency_keys_expires_at ON public.idempotency_keys USING btree (expires_at);

CREATE INDEX order_items_order_id ON public.order_items USING btree (order_id);

CREATE INDEX orders_created_at ON public.orders USING btree (created_at, order_id);

CREATE INDEX orders_partner_name ON public.orders USING btree (partner_name, created_at, order_id);

CREATE INDEX orders_transaction_id ON public.orders USING btree (transaction_id);

CREATE INDEX product_versions_external ON public.product_versions USING btree (partner_id, product_id) WHERE is_external;

CREATE INDEX product_versions_pending ON public.product_versions USING btree (partner_id, product_id) WHERE (until_run_id = '9223372036854775807'::bigint);

CREATE INDEX product_versions_run_id ON public.product_versions USING btree (run_id);

CREATE INDEX product_versions_until_run_id ON public.product_versions USING btree (until_run_id);

CREATE INDEX product_words_words ON public.product_words USING gin (words);

CREATE INDEX products_active_created_at ON ONLY public.products USING btree (created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_1_of_4_created_at_product_id_idx ON public.products_1_of_4 USING btree (created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_partner_id_availability ON ONLY public.products USING btree (partner_id, availability);

CREATE INDEX products_1_of_4_partner_id_availability_idx ON public.products_1_of_4 USING btree (partner_id, availability);

CREATE INDEX products_partner_id_brand ON ONLY public.products USING btree (partner_id, brand);

CREATE INDEX products_1_of_4_partner_id_brand_idx ON public.products_1_of_4 USING btree (partner_id, brand);

CREATE INDEX products_active_partner_id_created_at ON ONLY public.products USING btree (partner_id, created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_1_of_4_partner_id_created_at_product_id_idx ON public.products_1_of_4 USING btree (partner_id, created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_partner_id_feed_id ON ONLY public.products USING btree (partner_id, feed_id, product_id);

CREATE INDEX products_1_of_4_partner_id_feed_id_product_id_idx ON public.products_1_of_4 USING btree (partner_id, feed_id, product_id);

CREATE INDEX products_partner_id_price ON ONLY public.products USING btree (partner_id, (((price * (10000)::numeric))::bigint));

CREATE INDEX products_1_of_4_partner_id_int8_idx ON public.products_1_of_4 USING btree (partner_id, (((price * (10000)::numeric))::bigint));

CREATE INDEX products_partner_id_category ON ONLY public.products USING btree (partner_id, "left"(category, 600));

CREATE INDEX products_1_of_4_partner_id_left_idx ON public.products_1_of_4 USING btree (partner_id, "left"(category, 600));

CREATE INDEX products_partner_id_product_name ON ONLY public.products USING btree (partner_id, "left"(product_name, 24));

CREATE INDEX products_1_of_4_partner_id_left_idx1 ON public.products_1_of_4 USING btree (partner_id, "left"(product_name, 24));

CREATE UNIQUE INDEX products_partner_id_sku ON ONLY public.products USING btree (partner_id, sku);

CREATE UNIQUE INDEX products_1_of_4_partner_id_sku_idx ON public.products_1_of_4 USING btree (partner_id, sku);

CREATE INDEX products_product_id ON ONLY public.products USING btree (product_id);

COMMENT ON INDEX public.products_product_id IS 'unique without partitions';

CREATE INDEX products_1_of_4_product_id_idx ON public.products_1_of_4 USING btree (product_id);

CREATE INDEX products_2_of_4_created_at_product_id_idx ON public.products_2_of_4 USING btree (created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_2_of_4_partner_id_availability_idx ON public.products_2_of_4 USING btree (partner_id, availability);

CREATE INDEX products_2_of_4_partner_id_brand_idx ON public.products_2_of_4 USING btree (partner_id, brand);

CREATE INDEX products_2_of_4_partner_id_created_at_product_id_idx ON public.products_2_of_4 USING btree (partner_id, created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_2_of_4_partner_id_feed_id_product_id_idx ON public.products_2_of_4 USING btree (partner_id, feed_id, product_id);

CREATE INDEX products_2_of_4_partner_id_int8_idx ON public.products_2_of_4 USING btree (partner_id, (((price * (10000)::numeric))::bigint));

CREATE INDEX products_2_of_4_partner_id_left_idx ON public.products_2_of_4 USING btree (partner_id, "left"(category, 600));

CREATE INDEX products_2_of_4_partner_id_left_idx1 ON public.products_2_of_4 USING btree (partner_id, "left"(product_name, 24));

CREATE UNIQUE INDEX products_2_of_4_partner_id_sku_idx ON public.products_2_of_4 USING btree (partner_id, sku);

CREATE INDEX products_2_of_4_product_id_idx ON public.products_2_of_4 USING btree (product_id);

CREATE INDEX products_3_of_4_created_at_product_id_idx ON public.products_3_of_4 USING btree (created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_3_of_4_partner_id_availability_idx ON public.products_3_of_4 USING btree (partner_id, availability);

CREATE INDEX products_3_of_4_partner_id_brand_idx ON public.products_3_of_4 USING btree (partner_id, brand);

CREATE INDEX products_3_of_4_partner_id_created_at_product_id_idx ON public.products_3_of_4 USING btree (partner_id, created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_3_of_4_partner_id_feed_id_product_id_idx ON public.products_3_of_4 USING btree (partner_id, feed_id, product_id);

CREATE INDEX products_3_of_4_partner_id_int8_idx ON public.products_3_of_4 USING btree (partner_id, (((price * (10000)::numeric))::bigint));

CREATE INDEX products_3_of_4_partner_id_left_idx ON public.products_3_of_4 USING btree (partner_id, "left"(category, 600));

CREATE INDEX products_3_of_4_partner_id_left_idx1 ON public.products_3_of_4 USING btree (partner_id, "left"(product_name, 24));

CREATE UNIQUE INDEX products_3_of_4_partner_id_sku_idx ON public.products_3_of_4 USING btree (partner_id, sku);

CREATE INDEX products_3_of_4_product_id_idx ON public.products_3_of_4 USING btree (product_id);

CREATE INDEX products_4_of_4_created_at_product_id_idx ON public.products_4_of_4 USING btree (created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_4_of_4_partner_id_availability_idx ON public.products_4_of_4 USING btree (partner_id, availability);

CREATE INDEX products_4_of_4_partner_id_brand_idx ON public.products_4_of_4 USING btree (partner_id, brand);

CREATE INDEX products_4_of_4_partner_id_created_at_product_id_idx ON public.products_4_of_4 USING btree (partner_id, created_at, product_id) WHERE (withdrawn_at IS NULL);

CREATE INDEX products_4_of_4_partner_id_feed_id_product_id_idx ON public.products_4_of_4 USING btree (partner_id, feed_id, product_id);

CREATE INDEX products_4_of_4_partner_id_int8_idx ON public.products_4_of_4 USING btree (partner_id, (((price * (10000)::numeric))::bigint));

CREATE INDEX products_4_of_4_partner_id_left_idx ON public.products_4_of_4 USING btree (partner_id, "left"(category, 600));

CREATE INDEX products_4_of_4_partner_id_left_idx1 ON public.products_4_of_4 USING btree (partner_id, "left"(product_name, 24));

CREATE UNIQUE INDEX products_4_of_4_partner_id_sku_idx ON public.products_4_of_4 USING btree (partner_id, sku);

CREATE INDEX products_4_of_4_product_id_idx ON public.products_4_of_4 USING btree (product_id);

CREATE INDEX runs_in_queue ON public.runs USING btree (requested_at, job_id) WHERE ((kind = 'revert'::text) AND (status = ANY (ARRAY['queued'::text, 'running'::text])));

CREATE INDEX source_fetches_due ON public.source_fetches USING btree (next_attempt_at) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX source_fetches_finished_at ON public.source_fetches USING btree (finished_at);

CREATE UNIQUE INDEX source_fetches_unfinished ON public.source_fetches USING btree (source_id) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX sources_due ON public.sources USING btree (next_slot_at);

CREATE INDEX sources_scheduled ON public.sources USING btree (scheduled_at);

CREATE INDEX sources_stale_after ON public.sources USING btree (partner_id) WHERE ((definition ->> 'stale_after_days'::text) IS NOT NULL);

CREATE INDEX stale_partners_stale ON public.stale_partners USING btree (partner_id) WHERE is_stale;

CREATE INDEX validation_jobs_in_queue ON public.validation_jobs USING btree (run_requested_at, job_id) WHERE ((run_requested_at IS NOT NULL) AND (status = ANY (ARRAY['queued'::text, 'running'::text])));

CREATE INDEX validation_jobs_of_partner_in_queue ON public.validation_jobs USING btree (run_partner_id, run_requested_at, job_id) WHERE ((run_requested_at IS NOT NULL) AND (status = ANY (ARRAY['queued'::text, 'running'::text])));

CREATE INDEX validation_jobs_queued ON public.validation_jobs USING btree (queued_at) WHERE (queued_at IS NOT NULL);

CREATE INDEX validation_jobs_running ON public.validation_jobs USING btree (job_id) WHERE (status = 'running'::text);

CREATE INDEX validation_jobs_with_issues ON public.validation_jobs USING btree (finished_at) WHERE (((issue_counts)::text <> '[]'::text) AND ((issues_removed_at IS NULL) OR (issues_removed_at < finished_at)));

CREATE INDEX webhook_deliveries_being_sent ON public.webhook_deliveries USING btree (webhook_endpoint_id) WHERE is_being_sent;

CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (webhook_endpoint_id, next_attempt_at);

CREATE INDEX webhook_outcomes_by_end ON public.webhook_outcomes USING btree (ended_at);

CREATE INDEX webhook_outcomes_by_event ON public.webhook_outcomes USING btree (webhook_endpoint_id, happened_at);

ALTER INDEX public.products_active_created_at ATTACH PARTITION public.products_1_of_4_created_at_product_id_idx;

ALTER INDEX public.products_partner_id_availability ATTACH PARTITION public.products_1_of_4_partner_id_availability_idx;

ALTER INDEX public.products_partner_id_brand ATTACH PARTITION public.products_1_of_4_partner_id_brand_idx;

ALTER INDEX public.products_active_partner_id_created_at ATTACH PARTITION public.products_1_of_4_partner_id_created_at_product_id_idx;

ALTER INDEX public.products_partner_id_feed_id ATTACH PARTITION public.products_1_of_4_partner_id_feed_id_product_id_idx;

ALTER INDEX public.products_partner_id_price ATTACH PARTITION public.products_1_of_4_partner_id_int8_idx;

ALTER INDEX public.products_partner_id_category ATTACH PARTITION public.products_1_of_4_partner_id_left_idx;

ALTER INDEX public.products_partner_id_product_name ATTACH PARTITION public.products_1_of_4_partner_id_left_idx1;

ALTER INDEX public.products_partner_id_sku ATTACH PARTITION public.products_1_of_4_partner_id_sku_idx;

ALTER INDEX public.products_pkey ATTACH PARTITION public.products_1_of_4_pkey;

ALTER INDEX public.products_product_id ATTACH PARTITION public.products_1_of_4_product_id_idx;

ALTER INDEX public.products_active_created_at ATTACH PARTITION public.products_2_of_4_created_at_product_id_idx;

ALTER INDEX public.products_partner_id_availability ATTACH PARTITION public.products_2_of_4_partner_id_availability_idx;

ALTER INDEX public.products_partner_id_brand ATTACH PARTITION public.products_2_of_4_partner_id_brand_idx;

ALTER INDEX public.products_active_partner_id_created_at ATTACH PARTITION public.products_2_of_4_partner_id_created_at_product_id_idx;

ALTER INDEX public.products_partner_id_feed_id ATTACH PARTITION public.products_2_of_4_partner_id_feed_id_product_id_idx;

ALTER INDEX public.products_partner_id_price ATTACH PARTITION public.products_2_of_4_partner_id_int8_idx;

ALTER INDEX public.products_partner_id_category ATTACH PARTITION public.products_2_of_4_partner_id_left_idx;

ALTER INDEX public.products_partner_id_product_name ATTACH PARTITION public.products_2_of_4_partner_id_left_idx1;

ALTER INDEX public.products_partner_id_sku ATTACH PARTITION public.products_2_of_4_partner_id_sku_idx;

ALTER INDEX public.products_pkey ATTACH PARTITION public.products_2_of_4_pkey;

ALTER INDEX public.products_product_id ATTACH PARTITION public.products_2_of_4_product_id_idx;

ALTER INDEX public.products_active_created_at ATTACH PARTITION public.products_3_of_4_created_at_product_id_idx;

ALTER INDEX public.products_partner_id_availability ATTACH PARTITION public.products_3_of_4_partner_id_availability_idx;

ALTER INDEX public.products_partner_id_brand ATTACH PARTITION public.products_3_of_4_partner_id_brand_idx;

ALTER INDEX public.products_active_partner_id_created_at ATTACH PARTITION public.products_3_of_4_partner_id_created_at_product_id_idx;

ALTER INDEX public.products_partner_id_feed_id ATTACH PARTITION public.products_3_of_4_partner_id_feed_id_product_id_idx;

ALTER INDEX public.products_partner_id_price ATTACH PARTITION public.products_3_of_4_partner_id_int8_idx;

ALTER INDEX public.products_partner_id_category ATTACH PARTITION public.products_3_of_4_partner_id_left_idx;

ALTER INDEX public.products_partner_id_product_name ATTACH PARTITION public.products_3_of_4_partner_id_left_idx1;

ALTER INDEX public.products_partner_id_sku ATTACH PARTITION public.products_3_of_4_partner_id_sku_idx;

ALTER INDEX public.products_pkey ATTACH PARTITION public.products_3_of_4_pkey;

ALTER INDEX public.products_product_id ATTACH PARTITION public.products_3_of_4_product_id_idx;

ALTER INDEX public.products_active_created_at ATTACH PARTITION public.products_4_of_4_created_at_product_id_idx;

ALTER INDEX public.products_partner_id_availability ATTACH PARTITION public.products_4_of_4_partner_id_availability_idx;

ALTER INDEX public.products_partner_id_brand ATTACH PARTITION public.products_4_of_4_partner_id_brand_idx;

ALTER INDEX public.products_active_partner_id_created_at ATTACH PARTITION public.products_4_of_4_partner_id_created_at_product_id_idx;

ALTER INDEX public.products_partner_id_feed_id ATTACH PARTITION public.products_4_of_4_partner_id_feed_id_product_id_idx;

ALTER INDEX public.products_partner_id_price ATTACH PARTITION public.products_4_of_4_partner_id_int8_idx;

ALTER INDEX public.products_partner_id_category ATTACH PARTITION public.products_4_of_4_partner_id_left_idx;

ALTER INDEX public.products_partner_id_product_name ATTACH PARTITION public.products_4_of_4_partner_id_left_idx1;

ALTER INDEX public.products_partner_id_sku ATTACH PARTITION public.products_4_of_4_partner_id_sku_idx;

ALTER INDEX public.products_pkey ATTACH PARTITION public.products_4_of_4_pkey;

ALTER INDEX public.products_product_id ATTACH PARTITION public.products_4_of_4_product_id_idx;

CREATE TRIGGER feeds_counted AFTER INSERT OR DELETE ON public.feeds FOR EACH ROW EXECUTE FUNCTION public.count_feeds();

CREATE TRIGGER feeds_counted_move AFTER UPDATE OF partner_id ON public.feeds FOR EACH ROW WHEN ((old.partner_id <> new.partner_id)) EXECUTE FUNCTION public.count_feeds();

CREATE TRIGGER order_items_note_delete AFTER DELETE ON public.order_items REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_changed_order_items();

ALTER TABLE public.order_items ENABLE ALWAYS TRIGGER order_items_note_delete;

CREATE TRIGGER order_items_note_insert AFTER INSERT ON public.order_items REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_changed_order_items();

ALTER TABLE public.order_items ENABLE ALWAYS TRIGGER order_items_note_insert;

CREATE TRIGGER order_items_note_truncate AFTER TRUNCATE ON public.order_items FOR EACH STATEMENT EXECUTE FUNCTION public.note_changed_order_items();

ALTER TABLE public.order_items ENABLE ALWAYS TRIGGER order_items_note_truncate;

CREATE TRIGGER order_items_note_update AFTER UPDATE ON public.order_items REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_changed_order_items();

ALTER TABLE public.order_items ENABLE ALWAYS TRIGGER order_items_note_update;

CREATE TRIGGER orders_note_delete AFTER DELETE ON public.orders REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_changed_orders();

ALTER TABLE public.orders ENABLE ALWAYS TRIGGER orders_note_delete;

CREATE TRIGGER orders_note_truncate AFTER TRUNCATE ON public.orders FOR EACH STATEMENT EXECUTE FUNCTION public.note_changed_orders();

ALTER TABLE public.orders ENABLE ALWAYS TRIGGER orders_note_truncate;

CREATE TRIGGER orders_note_update AFTER UPDATE ON public.orders REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_changed_orders();

ALTER TABLE public.orders ENABLE ALWAYS TRIGGER orders_note_update;

CREATE TRIGGER orders_stamp BEFORE INSERT ON public.orders FOR EACH ROW WHEN ((new.transaction_id IS DISTINCT FROM pg_current_xact_id())) EXECUTE FUNCTION public.stamp_order();

ALTER TABLE public.orders ENABLE ALWAYS TRIGGER orders_stamp;

CREATE TRIGGER products_changed AFTER TRUNCATE ON public.products FOR EACH STATEMENT EXECUTE FUNCTION public.log_manual_truncation();

CREATE TRIGGER products_counted_delete AFTER DELETE ON public.products REFERENCING OLD TABLE AS removed_products FOR EACH STATEMENT EXECUTE FUNCTION public.count_products();

CREATE TRIGGER products_counted_insert AFTER INSERT ON public.products REFERENCING NEW TABLE AS added_products FOR EACH STATEMENT EXECUTE FUNCTION public.count_products();

CREATE TRIGGER products_counted_truncate AFTER TRUNCATE ON public.products FOR EACH STATEMENT EXECUTE FUNCTION public.count_products();

CREATE TRIGGER products_counted_update AFTER UPDATE ON public.products REFERENCING OLD TABLE AS removed_products NEW TABLE AS added_products FOR EACH STATEMENT EXECUTE FUNCTION public.count_products();

CREATE TRIGGER products_deleted AFTER DELETE ON public.products REFERENCING OLD TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.log_manual_change();

CREATE TRIGGER products_inserted AFTER INSERT ON public.products REFERENCING NEW TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.log_manual_change();

CREATE TRIGGER products_note_horizon AFTER INSERT OR UPDATE OF created_at ON public.products FOR EACH STATEMENT EXECUTE FUNCTION public.note_product_horizon();

CREATE TRIGGER products_note_later_horizon AFTER INSERT OR UPDATE OF created_at ON public.products FOR EACH ROW WHEN ((new.created_at > now())) EXECUTE FUNCTION public.note_product_horizon();

CREATE TRIGGER products_search_deleted AFTER DELETE ON public.products REFERENCING OLD TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.log_search_change();

CREATE TRIGGER products_search_inserted AFTER INSERT ON public.products REFERENCING NEW TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.log_search_change();

CREATE TRIGGER products_search_truncated AFTER TRUNCATE ON public.products FOR EACH STATEMENT EXECUTE FUNCTION public.log_search_truncation();

CREATE TRIGGER products_search_updated_from AFTER UPDATE ON public.products REFERENCING OLD TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.log_search_change();

CREATE TRIGGER products_search_updated_to AFTER UPDATE ON public.products REFERENCING NEW TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.log_search_change();

CREATE TRIGGER products_updated_from AFTER UPDATE ON public.products REFERENCING OLD TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.log_manual_change();

CREATE TRIGGER products_updated_to AFTER UPDATE ON public.products REFERENCING NEW TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.log_manual_change();

CREATE TRIGGER products_versioned_delete AFTER DELETE ON public.products REFERENCING OLD TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.keep_versions();

CREATE TRIGGER products_versioned_update AFTER UPDATE ON public.products REFERENCING OLD TABLE AS changed_products FOR EACH STATEMENT EXECUTE FUNCTION public.keep_versions();

CREATE TRIGGER record_digests_stay_empty BEFORE INSERT ON public.record_digests FOR EACH ROW EXECUTE FUNCTION public.ignore_row();

CREATE TRIGGER validation_jobs_completed AFTER UPDATE OF status ON public.validation_jobs FOR EACH ROW WHEN (((new.status = 'completed'::text) AND (old.status <> 'completed'::text))) EXECUTE FUNCTION public.note_completed_run();

CREATE TRIGGER validation_jobs_run AFTER UPDATE OF status, run_count ON public.validation_jobs FOR EACH ROW EXECUTE FUNCTION public.keep_run();

ALTER TABLE ONLY public.digest_blocks
    ADD CONSTRAINT digest_blocks_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES public.partners(partner_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.feeds
    ADD CONSTRAINT feeds_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES public.partners(partner_id);

ALTER TABLE ONLY public.order_items
    ADD CONSTRAINT order_items_order_id_fkey FOREIGN KEY (order_id) REFERENCES public.orders(order_id);

ALTER TABLE ONLY public.partner_formats
    ADD CONSTRAINT partner_formats_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES public.partners(partner_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.record_digests
    ADD CONSTRAINT record_digests_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES public.partners(partner_id);

ALTER TABLE ONLY public.row_issues
    ADD CONSTRAINT row_issues_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.validation_jobs(job_id);

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT runs_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.validation_jobs(job_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.source_fetches
    ADD CONSTRAINT source_fetches_source_id_fkey FOREIGN KEY (source_id) REFERENCES public.sources(source_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.sources
    ADD CONSTRAINT sources_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES public.partners(partner_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.stale_partners
    ADD CONSTRAINT stale_partners_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES public.partners(partner_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.submission_jobs
    ADD CONSTRAINT submission_jobs_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES public.feeds(feed_id);

ALTER TABLE ONLY public.validation_jobs
    ADD CONSTRAINT validation_jobs_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES public.feeds(feed_id);
