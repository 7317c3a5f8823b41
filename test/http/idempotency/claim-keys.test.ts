import { randomBytes } from 'node:crypto';
import {
  claimKey,
  claimSql,
  keepAnswer,
  type KeyedRequest,
} from '../../../src/http/idempotency/idempotency.repository';
import { openDatabase, queryRows, type Database } from '../../../src/base/db/database';
import { sql, type Sql } from '../../../src/base/db/sql';
import { afterFile, eventually } from '../../support/harness';
import { createTestDatabase } from '../../support/databases';

let db: Database;
/** A second pool: the statement of the first one waits. */
let other: Database;
beforeAll(async () => {
  const created = await createTestDatabase();
  ({ db } = created);
  other = openDatabase(created.address, { applicationName: 'other', connectionsMax: 3 });
  afterFile(() => other.destroy());
});

const requestOf = (text: string) => ({
  key: { apiKeyDigest: randomBytes(32), text },
  requestDigest: randomBytes(32),
});

/** Claims keys in a statement that waits for this advisory lock after it has taken its snapshot. */
function lateClaimSql(request: KeyedRequest): Sql {
  const { sql: text, bindings } = claimSql([request]);
  const late = text.replace('cast(? as text[])', "array_remove(cast(? as text[]), 'not' || waited.lock)");
  return sql`
    select is_claimed, answered_digest, answered_text
    from (select cast(pg_advisory_xact_lock(42) as text) as lock) as waited
    cross join lateral (${{ sql: late, bindings }}) as claimed`;
}

describe('a claim of keys', () => {
  it('finds a response that was committed after the statement started', async () => {
    const request = requestOf('late');
    const held = await other.transaction();
    await held.raw('select pg_advisory_xact_lock(42)');
    const claimed = queryRows(db, lateClaimSql(request));
    await eventually('the statement waits', async () => {
      const { rows } = await other.raw<{ rows: unknown[] }>(
        "select from pg_locks where locktype = 'advisory' and not granted and objid = 42 and database = (select oid from pg_database where datname = current_database())",
      );
      expect(rows).toHaveLength(1);
    });

    await other.transaction(async (trx) => {
      expect(await claimKey(trx, request.key)).toBe(true);
      await keepAnswer(trx, request, { order_id: 'OR00001' });
    });
    await held.commit();

    expect(await claimed).toEqual([
      { is_claimed: true, answered_digest: request.requestDigest, answered_text: '{"order_id":"OR00001"}' },
    ]);
  });

  it('finds the keys that another transaction has claimed, and no response of another API key', async () => {
    const [held, free] = [requestOf('held'), requestOf('free')];
    const trx = await other.transaction();
    await claimKey(trx, held.key);
    await keepAnswer(other as typeof trx, requestOf('free'), {});

    const claims = await queryRows<{ is_claimed: boolean; answered_digest: unknown }>(
      db,
      sql`${claimSql([held, free])} order by request_index`,
    );

    await trx.rollback();
    expect(claims.map((claim) => [claim.is_claimed, claim.answered_digest])).toEqual([
      [false, null],
      [true, null],
    ]);
  });
});
