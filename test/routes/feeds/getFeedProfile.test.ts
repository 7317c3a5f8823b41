import fc from 'fast-check';
import document from '../../../generated/openapi.json';
import { isActiveCurrency } from '../../../src/currency';
import { availabilitySpellings } from '../../../src/etl/feed-format';
import { readHeader, type FeedHeader } from '../../../src/etl/header';
import { issueCodes, rowIssueCodes } from '../../../src/etl/issue-codes';
import { parsePrice, transformRecord } from '../../../src/etl/transform';
import { startTestService, type TestService } from '../../support/service';

interface Column {
  name: string;
  required: boolean;
  type: string;
  max_length: number | null;
  grammar: string | null;
  cleaning: string[];
  codes: string[];
  description: string;
  example: string;
}
interface Code {
  code: string;
  severity: string;
  description: string;
  remedy: string;
  example: string;
}

let service: TestService;
let profile: { columns: Column[]; issue_codes: Code[] } & Record<string, unknown>;
beforeAll(async () => {
  service = await startTestService({ uploadBytesMax: 12_345_678 });
  const { status, body } = await service.api.get('/feeds/profile');
  expect(status).toBe(200);
  profile = body;
});

const schemas = document.components.schemas;
const column = (name: string) => profile.columns.find((each) => each.name === name)!;
/** Lines are broken anew in the document. */
const normalised = (text: string) => text.replace(/\s+/g, ' ');

describe('GET /feeds/profile', () => {
  describe('200', () => {
    it('says how a file is written, and how large it may be here', () => {
      expect(profile).toEqual({
        encoding: 'utf-8',
        delimiters: [',', ';', '\t'],
        line_ends: ['lf', 'crlf'],
        quote: '"',
        file_bytes_max: 12_345_678,
        header_bytes_max: 262_144,
        record_bytes_max: 2_097_152,
        columns: expect.any(Array),
        issue_codes: expect.any(Array),
      });
    });

    it('has the columns of the document, those of a product, with what each may hold', () => {
      expect(profile.columns.map(({ name }) => name)).toEqual(schemas.ColumnName.enum);
      const facts = profile.columns.map(({ name, required, type, max_length, cleaning, codes }) => [
        name,
        required,
        type,
        max_length,
        cleaning.join(' '),
        codes.join(' '),
      ]);
      expect(facts).toEqual([
        [
          'sku',
          true,
          'text',
          255,
          'trim empty_to_null',
          'missing_required value_too_long invalid_character duplicate_sku',
        ],
        [
          'product_name',
          true,
          'text',
          1000,
          'trim empty_to_null',
          'missing_required value_too_long invalid_character',
        ],
        ['description', false, 'text', 65_535, 'trim empty_to_null', 'value_too_long invalid_character'],
        ['brand', false, 'text', 255, 'trim empty_to_null', 'value_too_long invalid_character'],
        ['category', false, 'text', 1000, 'trim empty_to_null', 'value_too_long invalid_character'],
        [
          'price',
          false,
          'price',
          null,
          'trim empty_to_null plain_decimal',
          'invalid_price currency_conflict invalid_character zero_price',
        ],
        [
          'currency',
          false,
          'currency_code',
          null,
          'trim empty_to_null upper_case',
          'invalid_currency invalid_character',
        ],
        [
          'availability',
          false,
          'availability',
          100,
          'trim empty_to_null lower_case separators_to_underscores known_spellings',
          'value_too_long invalid_character unknown_availability',
        ],
      ]);
    });

    it('has the codes of the document, and of the code', () => {
      const codes = profile.issue_codes.map(({ code }) => code);

      expect(codes).toEqual(rowIssueCodes);
      expect(codes).toEqual(schemas.RowIssueCode.enum);
      expect(profile.issue_codes).toEqual(
        codes.map((code) => ({ code, ...issueCodes[code as 'zero_price'] })),
      );
    });

    it.each(rowIssueCodes)('says of %s what the document says', (code) => {
      const { severity, description, remedy, example } = issueCodes[code];
      const text = normalised(schemas.RowIssueCode.description);
      const start = text.indexOf(`- \`${code}\` (${severity}): `);
      const end = text.indexOf('- `', start + 3);
      const entry = text.slice(start, end === -1 ? undefined : end).trim();

      const rows = example
        .replace('\0', '\u2400')
        .replace('A'.repeat(256), 'AAA… (256 times)')
        .split('\n')
        .slice(1)
        .map((row) => `\`${row}\``);
      expect(start).toBeGreaterThan(-1);
      expect(entry).toBe(
        `- \`${code}\` (${severity}): ${description} ${remedy} Example: ${rows.join(' and then ')}`,
      );
    });

    it('names every kind of column and of cleaning as the document does', () => {
      const used = new Set(profile.columns.flatMap(({ cleaning }) => cleaning));
      expect([...used].sort()).toEqual([...schemas.CleaningRule.enum].sort());
      for (const [spelling, word] of Object.entries(availabilitySpellings)) {
        expect(schemas.CleaningRule.description).toContain(`\`${spelling}\``);
        expect(normalised(schemas.CleaningRule.description)).toContain(`\`${word}\``);
      }
      expect(new Set(profile.columns.map(({ type }) => type))).toEqual(new Set(schemas.ColumnType.enum));
    });

    it.each(rowIssueCodes)('has an example of %s that raises it, and nothing else', async (code) => {
      const example = profile.issue_codes.find((each) => each.code === code)!.example;
      const feed = await service.api.uploadFeed(example, `Example of ${code}`);
      if (code === 'older_feed') await service.api.loadFeed(example, `Example of ${code}`);

      const { body: job } = await service.api.post(`/jobs/${feed.jobId}/run`);

      const { severity } = issueCodes[code];
      expect(job.status).toBe('completed');
      expect(job.issue_counts).toMatchObject([{ code, severity, count: 1 }]);
      expect(job.issue_counts).toHaveLength(1);
      expect(job.summary.skipped).toBe(severity === 'error' ? 1 : 0);
    });

    it.each(schemas.ColumnName.enum)('has an example of %s that is right', async (name) => {
      const { example, max_length, grammar } = column(name);
      const columns = [...new Set(['sku', 'product_name', name])];
      const cells = columns.map((each) => `"${column(each).example}"`);

      const { job } = await service.api.loadFeed(
        `${columns.join(',')}\n${cells.join(',')}\n`,
        `Right ${name}`,
      );

      expect(job).toMatchObject({ summary: { inserted: 1, skipped: 0 }, issue_counts: [] });
      expect(example.length).toBeLessThanOrEqual(max_length ?? Infinity);
      if (grammar !== null) expect(example).toMatch(new RegExp(grammar));
    });

    describe('agrees with the code for any text:', () => {
      const seeded = { seed: 20261121, numRuns: 2_000 };
      const price = fc.stringMatching(/^[$€£¥A-Z]{0,3} ?[\d,.]{1,18} ?[a-zA-Z€]{0,3}$/);
      const currency = fc.oneof(
        fc.constantFrom('EUR', 'usd', 'THB', 'DEM', 'XXQ', 'EURO', 'ÉUR'),
        fc.string(),
      );
      const word = fc.constantFrom('in stock', 'Pre-Order', 'sold out', 'ask us', 'INSTOCK', 'in_stock');
      const long = fc.tuple(fc.constantFrom('𝔸', 'b'), fc.integer({ min: 95, max: 66_000 }));
      const text = fc.oneof(
        { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
        { weight: 4, arbitrary: price },
        { weight: 2, arbitrary: currency },
        { weight: 2, arbitrary: word },
        { weight: 1, arbitrary: long.map(([unit, length]) => unit.repeat(length)) },
        { weight: 2, arbitrary: fc.constantFrom('', ' ', '\u00a0', '\0', '0', '0.00', 'USD 0', 'a\0b') },
      );
      const codesOf = (cells: Record<string, string>) => {
        const names = schemas.ColumnName.enum;
        const header = readHeader(Buffer.from(`${names.join(',')}\n`)) as FeedHeader;
        const fields = names.map((name) => cells[name] ?? '');
        const record = { line: 2, lastLine: 2, row: 1, fields, misquoted: false };
        return transformRecord(record, header).issues ?? [];
      };

      it.each(schemas.ColumnName.enum)('a cell of %s raises no codes but those that it lists', (name) => {
        const { codes } = column(name);
        fc.assert(
          fc.property(text, fc.constantFrom('', 'EUR', 'x'), (cell, other) => {
            const cells = { sku: 'S', product_name: 'N', price: '1', currency: other, [name]: cell };
            const own = codesOf(cells).filter(({ field }) => field === name);
            expect(codes).toEqual(expect.arrayContaining(own.map(({ code }) => code)));
          }),
          { ...seeded, numRuns: 400 },
        );
      });

      it.each(schemas.ColumnName.enum)('a cell of %s can raise each code that it lists', (name) => {
        const triggers = ['', '\0', 'b'.repeat(66_000), 'NA', 'USD 5', '0', 'ask us', 'XXQ'];
        const raised = triggers.flatMap((cell) =>
          codesOf({ sku: 'S', product_name: 'N', currency: 'EUR', [name]: cell })
            .filter(({ field }) => field === name)
            .map(({ code }) => code),
        );
        // That needs another row.
        if (name === 'sku') raised.push('duplicate_sku');

        expect([...new Set(raised)].sort()).toEqual([...column(name).codes].sort());
      });

      it('what fits no grammar is no price, and what fits it is one, unless its code or size is wrong', () => {
        const grammar = new RegExp(column('price').grammar!);
        fc.assert(
          fc.property(fc.oneof(price, fc.string({ unit: 'binary', maxLength: 12 })), (cell) => {
            const code = /[A-Za-z]{3}/.exec(cell)?.[0].toUpperCase();
            const digits = /[\d,]+/.exec(cell)?.[0].replace(/,/g, '').replace(/^0+/, '') ?? '';
            const isRight = grammar.test(cell) && (!code || isActiveCurrency(code)) && digits.length <= 12;

            expect(parsePrice(cell) !== undefined).toBe(isRight);
          }),
          { ...seeded, numRuns: 5_000 },
        );
      });

      it('a price that fits the grammar is read for what it says', () => {
        const amount = fc.tuple(
          fc.bigInt({ min: 0n, max: 999_999_999_999n }),
          fc.stringMatching(/^\d{0,4}$/),
        );
        const units = fc.constantFrom('', '$', '$ ', 'EUR', 'eur ', '¥');
        fc.assert(
          fc.property(
            amount,
            units,
            fc.boolean(),
            fc.boolean(),
            ([whole, decimals], unit, after, grouped) => {
              const digits = grouped ? whole.toString().replace(/\B(?=(\d{3})+$)/g, ',') : whole.toString();
              const plain = digits + (decimals && `.${decimals}`);
              const cell = after ? plain + [...unit].reverse().join('') : unit + plain;
              const code = /[a-z]/i.test(unit) ? 'EUR' : undefined;
              fc.pre(!(after && code));

              expect(cell).toMatch(new RegExp(column('price').grammar!));
              expect(parsePrice(cell)).toEqual({
                amount: whole.toString() + (decimals && `.${decimals}`),
                currency: code,
              });
            },
          ),
          seeded,
        );
      });

      it('a currency that is taken fits its grammar', () => {
        fc.assert(
          fc.property(currency, (cell) => {
            const wrong = codesOf({ sku: 'S', product_name: 'N', currency: cell }).length > 0;
            const cleaned = cell.trim().replace(/[a-z]/g, (letter) => letter.toUpperCase());
            if (!wrong && cleaned !== '') expect(cleaned).toMatch(new RegExp(column('currency').grammar!));
          }),
          seeded,
        );
      });
    });
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('refuses the key %j', async (key) => {
      const { status, body } = await service.api.withKey(key).get('/feeds/profile');

      expect(status).toBe(401);
      expect(body).toEqual({ detail: 'Invalid or missing API key' });
    });
  });
});
