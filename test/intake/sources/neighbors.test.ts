import type { ServerResponse } from 'node:http';
import { RoundRobinClaims } from '../../../src/intake/sources/claims.repository';
import { openUrlLimits } from '../../../src/intake/sources/open-url';
import { concurrentFetches, startSourceWorker } from '../../../src/intake/sources/worker';
import { createLog } from '../../../src/base/log';
import { eventually } from '../../support/harness';
import { csv, fetchNow, putSource, sourcePath, startFeedServer } from '../../support/source-requests';
import { startTestService, type TestService } from '../../support/service';

const sources = { privateAddresses: true, spread: 0 };

/** Requests fetches of new sources of a partner. */
async function request({ api }: TestService, partner: string, names: string[], url: string): Promise<void> {
  for (const name of names) {
    expect((await putSource(api, partner, name, { url, run_after_fetch: false })).status).toBe(200);
    expect((await api.post(`${sourcePath(partner, name)}/fetch`)).status).toBe(202);
  }
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `s${at}`);

describe('servers that occupy all slots of a process', () => {
  it.each([
    [
      'below the minimum throughput',
      'x',
      'timeout: The server sent less than 1 KiB per second for 2 seconds.',
    ],
    [
      'below that of busy times',
      'A,Tent\n'.repeat(100),
      'timeout: The server sent less than 64 KiB per second for 2 seconds while other partners waited.',
    ],
  ])('leave slots to others when they are %s', async (_what, piece, reason) => {
    const slow: ServerResponse[] = [];
    const feeds = await startFeedServer((_request, response) => void slow.push(response));
    const quick = await startFeedServer((_request, response) => void response.end(csv));
    const service = await startTestService({ sources });
    const partners = numbered(concurrentFetches);
    for (const partner of partners) await request(service, partner, ['slow'], `${feeds.url}/a.csv`);
    await eventually('all slots are occupied', () => slow.length === concurrentFetches);
    // It limits the time until the head of a response too, which depends on the load.
    jest.replaceProperty(openUrlLimits, 'idleMilliseconds', 2000);
    for (const response of slow) {
      response.write('sku,product_name\n');
      const timer = setInterval(() => response.write(piece), 50);
      response.on('close', () => clearInterval(timer));
    }

    await putSource(service.api, 'Neighbor', 'quick', { url: `${quick.url}/a.csv`, run_after_fetch: false });
    expect(await fetchNow(service.api, 'Neighbor', 'quick')).toMatchObject({ status: 'completed' });

    const rows = await service.db('source_fetches').where({ status: 'queued', attempts: 1 });
    expect(new Set(rows.map(({ failure_reason }) => failure_reason as string))).toEqual(new Set([reason]));
  });
});

describe('claims of a process', () => {
  it('serve a partner with one fetch before the second of another, and keep slots for new partners', async () => {
    const service = await startTestService();
    const url = 'https://feeds.acme.example/a.csv';
    for (const partner of ['a', 'b', 'c', 'd', 'e']) await request(service, partner, numbered(6), url);
    await request(service, 'z', ['only'], url);
    const claims = new RoundRobinClaims(service.db);
    const claim = async (max: number) => {
      const names: string[] = [];
      for (let count = -1; names.length > count && names.length < max;) {
        count = names.length;
        names.push(...(await claims.claim(max - count)).map(({ partner_name: name }) => name));
      }
      return names.sort();
    };
    const endAll = () =>
      service
        .db('source_fetches')
        .where('status', 'running')
        .update({ status: 'failed', finished_at: new Date() });

    expect(await claim(4)).toEqual(['a', 'b', 'c', 'd']);
    await endAll();
    expect(await claim(4)).toEqual(['a', 'b', 'e', 'z']);
    await endAll();
    expect(await claim(8)).toEqual(['a', 'a', 'b', 'c', 'd', 'e']);
    expect(await claim(3)).toHaveLength(1);
    expect(await claim(2)).toEqual([]);
  });
});

describe('a fetch continues', () => {
  it('while old fetches cannot be removed', async () => {
    const service = await startTestService();
    const feeds = await startFeedServer((_request, response) => void response.end(csv));
    await request(service, 'Acme', ['old'], `${feeds.url}/a.csv`);
    await service.db('source_fetches').update({ status: 'failed', finished_at: '2025-01-01T00:00:00Z' });
    await service.db.raw('create rule refuse as on delete to source_fetches do instead select 1 / 0');
    const { db, objectStore } = service;
    const log = createLog('silent');
    const worker = startSourceWorker(
      { db, objectStore, log, uploadBytesMax: 10_000, secretBox: undefined, privateAddresses: true },
      { shutdownSeconds: 0, pollMilliseconds: 50, spread: 0 },
    );

    expect(await fetchNow(service.api, 'Acme', 'old')).toMatchObject({ fetch: 2, status: 'completed' });
    await worker.stop();
  });
});

describe('a source whose URL this version cannot read', () => {
  it('fails alone, and can be replaced', async () => {
    const service = await startTestService({ sources });
    await putSource(service.api, 'Acme', 'a', { url: 'https://feeds.acme.example/a.csv' });
    await service.db.raw(
      `update sources set definition = cast(replace(cast(definition as text), 'https', '') as json)`,
    );

    expect(await fetchNow(service.api, 'Acme', 'a')).toMatchObject({
      status: 'failed',
      failure_reason: 'wrong_url: The URL cannot be read: send the source with another one.',
    });
    const secrets = { basic_auth: { username: 'a', password: '********' } };
    const again = await putSource(service.api, 'Acme', 'a', {
      url: 'https://feeds.acme.example/a.csv',
      ...secrets,
    });
    expect(again.status).toBe(200);
  });
});
