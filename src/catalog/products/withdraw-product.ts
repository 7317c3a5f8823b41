import type { Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import { copyWhere } from '../../base/db/layout/copy-products';
import { takeWorkingCopy, writeBack } from '../../base/db/layout/product-layout';
import { sql } from '../../base/db/sql';
import { beginWithdrawal, endChange } from '../changes/catalog-changes';
import { productNotFound } from '../../base/errors';
import { parseId } from '../../base/ids';
import type { PartnerScope } from '../../base/caller';
import { findProducts, lockActiveProduct, markWithdrawn, type ProductRow } from './products.repository';

/**
 * Withdraws a product; does nothing if it is withdrawn already. Waits for orders of it that are being created.
 * @throws product_not_found
 */
export async function withdrawProduct(db: Database, id: string, scope: PartnerScope): Promise<ProductRow> {
  const productId = parseId('PR', id);
  if (productId === undefined) throw productNotFound(id);
  return inTransaction(db, 'request', async (trx) => {
    const partnerId = await lockActiveProduct(trx, { productId, scope });
    if (partnerId !== undefined) {
      const change = await beginWithdrawal(trx, partnerId);
      await takeWorkingCopy(trx, [copyWhere(partnerId, sql`product_id = ${productId}`)]);
      await markWithdrawn(trx, { productId, ...change });
      await writeBack(trx, [partnerId]);
      await endChange(trx, change, true);
    }
    const [found] = await findProducts(trx, [{ productId, scope }]);
    if ('error' in found!) throw found.error;
    if (!found!.result) throw productNotFound(id);
    return found!.result;
  });
}
