import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FeedCommand, runFeedCommand } from '../../support/commands';
import { createTestFolder, eventually } from '../../support/harness';
import { startUsedService, type ServiceProcess } from '../../support/process';
import { styled, workbookFile, type TestCell, type TestWorkbook } from '../../support/workbooks';

let service: ServiceProcess;
let env: Record<string, string>;
beforeAll(async () => {
  service = await startUsedService();
  env = { CATALOG_URL: service.url!, DATA_DIR: service.dataDir };
});

const feed = (...args: string[]) => runFeedCommand(args, env);
const acme = ['--partner', 'Acme'];

function write(workbook: TestWorkbook, name = 'spring.xlsx'): string {
  const path = join(createTestFolder(), name);
  writeFileSync(path, workbookFile(workbook));
  return path;
}

const header = ['sku', 'product_name', 'price', 'availability'];
const row = (sku: string): TestCell[] => [sku, 'Cup', styled(1, 12.5), 'in_stock'];
const formats = ['#,##0.00 [$€-407]'];

describe('a workbook', () => {
  it('is uploaded as the CSV file of its only sheet with rows, with notes, and loaded', async () => {
    const rows = [['Price list'], header, row('CUP-1'), row('CUP-2')];
    const path = write({ formats, sheets: [{ name: 'Products', rows }, { name: 'Empty' }] });
    const saved = join(createTestFolder(), 'made.csv');
    const { code, stderr } = await feed('upload', path, '--save-csv', saved, ...acme);

    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    expect(stderr).toContain(
      'Sheet Products, header row 2: 2 rows.\nRow 1 above the header row is left out.\n' +
        'A column currency is added, with EUR, as the cells of price show.\n',
    );
    expect(readFileSync(saved, 'utf8')).toBe(
      'sku,product_name,price,availability,currency\nCUP-1,Cup,12.5,in_stock,EUR\nCUP-2,Cup,12.5,in_stock,EUR\n',
    );
    const feeds = (await service.api.get('/feeds?partner_name=Acme')).body as {
      items: { file_name: string }[];
    };
    expect(feeds.items[0]!.file_name).toBe('spring - Products.csv');
  });

  it('is inspected by the sheet, header row and columns that options name', async () => {
    const sheets = [
      { name: 'Old', rows: [header, row('OLD-1')] },
      {
        name: 'New',
        rows: [header, [...header], row('NEW-1'), row('NEW-2')],
        rowAttributes: { 4: 'hidden="1"' },
      },
    ];
    const options = ['--sheet', 'New', '--header-row', '2', '--no-hidden', '--no-currency-column'];
    const { stdout, stderr } = await feed('inspect', write({ formats, sheets }), ...options, ...acme);

    expect(stdout).toContain('spring - New.csv');
    expect(stdout).toContain('1 rows');
    expect(stdout).toContain('NEW-1');
    expect(stderr).toContain('Sheet New, header row 2: 1 row.');
  });

  it('is checked without a service, by the lines of its CSV file', async () => {
    const rows = [['Price list'], header, row('CUP-1'), ['', 'Cup', 1, 'in_stock']];
    const path = write({ formats, sheets: [{ name: 'Products', rows }] });
    const text = await feed('check', path, '--strict');
    const annotated = await feed('check', path, '--output-format', 'github');

    expect(text.code).toBe(3);
    expect(text.stderr).toContain('Lines are those of the CSV file: keep it with --save-csv NEW.');
    expect(text.stdout).toContain('missing_required');
    expect(annotated.stdout).toContain('title=missing_required::Line 3: sku is required');
  });

  it('needs --sheet if several sheets have rows, and the refusal lists them', async () => {
    const sheets = [
      { name: 'A', rows: [header, row('A-1')] },
      { name: 'B', rows: [header] },
      { name: 'C', rows: [header], state: 'hidden' as const },
    ];
    const { code, stderr } = await feed('upload', write({ formats, sheets }), ...acme);

    expect(code).toBe(2);
    expect(stderr).toContain(
      'Name one of the sheets with --sheet NAME:\n  A (2 rows)\n  B (1 row)\n  C (1 row, hidden)\n',
    );
  });

  it('that cannot be read ends the command with a sentence, and nothing is written', async () => {
    const path = write({ sheets: [] });
    const saved = join(createTestFolder(), 'made.csv');
    const { code, stderr } = await feed('upload', path, '--save-csv', saved, ...acme);

    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'spring.xlsx: The workbook has no sheet with cells. Use another one.\n',
    });
    expect(existsSync(saved)).toBe(false);
  });

  it('is no other file: its options are refused for one', async () => {
    const path = join(createTestFolder(), 'a.csv');
    writeFileSync(path, 'sku\n');
    const { code, stderr } = await feed('inspect', path, '--sheet', 'A', ...acme);
    expect(code).toBe(2);
    expect(stderr).toContain('are for workbooks (.xlsx).');
  });

  it('is read in a thread, which Ctrl-C ends', async () => {
    const rows = Array.from({ length: 60_000 }, (_, at) => row(`CUP-${at}`));
    const path = write({ formats, sheets: [{ rows: [header, ...rows] }] });
    const command = new FeedCommand(['upload', path, '--no-run', ...acme], env);
    await eventually('the thread reads', () => expect(command.stderr).toContain('reading'));
    command.kill('SIGINT');
    const { code, stderr } = await command.exit;

    expect(code).toBe(130);
    expect(stderr).toContain('Interrupted.');
    expect(stderr).not.toContain('Stored');
  });
});
