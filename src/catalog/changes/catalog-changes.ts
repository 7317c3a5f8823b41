import type { Knex } from 'knex';
import { changeRows, queryRows } from '../../base/db/database';
import { takeLock } from '../../base/db/locks';
import { sql } from '../../base/db/sql';
import { lockWithdrawals } from './partner-lock';

/*
 * Every change of a partner's catalog has a number: changes that take effect later have greater ones. Products have the number
 * of the change that wrote them, and triggers keep their earlier versions (see `keep_versions`).
 * A run takes its number under the partner's lock. Single withdrawals do not wait for runs: their numbers lie between the last
 * change and the run in progress. The lock of the history decides which of them takes effect first.
 */

/** The change of a partner's catalog in the transaction. */
export interface CatalogChange {
  partnerId: number;
  runId: number;
}

/**
 * Numbers the change of a run. From now on, products that the transaction updates are kept as changed by it. The
 * caller holds the partner's lock.
 */
export async function beginRunChange(trx: Knex.Transaction, partnerId: number): Promise<CatalogChange> {
  const [row] = await queryRows<{ runId: number }>(trx, sql`select nextval('run_ids') as "runId"`);
  const change = { partnerId, runId: row!.runId };
  await keepAs(trx, change);
  return change;
}

/** The successor of the last change. Numbers of runs are ten millions apart. */
const nextIdSql = (partnerId: number) => sql`
  select case
    when last_id >= (select seqstart from pg_sequence where seqrelid = cast('run_ids' as regclass))
    then last_id + 1 else nextval('early_withdrawal_ids')
  end as "runId"
  from (select max(run_id) as last_id from catalog_versions where partner_id = ${partnerId}) as changes`;

/** Numbers the withdrawal of a product that the caller has locked, and begins the change. */
export async function beginWithdrawal(trx: Knex.Transaction, partnerId: number): Promise<CatalogChange> {
  await takeLock(trx, 'history', partnerId);
  const [row] = await queryRows<{ runId: number }>(trx, nextIdSql(partnerId));
  const change = { partnerId, runId: row!.runId };
  await keepAs(trx, change);
  return change;
}

/** Makes the triggers record products as changed by this change. */
async function keepAs(trx: Knex.Transaction, { runId }: CatalogChange): Promise<void> {
  await queryRows(trx, sql`select set_config('partner_catalog.change', ${String(runId)}, true)`);
}

/**
 * Makes a change take effect now, after all earlier ones of the partner. Call it at the end of the transaction: after a change
 * that withdraws products it blocks orders of them.
 * @param run - the run that makes it; absent for a single withdrawal
 */
export async function endChange(
  trx: Knex.Transaction,
  { partnerId, runId }: CatalogChange,
  withdraws: boolean,
  run?: { jobId: number; run: number },
): Promise<void> {
  await takeLock(trx, 'history', partnerId);
  // Before the time is taken: it may wait for orders, and the change becomes visible after that.
  if (withdraws) await lockWithdrawals(trx, partnerId);
  await changeRows(
    trx,
    sql`insert into catalog_versions (run_id, partner_id, effective_at, job_id, run)
     select ${runId}, ${partnerId}, greatest(clock_timestamp(), max(effective_at) + interval '1 microsecond'),
       ${run?.jobId ?? null}, ${run?.run ?? null}
     from catalog_versions where partner_id = ${partnerId}`,
  );
}
