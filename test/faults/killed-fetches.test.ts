import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { FileStore } from '../../src/base/storage/file-store';
import { csv, putSource, sourcePath, startFeedServer, type FeedServer } from '../support/source-requests';
import { createTestFolder, eventually } from '../support/harness';
import { ofMatrix } from '../support/matrix';
import { findBroken } from '../support/service-invariants';
import { commits, killAndRestart, newPartner, says, startWorld, type World } from '../support/killed-world';
import type { Fate } from '../support/postgres-proxy';
import { startService } from '../support/process';

let world: World;
let feeds: FeedServer;
beforeAll(async () => {
  const folder = createTestFolder();
  const env = { DATA_DIR: folder, PRIVATE_ADDRESSES: 'on', LOG_LEVEL: 'info' };
  world = await startWorld(env, new FileStore(folder));
  feeds = await startFeedServer((_request, response) => void response.end(csv));
});
beforeEach(() => {
  feeds.requests = [];
  feeds.respond = (_request, response) => void response.end(csv);
});

const source = 'daily';
const pathOf = (partner: string) => sourcePath(partner, source);

/** Requests a fetch of a new partner, and holds it. Workers poll only after it exists, so that no idle poll is held. */
async function holdFetch(hold: () => Promise<void>): Promise<{ partner: string; reached: Promise<void> }> {
  const partner = newPartner();
  const { api } = world.service;
  expect((await putSource(api, partner, source, { url: `${feeds.url}/a.csv` })).status).toBe(200);
  let begin!: () => void;
  const requested = new Promise<void>((resolve) => (begin = resolve));
  const isLook = says('with busy as materialized', 'queue');
  world.proxy.onCall = async (call): Promise<Fate> => {
    if (isLook(call)) await requested;
    return 'pass';
  };
  await setImmediate();
  const reached = hold();
  expect((await api.post(`${pathOf(partner)}/fetch`)).status).toBe(202);
  world.proxy.onCall = () => 'pass';
  begin();
  return { partner, reached };
}

/** Expires the leases of killed workers, which otherwise takes a minute. */
const expireLeases = () =>
  world
    .db('source_fetches')
    .where('status', 'running')
    .update({ next_attempt_at: new Date(0) });

const feedsOf = async (partner: string): Promise<number> =>
  (
    await world
      .db('feeds')
      .join('partners', 'partners.partner_id', 'feeds.partner_id')
      .where('partner_name', partner)
  ).length;

/** Waits until the fetch and its run have ended, and expects one of each, and one feed. @returns the attempts of the fetch */
async function expectOneOfEach(partner: string): Promise<number> {
  const { api } = world.service;
  const { body: partnerNow } = await eventually('the feed is loaded', async () => {
    const response = await api.get(`/partners/${encodeURIComponent(partner)}`);
    return response.body.last_completed_at !== null && response;
  });
  expect(partnerNow).toMatchObject({ feeds: 1, products: 1 });
  const { body: fetches } = await api.get(`${pathOf(partner)}/fetches`);
  expect(fetches.items).toMatchObject([{ status: 'completed', feed_id: partnerNow.last_feed_id }]);
  const { body: feed } = await api.get(`/feeds/${partnerNow.last_feed_id}`);
  const { body: runs } = await api.get(`/jobs/${feed.validation_job_id}/runs`);
  expect(runs.items.filter(({ status }: { status: string }) => status !== 'failed')).toMatchObject([
    { status: 'completed', requested_by: `source:${source}`, summary: { inserted: 1 } },
  ]);
  return fetches.items[0].attempts;
}

/** Holds a statement of the fetch, or its response. */
const hold =
  (text: string, what: 'call' | 'answer', pool = 'queue') =>
  () =>
    world.proxy.hold(says(text, pool), what).reached;
const holdCommit = (what: 'call' | 'answer') => () =>
  world.proxy.hold(commits('insert into "feeds"', 'queue'), what).reached;

/** Sends the rest of the file of `holdDownload`. */
let finishDownload: () => void;

function holdDownload(): Promise<void> {
  return new Promise((resolve) => {
    feeds.respond = (_request, response: ServerResponse) => {
      finishDownload = () => response.end(csv.slice(-5));
      response.writeHead(200, { 'content-length': csv.length });
      response.write(csv.slice(0, -5), () => resolve());
    };
  });
}

describe('the process is killed during a fetch', () => {
  it.each(
    ofMatrix<[string, { hold: () => Promise<void>; feedsThen: number; attempts: number }]>(
      [
        ['after its claim', { hold: hold('with busy as materialized', 'answer'), feedsThen: 0, attempts: 2 }],
        ['during the download', { hold: holdDownload, feedsThen: 0, attempts: 2 }],
        [
          'when the raw file is stored',
          { hold: hold('insert into "feeds"', 'call'), feedsThen: 0, attempts: 2 },
        ],
        [
          'after the row of the feed',
          { hold: hold('insert into "feeds"', 'answer'), feedsThen: 0, attempts: 2 },
        ],
        [
          'when the fetch has ended, before the request of its run',
          { hold: hold('set failures_in_a_row = 0', 'answer'), feedsThen: 0, attempts: 2 },
        ],
        [
          'when the run is requested, before the commit',
          { hold: holdCommit('call'), feedsThen: 0, attempts: 2 },
        ],
        ['after the commit, before its answer', { hold: holdCommit('answer'), feedsThen: 1, attempts: 1 }],
        [
          'during the run',
          { hold: hold('insert into products', 'answer', 'etl'), feedsThen: 1, attempts: 1 },
        ],
      ],
      'during the download',
      'after the commit, before its answer',
    ),
  )('%s', async (_what, { hold: holdPhase, feedsThen, attempts }) => {
    const { partner, reached } = await holdFetch(holdPhase);
    await reached;
    expect(await feedsOf(partner)).toBe(feedsThen);
    feeds.respond = (_request, response) => void response.end(csv);

    await killAndRestart(world);
    await expireLeases();

    expect(await expectOneOfEach(partner)).toBe(attempts);
    const { db, objectStore, service } = world;
    expect(await findBroken({ db, objectStore, apis: [service.api] }, { orphans: true })).toEqual([]);
  });

  it('while another process fetches it, and when it is slow instead: the first one makes no feed', async () => {
    const other = await startService({ env: world.env });
    const { partner, reached } = await holdFetch(holdDownload);
    await reached;
    feeds.respond = (_request, response) => void response.end(csv);

    await expireLeases();

    expect(await expectOneOfEach(partner)).toBe(2);
    finishDownload();
    await eventually('the slow process has noticed', () =>
      `${world.service.stdout}${other.stdout}`.includes('fetch given to another worker'),
    );
    expect(await expectOneOfEach(partner)).toBe(2);
    expect(feeds.requests).toHaveLength(2);
    const { db, objectStore, service } = world;
    expect(await findBroken({ db, objectStore, apis: [service.api, other.api] }, { orphans: true })).toEqual(
      [],
    );
    await other.stop();
  });
});
