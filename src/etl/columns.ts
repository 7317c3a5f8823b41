/** The columns of a feed that we read, by the names of the product's fields. All others are ignored. */
export const productColumns = [
  'sku',
  'product_name',
  'description',
  'brand',
  'category',
  'price',
  'currency',
  'availability',
] as const;

export type ProductColumn = (typeof productColumns)[number];

/** The columns that a header must have and a row must fill, in the order of the specification's error text. */
export const requiredColumns = ['product_name', 'sku'] as const;

/** The longest value of a column, in characters (code points), after cleaning. */
export const charactersMax = {
  sku: 255,
  product_name: 1_000,
  description: 65_535,
  brand: 255,
  category: 1_000,
  availability: 100,
} as const satisfies Partial<Record<ProductColumn, number>>;
