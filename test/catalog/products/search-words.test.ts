import fc from 'fast-check';
import type { Database } from '../../../src/base/db/database';
import { casesFor } from '../../support/fuzz';
import { createTestDatabase } from '../../support/databases';

let db: Database;
beforeAll(async () => {
  ({ db } = await createTestDatabase());
});

async function wordsOf(texts: string[]): Promise<string[][]> {
  const { rows } = await db.raw<{ rows: { words: string[] }[] }>(
    'select search_words(text) as words from unnest(?::text[]) with ordinality as texts (text, place) order by place',
    [texts],
  );
  return rows.map(({ words }) => words);
}

/** Reimplements `search_words` in JavaScript. */
function model(text: string): string[] {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .split(/[^\p{L}\p{Nd}]+/u)
    .filter((word) => word !== '')
    .map((word) => [...word].slice(0, 500).join(''));
}

/** Blocks without new letters since Unicode 10, the version of the oldest supported PostgreSQL's library. */
const blocks = [
  [0x01, 0x7f],
  [0xa0, 0x24f],
  [0x300, 0x36f],
  [0x370, 0x3ff],
  [0x400, 0x52f],
  [0x5d0, 0x5ea],
  [0x620, 0x66f],
  [0x900, 0x97f],
  [0xe01, 0xe5b],
  [0x1e00, 0x1eff],
  [0x2000, 0x2bff],
  [0x3040, 0x30ff],
  [0x4e00, 0x4fff],
  [0xac00, 0xd7a3],
  [0xfb00, 0xfb4f],
  [0xff00, 0xffef],
  [0x10400, 0x1044f],
  [0x1d400, 0x1d7ff],
  [0x1f300, 0x1f5ff],
] as const;
const character = fc
  .oneof(...blocks.map(([min, max]) => fc.integer({ min, max })))
  .map((code) => String.fromCodePoint(code))
  .filter((each) => !/\p{Cn}/u.test(each));
const ascii = fc.string({ unit: 'binary-ascii' }).map((text) => text.replaceAll('\0', ''));
const text = fc.oneof(
  ascii,
  fc.array(character, { maxLength: 40 }).map((each) => each.join('')),
);

describe('search_words', () => {
  it.each([
    ['Crème BRÛLÉE', ['creme', 'brulee']],
    ['XL-42/b_c', ['xl', '42', 'b', 'c']],
    ['ﬁx ½ Ⅻ ａｂ', ['fix', '1', '2', 'xii', 'ab']],
    ['ΟΔΟΣ οδος', ['οδοσ', 'οδοσ']],
    ['İstanbul Straße', ['istanbul', 'straße']],
    ['हिन्दी 中文', ['हनद', '中文']],
    [' -- ', []],
    ['', []],
  ])('splits %j into %j', async (sent, words) => {
    expect(await wordsOf([sent])).toEqual([words]);
  });

  it('keeps the first 500 characters of a word', async () => {
    expect(await wordsOf([`${'x'.repeat(600)} b ${'é'.repeat(501)}`])).toEqual([
      ['x'.repeat(500), 'b', 'e'.repeat(500)],
    ]);
  });

  it('equals NFKD, removed marks, lower case and a split, for any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 200 }), async (texts) => {
        expect(await wordsOf(texts)).toEqual(texts.map(model));
      }),
      casesFor('words of any text', 10),
    );
  });

  // The other planes contain ideographs, or nothing.
  it('removes no character of planes 0, 1 and 14 except marks', async () => {
    const { rows } = await db.raw<{ rows: { code: number }[] }>(
      `select code from generate_series(161, x'e01ff'::int) as code
       where code not between 55296 and 57343 and code not between x'20000'::int and x'dffff'::int and search_words('a' || chr(code) || 'b') = '{ab}'`,
    );
    const dropped = rows.map(({ code }) => String.fromCodePoint(code));

    expect(dropped.filter((each) => model(`a${each}b`).join(' ') !== 'ab' && !/\p{Cn}/u.test(each))).toEqual(
      [],
    );
  });
});
