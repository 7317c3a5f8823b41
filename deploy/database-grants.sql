-- What a service with MIGRATE_ON_START=off needs of the database: to read and write rows, and to make temporary tables.
-- To be run by the role that owns the database and migrates it, once the schema is there (npm run migrate); again does no
-- harm. The role of the service is made beforehand:
--   create role catalog_service login password '…';

-- Runs stage their rows in temporary tables.
do $$
begin
  execute format('grant connect, temporary on database %I to catalog_service', current_database());
end
$$;

grant usage on schema public to catalog_service;
grant select, insert, update, delete on all tables in schema public to catalog_service;
grant usage, select on all sequences in schema public to catalog_service;

-- What later migrations of this role make.
alter default privileges grant select, insert, update, delete on tables to catalog_service;
alter default privileges grant usage, select on sequences to catalog_service;

-- Where release 1.2.0 has been: what it leaves in its queue is taken over from there. The tables show their rows to their
-- owner only, unless a policy says otherwise.
do $$
declare
  queue_table regclass;
begin
  if to_regnamespace('graphile_worker') is null then
    return;
  end if;
  grant usage on schema graphile_worker to catalog_service;
  grant select, insert, update, delete on all tables in schema graphile_worker to catalog_service;
  grant usage, select on all sequences in schema graphile_worker to catalog_service;
  for queue_table in
    select oid from pg_class where relnamespace = to_regnamespace('graphile_worker') and relrowsecurity
  loop
    execute format('drop policy if exists catalog_service on %s', queue_table);
    execute format('create policy catalog_service on %s to catalog_service using (true) with check (true)', queue_table);
  end loop;
end
$$;
