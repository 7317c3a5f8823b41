import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runFeedCommand } from '../../support/commands';
import { createTestFolder } from '../../support/harness';
import { startUsedService, type ServiceProcess } from '../../support/process';

const definition = {
  columns: {
    sku: { from: ['sku', 'Nr'] },
    product_name: { join: ['product_name', 'Farbe'], with: ' ' },
    currency: { value: 'EUR' },
  },
};

let service: ServiceProcess;
let env: Record<string, string>;
beforeAll(async () => {
  service = await startUsedService();
  env = { CATALOG_URL: service.url!, DATA_DIR: service.dataDir };
});

function write(content: string, name: string): string {
  const path = join(createTestFolder(), name);
  writeFileSync(path, content);
  return path;
}

const feed = (...args: string[]) => runFeedCommand(args, env);
const acme = ['--partner', 'Acme Outdoor'];

describe('npm run feed -- formats', () => {
  it('saves, shows, lists and deletes a format of a partner', async () => {
    const file = write(JSON.stringify(definition), 'format.json');

    const saved = await feed('formats', 'save', 'weekly', file, ...acme);
    const shown = await feed('formats', 'show', 'weekly', ...acme);
    const listed = await feed('formats', 'list', ...acme);
    const deleted = await feed('formats', 'delete', 'weekly', ...acme);
    const gone = await feed('formats', 'show', 'weekly', ...acme);

    expect([saved.code, saved.stdout]).toEqual([0, 'Format weekly of partner Acme Outdoor is saved.\n']);
    expect(JSON.parse(shown.stdout)).toEqual(definition);
    expect(listed.stdout).toMatch(
      /^format +partner +updated +encoding +delimiter +columns\nweekly +Acme Outdoor /,
    );
    expect(listed.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'sku: sku or Nr; product_name: product_name + Farbe; currency: "EUR"',
    );
    expect([deleted.code, deleted.stdout]).toEqual([
      0,
      'Format weekly of partner Acme Outdoor is deleted.\n',
    ]);
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('with 404: Format not found.')]);
  });

  it('shows a built-in format, which can be saved under another name', async () => {
    const shown = await feed('formats', 'show', 'shopify');
    const saved = await feed('formats', 'save', 'ours', write(shown.stdout, 'ours.json'), '--json', ...acme);

    expect(JSON.parse(saved.stdout)).toMatchObject({
      format_name: 'ours',
      partner_name: 'Acme Outdoor',
      definition: JSON.parse(shown.stdout),
    });
    expect((await feed('formats', 'list', '--limit', '2')).stdout).toMatch(
      /\nMore: --cursor google-merchant\n$/,
    );
    expect(await feed('formats', 'show', 'unknown')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no built-in format unknown.'),
    });
  });

  it('exits with 1 and the faults of a definition, and with 2 for a file that is not JSON', async () => {
    const wrong = write('{"columns":{"sku":{}},"delimitr":";"}', 'wrong.json');

    const refused = await feed('formats', 'save', 'wrong', wrong, ...acme);
    const unreadable = await feed('formats', 'save', 'wrong', write('delimiter: ;', 'a.yaml'), ...acme);
    const missing = await feed('formats', 'save', 'wrong', 'does-not-exist.json', ...acme);

    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('delimitr: Extra inputs are not permitted; columns.sku: ');
    expect([unreadable.code, unreadable.stderr]).toEqual([2, expect.stringContaining('is not JSON')]);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('cannot be read')]);
  });
});

describe('npm run feed -- upload --format', () => {
  it('uploads by a format', async () => {
    const csv = 'id,title,sku,product_name\nA,Tent,A,Tent\n';

    const { code, stdout } = await feed(
      ...['upload', write(csv, 'feed.tsv'), '--no-run', '--format', 'google-merchant', '--json'],
      ...acme,
    );

    expect(code).toBe(0);
    const { feed_id } = JSON.parse(stdout) as { feed_id: string };
    expect((await service.api.get(`/feeds/${feed_id}`)).body).toMatchObject({
      file_name: 'feed.tsv',
      format_name: 'google-merchant',
    });
  });
});
