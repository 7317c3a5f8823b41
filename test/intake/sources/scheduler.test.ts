import { openDatabase, type Database } from '../../../src/base/db/database';
import {
  claimFetches,
  endFetch,
  releaseFetch,
  renewLease,
} from '../../../src/intake/sources/claims.repository';
import { fetchSource } from '../../../src/intake/sources/fetch-source';
import { removeOldFetches } from '../../../src/intake/sources/fetches.repository';
import { scheduleDue } from '../../../src/intake/sources/scheduler';
import { createLog } from '../../../src/base/log';
import { afterFile } from '../../support/harness';
import { csv, putSource, sourcePath, startFeedServer } from '../../support/source-requests';
import { startTestService, type TestService } from '../../support/service';
import { filesBelow } from '../../support/stored-uploads';
import { sendTo } from '../../support/webhooks';

const partner = 'Acme Outdoor';
const never = new AbortController().signal;

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const at = (text: string) => new Date(text);
const schedule = { cron: '30 5 * * *', time_zone: 'UTC' };
const daily = { url: 'https://feeds.acme.example/products.csv', schedule };

/** What stays real while the clock of the process is wrong. */
const timersBesidesDate = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

/** Stores a source whose next slot is known. */
async function store(name: string, nextSlotAt: string, definition: object = daily): Promise<void> {
  expect((await putSource(service.api, partner, name, definition)).status).toBe(200);
  const times = { next_slot_at: nextSlotAt, scheduled_at: '2026-01-01T00:00:00Z' };
  await service.db('sources').where('source_name', name).update(times);
}

async function fetchesOf(name: string): Promise<Record<string, unknown>[]> {
  return (await service.api.get(`${sourcePath(partner, name)}/fetches`)).body.items;
}

const nextOf = async (name: string) => (await service.api.get(sourcePath(partner, name))).body.next_fetch_at;

const endAll = (db: Database = service.db) =>
  db('source_fetches').where('status', 'queued').update({ status: 'failed', finished_at: new Date() });

describe('a slot', () => {
  it('follows the clock of the database, whose time decides when it is due', async () => {
    const { rows } = await service.db.raw<{ rows: { now: Date }[] }>('select now()');
    const inMinutes = (minutes: number) => new Date(rows[0]!.now.getTime() + minutes * 60_000);
    const soon = inMinutes(2);
    const cron = `${soon.getUTCMinutes()} ${soon.getUTCHours()} * * *`;
    jest.useFakeTimers({ doNotFake: [...timersBesidesDate], now: inMinutes(60) });

    const stored = await putSource(service.api, partner, 'a', { ...daily, schedule: { ...schedule, cron } });

    jest.useRealTimers();
    expect(stored.status).toBe(200);
    expect(new Date(stored.body.next_fetch_at) < inMinutes(60)).toBe(true);
  });

  it('queues one fetch, and is followed by the next slot', async () => {
    await store('a', '2026-03-02T05:30:00Z');

    await scheduleDue(service.db, { now: at('2026-03-02T05:29:59Z') });
    expect(await fetchesOf('a')).toEqual([]);
    await scheduleDue(service.db, { now: at('2026-03-02T05:30:00Z') });
    await scheduleDue(service.db, { now: at('2026-03-02T05:30:01Z') });

    expect(await fetchesOf('a')).toMatchObject([
      { fetch: 1, status: 'queued', slot_at: '2026-03-02T05:30:00.000Z', requested_by: null },
    ]);
    expect(await nextOf('a')).toBe('2026-03-03T05:30:00.000Z');
  });

  it('starts within a minute', async () => {
    await store('a', '2026-03-02T05:30:00Z');

    await scheduleDue(service.db, { now: at('2026-03-02T05:30:00Z') });

    const [fetch] = await fetchesOf('a');
    const wait = Date.parse(fetch!.next_attempt_at as string) - Date.parse('2026-03-02T05:30:00Z');
    expect(wait).toBeGreaterThanOrEqual(0);
    expect(wait).toBeLessThanOrEqual(60_000);
  });

  it('is made up for once, for any number of missed slots', async () => {
    await store('a', '2026-03-02T05:30:00Z');

    await scheduleDue(service.db, { now: at('2026-03-20T12:00:00Z') });

    expect(await fetchesOf('a')).toHaveLength(1);
    expect(await nextOf('a')).toBe('2026-03-21T05:30:00.000Z');
  });

  it('is skipped while the last fetch has not ended', async () => {
    await store('a', '2026-03-02T05:30:00Z');
    await scheduleDue(service.db, { now: at('2026-03-02T05:30:00Z') });

    await scheduleDue(service.db, { now: at('2026-03-03T05:30:00Z') });
    await endAll();
    await scheduleDue(service.db, { now: at('2026-03-04T05:30:00Z') });

    expect(await fetchesOf('a')).toMatchObject([
      { fetch: 3, status: 'queued' },
      { fetch: 2, status: 'skipped', attempts: 0, slot_at: '2026-03-03T05:30:00.000Z' },
      { fetch: 1, status: 'failed' },
    ]);
  });

  it('is skipped while the run of the last fetch has not ended', async () => {
    await store('a', '2026-03-02T05:30:00Z');
    const { jobId, feedId } = await service.api.uploadFeed(csv, partner);
    await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
    await service.db('sources').update({ last_feed_id: Number(feedId.slice(2)) });

    await scheduleDue(service.db, { now: at('2026-03-02T05:30:00Z') });

    expect(await fetchesOf('a')).toMatchObject([{ status: 'skipped' }]);
  });

  it('queues one fetch for two concurrent schedulers', async () => {
    for (let count = 0; count < 30; count++) await store(`s${count}`, '2026-03-02T05:30:00Z');
    const other = openDatabase(service.address, { applicationName: 'test', connectionsMax: 4 });
    afterFile(() => other.destroy());

    const now = at('2026-03-02T05:30:00Z');
    await Promise.all([service.db, other, service.db, other].map((db) => scheduleDue(db, { now })));

    const { rows } = await service.db.raw(
      'select source_id, count(*) as count from source_fetches group by 1',
    );
    expect(rows).toHaveLength(30);
    expect(rows.filter(({ count }: { count: number }) => count !== 1)).toEqual([]);
  });

  it('occurs once in the night of each clock change', async () => {
    const berlin = (cron: string) => ({ ...daily, schedule: { cron, time_zone: 'Europe/Berlin' } });
    await store('spring', '2026-03-28T01:30:00Z', berlin('30 2 * * *'));
    await store('autumn', '2026-10-24T00:30:00Z', berlin('30 2 * * *'));
    for (const day of ['2026-03-28', '2026-10-24']) {
      const start = Date.parse(`${day}T00:00:00Z`);
      for (let minute = 0; minute < 2 * 24 * 60; minute += 10) {
        await scheduleDue(service.db, { now: new Date(start + minute * 60_000) });
        await endAll();
      }
    }

    const slots = async (name: string) => (await fetchesOf(name)).map(({ slot_at: slot }) => slot).reverse();
    expect((await slots('spring')).slice(0, 2)).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
    ]);
    expect((await slots('autumn')).slice(0, 2)).toEqual([
      '2026-10-24T00:30:00.000Z',
      '2026-10-25T00:30:00.000Z',
    ]);
    expect(await slots('autumn')).toHaveLength(2);
  }, 60_000);

  it('occurs at its time again after the clock was wrong, and never twice', async () => {
    await store('a', '2026-03-02T05:30:00Z');
    await scheduleDue(service.db, { now: at('2027-06-01T00:00:00Z') });
    expect(await nextOf('a')).toBe('2027-06-01T05:30:00.000Z');
    await endAll();

    await scheduleDue(service.db, { now: at('2026-03-02T05:00:00Z') });
    expect(await nextOf('a')).toBe('2026-03-02T05:30:00.000Z');
    await scheduleDue(service.db, { now: at('2026-03-02T05:30:00Z') });
    await scheduleDue(service.db, { now: at('2026-03-03T05:30:00Z') });

    expect((await fetchesOf('a')).map(({ slot_at: slot }) => slot)).toEqual([
      '2026-03-03T05:30:00.000Z',
      '2026-03-02T05:30:00.000Z',
    ]);
  });

  it('is fetched if the next one cannot be computed; that fails alone each hour, and is made up for', async () => {
    const unknown = { ...daily, schedule: { cron: '30 5 * * *', time_zone: 'Mars/Olympus' } };
    await sendTo(service.db, 'http://localhost/');
    for (const name of ['a', 'b', 'c']) await store(name, '2026-03-02T05:30:00Z');
    const replace = (definition: object) =>
      service
        .db('sources')
        .where('source_name', 'b')
        .update({ definition: JSON.stringify(definition) });
    const { definition } = (await service.api.get(sourcePath(partner, 'b'))).body;
    await replace({ ...definition, ...unknown });

    await scheduleDue(service.db, { now: at('2026-03-02T05:30:00Z') });

    for (const name of ['a', 'b', 'c'])
      expect(await fetchesOf(name)).toMatchObject([
        { status: 'queued', slot_at: '2026-03-02T05:30:00.000Z' },
      ]);
    for (const name of ['a', 'c']) expect(await nextOf(name)).toBe('2026-03-03T05:30:00.000Z');
    expect(await nextOf('b')).toBe('2026-03-02T06:30:01.000Z');
    await scheduleDue(service.db, { now: at('2026-03-02T06:30:01Z') });
    const [failed, ...others] = await fetchesOf('b');
    expect(others).toMatchObject([{ status: 'queued' }]);
    expect(failed).toMatchObject({ status: 'failed', slot_at: '2026-03-02T06:30:01.000Z', attempts: 0 });
    expect(failed!.failure_reason).toBe(
      'schedule_unreadable (Invalid time zone specified: Mars/Olympus): The times of the schedule cannot be ' +
        'computed: send the source with another schedule, or update the service.',
    );
    expect(await nextOf('b')).toBe('2026-03-02T07:30:01.000Z');
    await endAll();
    for (const hour of ['07', '08', '09', '10'])
      await scheduleDue(service.db, { now: at(`2026-03-02T${hour}:30:59Z`) });
    expect((await service.api.get(sourcePath(partner, 'b'))).body).toMatchObject({
      state: 'failing',
      failures_in_a_row: 5,
    });
    expect(await service.db('webhook_deliveries').where('event_type', 'source.failed')).toMatchObject([
      { content: { source_name: 'b', failures_in_a_row: 5 } },
    ]);
    await replace(definition);

    await scheduleDue(service.db, { now: at('2026-03-02T11:30:01Z') });

    expect((await fetchesOf('b'))[0]).toMatchObject({ status: 'queued' });
    expect(await nextOf('b')).toBe('2026-03-03T05:30:00.000Z');
  });

  it('does not occur for a disabled source', async () => {
    await putSource(service.api, partner, 'a', { ...daily, is_enabled: false });

    expect(await nextOf('a')).toBeNull();
    await scheduleDue(service.db, { now: at('2126-03-02T05:30:00Z') });
    expect(await fetchesOf('a')).toEqual([]);
  });
});

describe('a claim', () => {
  const request = async (name = 'a', definition: object = daily) => {
    expect((await putSource(service.api, partner, name, definition)).status).toBe(200);
    expect((await service.api.post(`${sourcePath(partner, name)}/fetch`)).status).toBe(202);
  };
  const expireLeases = () => service.db('source_fetches').update({ next_attempt_at: new Date(0) });
  const context = () => ({
    db: service.db,
    objectStore: service.objectStore,
    uploadBytesMax: 10_000,
    log: createLog('silent'),
    secretBox: undefined,
    privateAddresses: true,
  });

  it('belongs to one worker at a time', async () => {
    for (const name of ['a', 'b']) await request(name);

    const claimed = await Promise.all([1, 2, 3, 4].map(() => claimFetches(service.db, 4)));

    expect(claimed.flat()).toHaveLength(2);
    expect(await claimFetches(service.db, 4)).toEqual([]);
  });

  it('takes a few fetches of each partner', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await request(name);

    expect(await claimFetches(service.db, 4)).toHaveLength(2);
    expect(await claimFetches(service.db, 4)).toHaveLength(0);
  });

  it('passes to another worker after its lease has expired, and the first worker creates no feed', async () => {
    const feeds = await startFeedServer((_request, response) => void response.end(csv));
    await request('a', { url: `${feeds.url}/products.csv` });
    const [first] = await claimFetches(service.db, 1);
    await expireLeases();
    const [second] = await claimFetches(service.db, 1);
    expect(second).toMatchObject({ fetch_number: 1, attempts: 2 });

    expect(await renewLease(service.db, first!)).toBe(false);
    expect(await renewLease(service.db, second!)).toBe(true);
    await Promise.all([first!, second!, first!].map((claim) => fetchSource(claim, context(), never)));

    expect(await fetchesOf('a')).toMatchObject([{ status: 'completed', attempts: 2 }]);
    expect((await service.api.get('/feeds')).body.count).toBe(1);
    expect(await filesBelow(service.dataDir)).toHaveLength(1);
  });

  it('fails after five attempts whose workers died', async () => {
    await request();
    for (let attempt = 1; attempt <= 5; attempt++) {
      await expireLeases();
      expect(await claimFetches(service.db, 1)).toMatchObject([{ attempts: attempt }]);
    }
    await expireLeases();
    const [claim] = await claimFetches(service.db, 1);

    await fetchSource(claim!, context(), never);

    expect(await fetchesOf('a')).toMatchObject([
      { status: 'failed', failure_reason: 'aborted: The attempts were interrupted. Fetch the source again.' },
    ]);
  });

  it('is released without an attempt when the worker stops', async () => {
    const feeds = await startFeedServer((_request, response) => void response.write('sku'));
    await request('a', { url: `${feeds.url}/products.csv` });
    const [claim] = await claimFetches(service.db, 1);
    const stopping = new AbortController();

    const fetched = fetchSource(claim!, context(), stopping.signal);
    setTimeout(() => stopping.abort(), 50);
    await fetched;

    expect(await fetchesOf('a')).toMatchObject([{ status: 'queued', attempts: 0, failure_reason: null }]);
    await releaseFetch(service.db, claim!);
    expect((await service.api.get(sourcePath(partner, 'a'))).body.failures_in_a_row).toBe(0);
    expect(await filesBelow(service.dataDir)).toEqual([]);
  });

  it('creates no feed of a source that was deleted meanwhile', async () => {
    const feeds = await startFeedServer((_request, response) => {
      void service.api.send('DELETE', sourcePath(partner, 'a')).then(() => response.end(csv));
    });
    await request('a', { url: `${feeds.url}/products.csv` });
    const [claim] = await claimFetches(service.db, 1);

    await fetchSource(claim!, context(), never);

    expect((await service.api.get('/feeds')).body.count).toBe(0);
    expect(await filesBelow(service.dataDir)).toEqual([]);
  });

  it('finishes no fetch twice', async () => {
    await request();
    const [claim] = await claimFetches(service.db, 1);
    const end = () =>
      service.db.transaction((trx) =>
        endFetch(trx, claim!, { status: 'unchanged', feedId: 1, httpStatus: 304 }),
      );

    expect([await end(), await end()]).toEqual([true, false]);
  });
});

describe('fetches that ended long ago', () => {
  it('are removed', async () => {
    await store('a', '2026-03-02T05:30:00Z');
    await scheduleDue(service.db, { now: at('2026-03-02T05:30:00Z') });
    await endAll();
    await scheduleDue(service.db, { now: at('2026-03-03T05:30:00Z') });
    await service
      .db('source_fetches')
      .where('status', 'failed')
      .update({ finished_at: '2025-01-01T00:00:00Z' });

    await removeOldFetches(service.db);

    expect(await fetchesOf('a')).toMatchObject([{ fetch: 2, status: 'queued' }]);
  });
});
