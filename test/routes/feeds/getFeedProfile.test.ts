import document from '../../../generated/openapi.json';
import { availabilitySpellings } from '../../../src/feed-format/columns';
import { issueCodes, rowIssueCodes } from '../../../src/feed-format/issue-codes';
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
/** The document wraps its lines differently. */
const normalised = (text: string) => text.replace(/\s+/g, ' ');

describe('GET /feeds/profile', () => {
  describe('200', () => {
    it('describes syntax and maximum size of a file', () => {
      expect(profile).toEqual({
        encoding: 'utf-8',
        delimiters: [',', ';', '\t'],
        line_ends: ['lf', 'crlf'],
        quote: '"',
        file_bytes_max: 12_345_678,
        header_bytes_max: 262_144,
        record_bytes_max: 524_288,
        columns: expect.any(Array),
        issue_codes: expect.any(Array),
      });
    });

    it('has the columns of a product, each with its rules', () => {
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
          'missing_required value_too_long invalid_character duplicate_sku suspicious_sku',
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

    it('has the codes of the document and of the code', () => {
      const codes = profile.issue_codes.map(({ code }) => code);

      expect(codes).toEqual(rowIssueCodes);
      expect(codes).toEqual(schemas.KnownRowIssueCode.enum);
      expect(profile.issue_codes).toEqual(
        codes.map((code) => ({ code, ...issueCodes[code as 'zero_price'] })),
      );
    });

    it.each(rowIssueCodes)('describes %s as the document does', (code) => {
      const { severity, description, remedy, example } = issueCodes[code];
      const text = normalised(schemas.KnownRowIssueCode.description);
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

    it('gives no advice that depends on the format of a file: the message of an issue does', () => {
      const remedies = profile.issue_codes.map(({ remedy }) => remedy);

      expect(remedies.filter((remedy) => /\b(?:comma|point|semicolon|tab)\b/.test(remedy))).toEqual([]);
      const ofWords = profile.issue_codes.find(({ code }) => code === 'unknown_availability')!;
      expect(ofWords.remedy).toContain('`availability` of a format');
    });

    it("uses the document's names of column types and cleaning rules", () => {
      const used = new Set(profile.columns.flatMap(({ cleaning }) => cleaning));
      expect([...used].sort()).toEqual([...schemas.CleaningRule.enum].sort());
      for (const [spelling, word] of Object.entries(availabilitySpellings)) {
        expect(schemas.CleaningRule.description).toContain(`\`${spelling}\``);
        expect(normalised(schemas.CleaningRule.description)).toContain(`\`${word}\``);
      }
      expect(new Set(profile.columns.map(({ type }) => type))).toEqual(new Set(schemas.ColumnType.enum));
    });

    // A price jump needs ten products.
    it.each(rowIssueCodes.filter((code) => code !== 'price_jump'))(
      'has an example of %s that raises it, and no other issue',
      async (code) => {
        const example = profile.issue_codes.find((each) => each.code === code)!.example;
        const fields: Partial<Record<typeof code, Record<string, string>>> = {
          unknown_sku: { mode: 'update' },
          incomplete_group: { format: 'shopify' },
          unmapped_column: { format: 'google-merchant' },
          no_prices: { format: 'google-merchant' },
          no_currency: { format: 'google-merchant' },
        };
        const feed = await service.api.uploadFeed(example, `Example of ${code}`, fields[code] ?? {});
        if (code === 'older_feed') await service.api.loadFeed(example, `Example of ${code}`);

        const { body: job } = await service.api.post(`/jobs/${feed.jobId}/run`);

        const { severity } = issueCodes[code];
        expect(job.status).toBe('completed');
        expect(job.issue_counts).toMatchObject([{ code, severity, count: 1 }]);
        expect(job.issue_counts).toHaveLength(1);
        expect(job.summary.skipped).toBe(severity === 'error' || code === 'repeated_header' ? 1 : 0);
      },
    );

    it.each(schemas.ColumnName.enum)('has an example of %s that is valid', async (name) => {
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
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('rejects the key %j', async (key) => {
      const { status, body } = await service.api.withKey(key).get('/feeds/profile');

      expect(status).toBe(401);
      expect(body).toEqual({ detail: 'Invalid or missing API key' });
    });
  });
});
