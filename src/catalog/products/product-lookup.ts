import { poolLimits } from '../../base/db/dialect';
import type { Reads } from '../../base/db/reads';
import type { PartnerScope } from '../../base/caller';
import { createBatcher, type Settled } from '../../base/concurrency/batcher';
import { productNotFound } from '../../base/errors';
import { parseId } from '../../base/ids';
import { findProducts, type ProductRow } from './products.repository';

interface Lookup {
  id: string;
  productId: number;
  scope: PartnerScope;
  ageSecondsMax: number;
}

/** Two: while PostgreSQL executes one batch, the other is written or read. */
const concurrentBatches = 2;

/** A batch takes PostgreSQL about a millisecond. */
const lookupsPerBatch = 100;

const isMissing = (found: Settled<ProductRow | undefined>) => 'result' in found && !found.result;

/**
 * Looks up single products: concurrent requests share a statement.
 * @returns a function that throws product_not_found, also for an id of another partner
 */
export function createProductLookup(
  reads: Reads,
): (id: string, scope: PartnerScope, ageSecondsMax: number) => Promise<ProductRow> {
  const lookUp = createBatcher<Lookup, ProductRow>(
    {
      tasksMax: lookupsPerBatch,
      sizeMax: lookupsPerBatch,
      sizeOf: () => 1,
      concurrentMax: concurrentBatches,
      waitingMax: poolLimits.waitersMax,
    },
    async (lookups) => {
      const age = Math.min(...lookups.map(({ ageSecondsMax }) => ageSecondsMax));
      const { rows, isReplica } = await reads(age, async (db, isReplica) => ({
        rows: await findProducts(db, lookups),
        isReplica,
      }));
      const missing = lookups.filter((_, at) => isMissing(rows[at]!));
      // The replica may not have them yet: the primary decides.
      const late = isReplica && missing.length > 0 ? await reads(0, (db) => findProducts(db, missing)) : [];
      return lookups.map((lookup, at) => {
        const found = (isMissing(rows[at]!) && late[missing.indexOf(lookup)]) || rows[at]!;
        if ('error' in found) return found;
        return found.result ? { result: found.result } : { error: productNotFound(lookup.id) };
      });
    },
  );
  return async (id, scope, ageSecondsMax) => {
    const productId = parseId('PR', id);
    if (productId === undefined) throw productNotFound(id);
    return lookUp({ id, productId, scope, ageSecondsMax });
  };
}
