import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { checkSync } from 'recheck';
import ts from 'typescript';
import document from '../../generated/openapi.json';
import { amountGrammar, feedColumns } from '../../src/feed-format/columns';
import { startTestService, type TestService } from '../support/service';

/** Every regular expression that is applied to a caller's text must take linear time: recheck proves it, or finds an attack. */
const src = join(__dirname, '../../src');

interface Expression {
  place: string;
  pattern: string;
  flags: string;
  /** Maximum length of the texts that it is applied to. */
  maxLength?: number;
}

const nodesOf = (file: string): ts.Node[] => {
  const nodes: ts.Node[] = [];
  const collect = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, collect);
  };
  collect(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true));
  return nodes;
};

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => join(src, name));

const inSource: Expression[] = files.flatMap((file) =>
  nodesOf(file)
    .filter(ts.isRegularExpressionLiteral)
    .map(({ text }) => {
      const end = text.lastIndexOf('/');
      return { place: relative(src, file), pattern: text.slice(1, end), flags: text.slice(end + 1) };
    }),
);

function patternsOf(node: unknown, place = '#'): Expression[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === 'pattern' && typeof value === 'string'
      ? [{ place, pattern: value, flags: 'u', maxLength: (node as { maxLength?: number }).maxLength }]
      : patternsOf(value, `${place}/${key}`),
  );
}

/** Expressions that the validator compiles from the document. */
const inDocument = patternsOf(document);

/** Expressions composed elsewhere. */
const grammars: Expression[] = [
  ...feedColumns.flatMap((column) =>
    'grammar' in column ? [{ place: column.name, pattern: column.grammar, flags: '' }] : [],
  ),
  { place: 'amount', pattern: `^(?:${amountGrammar})$`, flags: '' },
  { place: 'base/key-format.ts', pattern: 'pcis_[0-9A-Za-z]{36}', flags: 'g' },
];

describe('a regular expression takes time in proportion to the text', () => {
  const all = [...inSource, ...inDocument, ...grammars];

  it.each(all.filter(({ maxLength }) => maxLength === undefined))(
    'in $place: $pattern',
    ({ pattern, flags }) => {
      // For an unsafe one, the result contains an attack text.
      expect(checkSync(pattern, flags, { timeout: null })).toMatchObject({ status: 'safe' });
    },
  );

  // The validator checks all rules of a text, so longer texts are cut before it.
  it.each(all.filter(({ maxLength }) => maxLength !== undefined))(
    'in $place: $pattern, or in quadratic time for at most $maxLength characters',
    ({ pattern, flags, maxLength }) => {
      const found = checkSync(pattern, flags, { timeout: null });

      if (found.status !== 'safe')
        expect(found).toMatchObject({ complexity: { type: 'polynomial', degree: 2 } });
      expect(maxLength).toBeLessThanOrEqual(255);
    },
  );

  it('the scan finds all expressions of source, document and grammars', () => {
    expect(inSource.length).toBeGreaterThan(30);
    expect(inDocument.length).toBeGreaterThan(10);
    const places = grammars.map(({ place }) => place);
    expect(places).toEqual(['price', 'currency', 'amount', 'base/key-format.ts']);
  });

  it('expressions made at run time consist only of these, or of an escaped name', () => {
    const made = files.flatMap((file) =>
      nodesOf(file)
        .filter(
          (node): node is ts.NewExpression =>
            ts.isNewExpression(node) && node.expression.getText() === 'RegExp',
        )
        .map((node) => `${relative(src, file)}: ${node.getText()}`),
    );

    expect(made.sort()).toEqual([
      'base/key-format.ts: new RegExp(`^${key}$`)',
      "base/key-format.ts: new RegExp(key, 'g')",
      "catalog/partners/partner-name.ts: new RegExp(pattern, 'u')",
      'feed-format/parse-price.ts: new RegExp(`^(?:${amountGrammar})$`)',
      "feed-format/parse-price.ts: new RegExp(columnFormat('price').grammar!)",
      expect.stringContaining('http/body/multipart.ts: new RegExp(`^content-disposition:'),
    ]);
  });
});

/** Ratio of the time of the second to the first; the minimum of several tries each, because of noise. */
async function timesAsLong(
  harmless: () => Promise<unknown>,
  hostile: () => Promise<unknown>,
): Promise<number> {
  const least = [Infinity, Infinity];
  for (let attempt = 0; attempt < 4; attempt++) {
    for (const [at, work] of [harmless, hostile].entries()) {
      const begun = performance.now();
      await work();
      least[at] = Math.min(least[at]!, performance.now() - begun);
    }
  }
  return least[1]! / least[0]!;
}

describe('a text that causes backtracking takes no longer than another of its length', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  const length = 100_000;
  const order = (texts: object) => async () => {
    const body = { partner_name: 'Acme', items: [{ product_id: 'PR00001', quantity: 1 }], ...texts };
    expect((await service.api.post('/orders', body)).status).toBe(422);
  };

  it.each(['partner_name', 'customer_reference'])('as %s of an order', async (field) => {
    const harmless = order({ [field]: 'x'.repeat(length + 1) });

    expect(await timesAsLong(harmless, order({ [field]: `${'x'.repeat(length)}\u0001` }))).toBeLessThan(10);
    expect(await timesAsLong(harmless, order({ [field]: `${' '.repeat(length)}\0` }))).toBeLessThan(10);
  });

  it('as a header of an upload', async () => {
    const upload = (end: string) => async () => {
      const csv = `x${' '.repeat(length)}${end},sku\n`;
      expect((await service.api.upload({ partnerName: 'Acme', csv })).status).toBe(400);
    };

    expect(await timesAsLong(upload('xx'), upload('x\u0085'))).toBeLessThan(10);
  });
});
