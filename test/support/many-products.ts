/** A feed of this many good rows, with a value in every column. */
export function manyProducts(count: number): string {
  const rows = ['sku,product_name,description,brand,category,price,currency,availability'];
  for (let i = 1; i <= count; i++) {
    rows.push(
      `SKU-${i},Product number ${i},"A description, of ordinary length, of product ${i}",Brand ${i % 100},` +
        `Category ${i % 20},${i}.99,EUR,in_stock`,
    );
  }
  return rows.join('\n');
}
