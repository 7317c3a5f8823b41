import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runFeedCommand } from '../../support/commands';
import { startFeedServer, csv } from '../../support/source-requests';
import { createTestFolder, eventually } from '../../support/harness';
import { startUsedService, type ServiceProcess } from '../../support/process';

let service: ServiceProcess;
let env: Record<string, string>;
beforeAll(async () => {
  service = await startUsedService({ PRIVATE_ADDRESSES: 'on' });
  env = { CATALOG_URL: service.url!, DATA_DIR: service.dataDir };
});

const feed = (...args: string[]) => runFeedCommand(args, env);
const acme = ['--partner', 'Acme Outdoor'];

describe('npm run feed -- sources', () => {
  it('adds, fetches, lists and deletes a source, and shows no secret', async () => {
    const feeds = await startFeedServer((_request, response) => void response.end(csv));
    const file = join(createTestFolder(), 'source.json');
    const definition = { url: `${feeds.url}/products.csv`, headers: { 'x-token': 'tok-3a7bd3e2360a' } };
    writeFileSync(file, JSON.stringify(definition));

    const added = await feed('sources', 'add', 'daily', file, ...acme);
    const fetched = await feed('sources', 'fetch', 'daily', ...acme);
    const history = await eventually('the fetch has ended', async () => {
      const shown = await feed('sources', 'history', 'daily', ...acme);
      return /completed/.test(shown.stdout) && shown;
    });
    const listed = await feed('sources', 'list', '--json');
    const deleted = await feed('sources', 'delete', 'daily', ...acme);

    expect([added.code, added.stdout]).toEqual([0, 'Source daily of partner Acme Outdoor is stored.\n']);
    expect([fetched.code, fetched.stdout]).toEqual([
      0,
      expect.stringMatching(/^Fetch 1 of source daily is queued\. /),
    ]);
    expect(history.stdout).toMatch(/^fetch +status +requested +attempts +feed +failure\n1 +completed /);
    expect(JSON.parse(listed.stdout).items[0].definition.headers).toEqual({ 'x-token': '********' });
    expect(feeds.requests[0]!.headers['x-token']).toBe('tok-3a7bd3e2360a');
    expect([deleted.code, deleted.stdout]).toEqual([0, 'Source daily of partner Acme Outdoor is deleted.\n']);
    expect((await feed('sources', 'list')).stdout).toBe('There are no sources.\n');
  });
});
