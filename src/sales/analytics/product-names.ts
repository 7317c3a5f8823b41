import type { components } from '../../../generated/openapi';
import type { PartnerScope } from '../../base/caller';
import type { Database } from '../../base/db/database';
import { findByNumber } from '../../base/db/layout/product-layout';
import { formatId } from '../../base/ids';
import type { ProductSalesRow } from './product-sales.repository';

/**
 * Adds the current sku and name of each product; null for a product that the catalog of the scope does not have.
 * @throws errors of a lost node of Citus
 */
export async function nameProducts(
  db: Database,
  sales: readonly ProductSalesRow[],
  scope: PartnerScope,
): Promise<components['schemas']['ProductSales'][]> {
  if (sales.length === 0) return [];
  const numbers = [...new Set(sales.map(({ product_id }) => product_id))];
  type Named = { product_id: number; sku: string; product_name: string };
  const found = await findByNumber<Named>(db, 'product_id, sku, product_name', numbers);
  return sales.map(({ product_id, partner_name, currency, units_sold, total_sales }) => {
    const read = found.get(product_id);
    if (read && 'error' in read) throw read.error;
    const product = scope === null || read?.result.partner_name === scope ? read?.result : undefined;
    return {
      product_id: formatId('PR', product_id),
      partner_name,
      sku: product?.sku ?? null,
      product_name: product?.product_name ?? null,
      currency,
      units_sold,
      total_sales,
    };
  });
}
