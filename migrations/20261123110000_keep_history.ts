import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/** The columns of a product that a version repeats. */
const columns = `
  partner_id, product_id, sku, product_name, description, brand, category, price, currency, availability, feed_id,
  collection, created_at, withdrawn_at, record_offset, run_id`;

/** The end of a version whose change no run has taken account of yet: the greatest bigint. */
const pending = 9_223_372_036_854_775_807n;

/**
 * Creates the history: of runs, of catalogs, and of products. Can be repeated after a failure. Triggers write it, because the
 * last release writes too during an upgrade.
 */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      -- From which run, and from which record of its file, the item was copied; null: from a product of before.
      alter table order_items add column if not exists run_id bigint, add column if not exists record_offset bigint;
    `,
  );
  await withShortLock(
    db,
    `
      -- The name of the key that requested the queued, running or last run, or 'api-keys' for one of API_KEYS; null: not known.
      alter table validation_jobs add column if not exists requested_by text;

      -- Each run of a job, numbered from 1 per job. Counters are null while it is running.
      create table if not exists runs (
        job_id bigint not null references validation_jobs on delete cascade,
        run integer not null,
        kind text not null default 'load',
        status text not null,
        -- Null for a revert.
        mode text,
        -- As in validation_jobs.
        requested_by text,
        -- Null: not known.
        requested_at timestamptz,
        started_at timestamptz not null,
        finished_at timestamptz,
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
        primary key (job_id, run),
        constraint runs_kind_known check (kind in ('load', 'revert')),
        constraint runs_status_known check (status in ('running', 'completed', 'failed')),
        constraint runs_counted_when_finished check (
          (status <> 'running') = (num_nonnulls(finished_at, processed, inserted, updated, unchanged, skipped) = 6)
        ),
        constraint runs_reason_when_failed check ((status = 'failed') = (failure_reason is not null))
      );

      -- Keeps the rows of runs that load a feed, in the transaction that changes the job. A run whose process died is followed
      -- by the next one, or by none: the job is queued again.
      create or replace function keep_run() returns trigger language plpgsql security definer as $$
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

      do $$
      begin
        execute format('alter function keep_run() set search_path = %I, pg_temp', current_schema());
      end $$;

      create or replace trigger validation_jobs_run after update of status, run_count on validation_jobs
        for each row execute function keep_run();

      -- What is known of the last run of each job.
      insert into runs (
        job_id, run, status, mode, requested_at, started_at, finished_at, failure_reason, processed, inserted, updated,
        unchanged, skipped, withdrawn, restored, would_withdraw, withdrawals_withheld
      )
      select job_id, run_count, job.status, mode, case when job.status = 'running' then run_requested_at end,
        started_at, finished_at, failure_reason, processed, inserted, updated, unchanged, skipped,
        case when finished_at is not null then coalesce(withdrawn, 0) end,
        case when finished_at is not null then coalesce(restored, 0) end, would_withdraw, withdrawals_withheld
      from validation_jobs as job join feeds using (feed_id)
      -- A job that was cancelled in the queue has no start.
      where run_count > 0 and job.status <> 'queued' and started_at is not null
      on conflict do nothing;
    `,
  );
  await withShortLock(
    db,
    `
      -- Numbers of changes: a change of a catalog that is in force later has the greater number. A run takes its number under
      -- the lock of its partner. Between two of them are those of single withdrawals, which do not wait for runs: each is the
      -- successor of the last change of its partner; that of a partner without one is taken from a sequence.
      create sequence if not exists run_ids start 1000000000000 increment 10000000;
      create sequence if not exists early_withdrawal_ids;

      -- Each change of the catalog of a partner, and from when on it is in force. Job and run are null for a single
      -- withdrawal. Number 0, of no partner, is when history began.
      create table if not exists catalog_versions (
        run_id bigint primary key,
        partner_id bigint,
        effective_at timestamptz not null,
        job_id bigint,
        run integer
      );
      create index if not exists catalog_versions_partner_id_effective_at on catalog_versions (partner_id, effective_at);
      create index if not exists catalog_versions_partner_id_run_id on catalog_versions (partner_id, run_id);

      -- Products as they were, from the change run_id until the change until_run_id. The version in force is the product
      -- itself. A null run_id is 0. No foreign keys: a product may be deleted.
      create table if not exists product_versions (
        partner_id bigint not null,
        product_id bigint not null,
        until_run_id bigint not null,
        run_id bigint,
        feed_id bigint not null,
        record_offset bigint,
        created_at timestamptz not null,
        withdrawn_at timestamptz,
        price numeric(16, 4),
        -- Whether the change that ended it contains changes that were not made by a run.
        is_external boolean not null default false,
        sku text collate "C" not null,
        product_name text collate "C" not null,
        description text,
        brand text collate "C",
        category text collate "C",
        currency text collate "C",
        availability text collate "C",
        collection text collate "C" not null,
        primary key (partner_id, product_id, until_run_id)
        -- Each day removes a small part of it, whose space the next one is to use.
      ) with (autovacuum_vacuum_scale_factor = 0.02);
      create index if not exists product_versions_until_run_id on product_versions (until_run_id);
      create index if not exists product_versions_pending on product_versions (partner_id, product_id)
        where until_run_id = ${pending};

      -- Keeps products as they were before an update or a deletion. partner_catalog.change says by whom: the number of a
      -- change; 'none' for what is no change of a catalog; else it was changed by hand. Until a change takes account of that,
      -- the version before the first manual change is pending. With the rights of its owner, like log_manual_change.
      create or replace function keep_versions() returns trigger language plpgsql security definer as $$
      declare
        change_text text := coalesce(current_setting('partner_catalog.change', true), '');
        change bigint;
      begin
        if change_text = 'none' then
          return null;
        end if;
        if change_text = '' then
          insert into product_versions (${columns}, until_run_id, is_external)
          select ${columns}, ${pending}, true from changed_products
          on conflict do nothing;
          return null;
        end if;
        change := cast(change_text as bigint);
        -- The statement has locked the products: a manual change is committed before it, and visible, or comes after it.
        if exists (
          select from product_versions
          where partner_id = (select partner_id from changed_products limit 1) and until_run_id = ${pending}
        ) then
          update product_versions as version set until_run_id = change
          from changed_products
          where (version.partner_id, version.product_id) = (changed_products.partner_id, changed_products.product_id)
            and version.until_run_id = ${pending};
          insert into product_versions (${columns}, until_run_id)
          select ${columns}, change from changed_products
          where not exists (
            select from product_versions as version
            where (version.partner_id, version.product_id) = (changed_products.partner_id, changed_products.product_id)
              and version.until_run_id = change
          );
        else
          insert into product_versions (${columns}, until_run_id)
          select ${columns}, change from changed_products;
        end if;
        return null;
      end $$;

      do $$
      begin
        execute format('alter function keep_versions() set search_path = %I, pg_temp', current_schema());
      end $$;

      create or replace trigger products_versioned_update after update on products
        referencing old table as changed_products for each statement execute function keep_versions();
      create or replace trigger products_versioned_delete after delete on products
        referencing old table as changed_products for each statement execute function keep_versions();

      -- The triggers waited for every transaction that wrote products before.
      insert into catalog_versions (run_id, effective_at) values (0, clock_timestamp()) on conflict do nothing;
    `,
  );
}

/** Drops what `up` created; the history is lost. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop trigger products_versioned_update on products;
    drop trigger products_versioned_delete on products;
    drop trigger validation_jobs_run on validation_jobs;
    drop function keep_versions(), keep_run();
    drop table product_versions, catalog_versions, runs;
    drop sequence run_ids, early_withdrawal_ids;
    alter table validation_jobs drop column requested_by;
    alter table order_items drop column run_id, drop column record_offset;
  `);
}
