import fc from 'fast-check';
import { stringify } from 'csv-stringify/sync';
import { detectFormat, type FormatDetection } from '../../../../src/feed-format/detect/detect-format';
import knowledge from '../../../../src/feed-format/detect/knowledge.json';
import { applyMergePatch } from '../../../../src/feed-format/detect/merge-patch';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import { casesFor } from '../../../support/fuzz';
import { readValues } from '../../../support/read-by-format';

type Concept = 'sku' | 'name' | 'price' | 'purchase_price';
const wordsOf = (concept: Concept): Record<string, string[]> => knowledge.words[concept].words;
const languages = Object.keys(wordsOf('price')).filter(
  (language) => wordsOf('sku')[language] && wordsOf('name')[language],
);

/** The header of each column; without one, the table has no such column. */
type Headers = Record<'sku' | 'name' | 'price', string> & { cost: string | undefined };

const headers: fc.Arbitrary<Headers> = fc.constantFrom(...languages).chain((language) => {
  const word = (concept: Concept) => fc.constantFrom(...wordsOf(concept)[language]!);
  return fc.record({
    sku: word('sku'),
    name: word('name'),
    price: word('price'),
    cost: wordsOf('purchase_price')[language]
      ? fc.option(word('purchase_price'), { nil: undefined })
      : fc.constant(undefined),
  });
});

const row = fc.record({
  sku: fc.stringMatching(/^(?:[A-Z]{1,3}-?[0-9]{1,6}|[0-9]{3,8})$/),
  name: fc
    .array(fc.constantFrom('Zelt', 'größer', '27"', 'für, zwei', 'палатка', '二人用', 'a; b', 'Lamp'), {
      minLength: 1,
      maxLength: 4,
    })
    .map((words) => `Tent ${words.join(' ')}`),
  cents: fc.integer({ min: 1, max: 9_999_999 }),
  cost: fc.integer({ min: 1, max: 9_999_999 }),
});

const table = fc.record({
  headers: headers.filter(
    ({ sku, name, price, cost }) =>
      new Set([sku, name, price, cost].map((header) => header?.toLowerCase())).size === 4,
  ),
  rows: fc.uniqueArray(row, { minLength: 1, maxLength: 8, selector: ({ sku }) => sku }),
  order: fc.shuffledSubarray(['sku', 'name', 'price', 'cost'] as const, { minLength: 4 }),
  delimiter: fc.constantFrom(',', ';', '\t'),
  decimal: fc.constantFrom('.', ','),
  isGrouped: fc.boolean(),
});
type Table = typeof table extends fc.Arbitrary<infer T> ? T : never;

const exact = (cents: number) => (cents / 100).toFixed(2);

function written(cents: number, { decimal, isGrouped }: Table): string {
  const [whole, decimals] = exact(cents).split('.') as [string, string];
  const separator = decimal === '.' ? ',' : '.';
  return `${isGrouped ? whole.replaceAll(/\B(?=(?:\d{3})+$)/g, separator) : whole}${decimal}${decimals}`;
}

function textOf(given: Table): string {
  const columns = given.order.filter((column) => given.headers[column] !== undefined);
  const cells = given.rows.map((each) =>
    columns.map((column) =>
      column === 'price' || column === 'cost'
        ? written(column === 'price' ? each.cents : each.cost, given)
        : each[column],
    ),
  );
  return stringify([columns.map((column) => given.headers[column]), ...cells], {
    delimiter: given.delimiter,
  });
}

const sources = { sku: 'sku', product_name: 'name', price: 'price' } as const;

/** Answers the doubts as the writer of the table would; undefined without a right choice. */
function answered({ draft, doubts }: FormatDetection, { headers: named, decimal }: Table) {
  if (draft === null) return undefined;
  return doubts.reduce<unknown>((format, { choices }) => {
    const right = choices.find(({ changes, valuePointer }) => {
      const { columns, decimal_separator: separator = decimal } = changes as Partial<FormatDefinition>;
      const isRight = Object.entries(sources).every(([column, source]) => {
        const changed = columns?.[column as keyof typeof sources];
        return changed === undefined || changed.from?.[0] === named[source];
      });
      return valuePointer === null && isRight && separator === decimal;
    });
    return format === undefined || !right ? undefined : applyMergePatch(format, right.changes);
  }, draft) as FormatDefinition | undefined;
}

it('is read without a false value by what is suggested, or by the draft with right answers', async () => {
  let tables = 0;
  let read = 0;
  await fc.assert(
    fc.asyncProperty(table, async (given) => {
      const text = textOf(given);
      const found = detectFormat(Buffer.from(text), { complete: true, defaultCurrency: 'USD' });
      const format = found.definition ?? answered(found, given);
      tables++;
      if (!format) return;
      read++;
      const values = await readValues(text, format);
      expect(values).toEqual(
        given.rows.map(({ sku, name, cents }) => ({ sku, product_name: name, price: exact(cents) })),
      );
    }),
    casesFor('tables of partners', 300),
  );
  expect(read / tables).toBeGreaterThan(0.95);
});
