import fc from 'fast-check';
import { LastRows } from '../../../../src/feed-format/check/last-rows';

const placeOf = (row: number) => ({ line: row + 1, lastLine: row + 2, row });

/** Keeps the same in a `Map`. */
class Model {
  private readonly rows = new Map<string, { row: number; isMarked: boolean }>();

  put(sku: string, row: number, isMarked: boolean) {
    const earlier = this.rows.get(sku);
    this.rows.set(sku, { row, isMarked });
    return earlier && placeOf(earlier.row);
  }

  marked() {
    return [...this.rows].flatMap(([sku, { row, isMarked }]) =>
      isMarked ? [{ place: placeOf(row), sku }] : [],
    );
  }
}

const bySku = <T extends { sku: string }>(rows: T[]) => rows.sort((a, b) => (a.sku < b.sku ? -1 : 1));

const anySku = fc.oneof(
  fc.constantFrom('A', 'B', 'a', '0', '00', 'é', 'e\u0301', '😀'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 }),
);

it('keeps the last row of each sku like a map', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anySku, fc.boolean()), { maxLength: 60 }), (rows) => {
      const [lastRows, model] = [new LastRows(), new Model()];

      for (const [row, [sku, isMarked]] of rows.entries())
        expect(lastRows.put(sku, placeOf(row), isMarked)).toEqual(model.put(sku, row, isMarked));

      expect(bySku([...lastRows.marked()])).toEqual(bySku(model.marked()));
    }),
  );
});

it('keeps more skus than a block of rows, and than a block of texts', () => {
  const lastRows = new LastRows();
  const skuOf = (row: number) => `SKU-${row}-${'x'.repeat(row % 40)}`;
  const count = 20_000;

  for (let row = 0; row < count; row++)
    expect(lastRows.put(skuOf(row), placeOf(row), row % 100 === 0)).toBeUndefined();

  for (let row = 0; row < count; row += 7)
    expect(lastRows.put(skuOf(row), placeOf(count + row), false)).toEqual(placeOf(row));
  expect([...lastRows.marked()]).toHaveLength(200 - 29);
});
