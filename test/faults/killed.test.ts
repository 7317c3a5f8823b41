import { once } from 'node:events';
import { runAdmin, startAdmin } from '../support/commands';
import { FileStore } from '../../src/base/storage/file-store';
import { eventually, createTestFolder } from '../support/harness';
import { ofMatrix } from '../support/matrix';
import { findBroken } from '../support/service-invariants';
import { filePart, formBody, partnerPart, OpenUpload } from '../support/requests';
import { commits, killAndRestart, newPartner, says, startWorld, type World } from '../support/killed-world';
import { S3Front, type S3Request } from '../support/s3';

const csv = 'sku,product_name,price\nA,Tent,5\nB,Lamp,7.50\n,No sku,1\n';
/** More than one part of an upload to S3. */
const largeCsv = csv + `,${'x'.repeat(10_000)},1\n`.repeat(600);
/** Several chunks of a COPY. */
const manyRows = csv + Array.from({ length: 5_000 }, (_, at) => `S${at},Product ${at},1\n`).join('');

const feedsOf = async ({ db }: World, partnerName: string): Promise<number[]> =>
  db('feeds')
    .join('partners', 'partners.partner_id', 'feeds.partner_id')
    .where('partner_name', partnerName)
    .pluck('feed_id');

/** The phase in which the process is killed during an upload, how to reach it, and whether the feed exists then. */
type UploadPhase = [string, { hold?: (world: World) => Promise<void>; isThere?: boolean; content?: string }];

const holdStatement =
  (text: string) =>
  ({ proxy }: World) =>
    proxy.hold(says(text)).reached;

let local: World;
let s3: World;
let front: S3Front;
beforeAll(async () => {
  const folder = createTestFolder();
  local = await startWorld({ DATA_DIR: folder }, new FileStore(folder));
  front = await S3Front.open();
  s3 = await startWorld(front.env, front.store());
});

/** Holds the first such request to S3. @returns when it is held */
async function holdRequest(isHeld: (request: S3Request) => boolean): Promise<void> {
  await new Promise<void>((resolve) => {
    front.onRequest = (request) => {
      if (!isHeld(request)) return 'pass';
      resolve();
      return 'hold midway';
    };
  });
  front.onRequest = () => 'pass';
}

describe('the process is killed during an upload', () => {
  const holdCommit = (what: 'call' | 'answer') => (world: World) =>
    world.proxy.hold(commits('insert into "feeds"'), what).reached;
  const phases: UploadPhase[] = [
    ['before its first byte is stored', { hold: holdStatement('nextval') }],
    ['when its object is stored, before the transaction', { hold: holdStatement('begin;') }],
    ['when its rows are written, before the commit', { hold: holdCommit('call') }],
    ['after the commit, before the answer', { hold: holdCommit('answer'), isThere: true }],
  ];

  /** Uploads until the phase is reached, kills, and checks. Then the client uploads again. */
  async function expectSafe(
    world: World,
    { hold, isThere = false, content = csv }: UploadPhase[1],
  ): Promise<void> {
    const partner = newPartner();
    const held = hold!(world);
    const form = formBody([partnerPart(partner), filePart(content)]);
    const upload = new OpenUpload(world.service);
    const written = upload.write(form).catch(() => undefined);
    upload.end();
    await held;

    await killAndRestart(world);

    await written;
    await expect(upload.response).rejects.toThrow();
    expect(await feedsOf(world, partner)).toHaveLength(isThere ? 1 : 0);
    const { job } = await world.service.api.loadFeed(csv, partner);
    expect(job.summary).toMatchObject({ processed: 3, inserted: 2, skipped: 1 });
    expect(await feedsOf(world, partner)).toHaveLength(isThere ? 2 : 1);
  }

  describe('to the local store', () => {
    it.each(ofMatrix(phases, 'after the commit, before the answer'))('%s', async (_what, phase) => {
      await expectSafe(local, phase);
    });

    it('during its body', async () => {
      const { objectStore, service } = local;
      const partner = newPartner();
      const form = formBody([partnerPart(partner), filePart(largeCsv)]);
      const upload = new OpenUpload(service);
      await upload.write(form.subarray(0, form.length / 2));
      await eventually('it is being stored', async () => {
        for await (const _ of objectStore.listUnfinished()) return true;
        return false;
      });

      await killAndRestart(local);

      expect(await feedsOf(local, partner)).toEqual([]);
    });
  });

  describe('to S3', () => {
    it.each(
      ofMatrix<[string, (request: S3Request) => boolean]>(
        [
          ['during its body, in one piece', ({ method }) => method === 'PUT'],
          ['during its parts', ({ url }) => url.includes('partNumber=2')],
          [
            'before its parts are completed',
            ({ url, method }) => method === 'POST' && url.includes('uploadId'),
          ],
          ['before its size is verified', ({ method }) => method === 'HEAD'],
        ],
        'before its parts are completed',
      ),
    )('%s', async (what, isHeld) => {
      const content = what.includes('parts') ? largeCsv : csv;
      await expectSafe(s3, { hold: () => holdRequest(isHeld), content });
    });
  });
});

describe('the process is killed during a run', () => {
  const holdEtl =
    (text: string, what: 'call' | 'answer' = 'call') =>
    () =>
      local.proxy.hold(says(text, 'etl'), what).reached;
  const holdCommit = (what: 'call' | 'answer') => () =>
    local.proxy.hold(commits('insert into products', 'etl'), what).reached;

  it.each(
    ofMatrix<[string, () => Promise<void>, 'failed' | 'completed']>(
      [
        ['after its claim', holdEtl('pg_try_advisory_xact_lock', 'answer'), 'completed'],
        ['after it is shown as running', holdEtl("update runs set status = 'running'", 'answer'), 'failed'],
        ['while it copies', () => local.proxy.hold(({ kind }) => kind === 'copy data').reached, 'failed'],
        ['after it has written the products', holdEtl('insert into products', 'answer'), 'failed'],
        ['before its commit', holdCommit('call'), 'failed'],
        ['after its commit, before the answer', holdCommit('answer'), 'completed'],
      ],
      'while it copies',
      'after its commit, before the answer',
    ),
  )('%s', (_what, hold, status) => expectSafe(local, hold, status));

  it('while it reads', () => expectSafe(s3, () => holdRequest(({ method }) => method === 'GET'), 'failed'));

  it('keeps the confirmed number of withdrawals for the retry, which withdraws once', async () => {
    const partner = newPartner();
    const replace = { mode: 'replace' };
    const empty = await local.service.api.uploadFeed('sku,product_name\n', partner, replace);
    await local.service.api.loadFeed(csv, partner, replace);
    const held = local.proxy.hold(commits('update products set withdrawn_at', 'etl')).reached;
    const path = `/jobs/${empty.jobId}/run?max_withdrawn=2&allow_older=true`;
    await local.service.api.post(path, undefined, { prefer: 'respond-async' });
    await held;

    await killAndRestart(local);

    const { api } = local.service;
    const job = await eventually('the run has been retried', async () => {
      const { body } = await api.get(`/jobs/${empty.jobId}`);
      return body.finished_at !== null && body;
    });
    expect(job).toMatchObject({ status: 'completed', summary: { processed: 0, withdrawn: 2 } });
    expect((await api.get(`/partners/${encodeURIComponent(partner)}`)).body.products).toBe(0);
  });

  /** Runs a job until `hold` is reached, kills, and checks. Then the client runs it again. */
  async function expectSafe(
    world: World,
    hold: () => Promise<void>,
    status: 'failed' | 'completed',
  ): Promise<void> {
    const feed = await world.service.api.uploadFeed(manyRows, newPartner());
    const held = hold();
    const answer = world.service.api.post(`/jobs/${feed.jobId}/run`).then(
      () => 'an answer',
      () => 'none',
    );
    await held;

    await killAndRestart(world);

    expect(await answer).toBe('none');
    const { api } = world.service;
    // The next process starts a queued run seconds after its request.
    await eventually('the run has ended', async () =>
      expect((await api.get(`/jobs/${feed.jobId}`)).body.status).toBe(status),
    );
    const feedStatus = { failed: 'failed', completed: 'processed' }[status];
    expect((await api.get(`/feeds/${feed.feedId}`)).body.status).toBe(feedStatus);
    const isLoaded = status === 'completed';
    const again = await api.post(`/jobs/${feed.jobId}/run`);
    expect(again.body).toMatchObject({
      status: 'completed',
      summary: {
        processed: 5_003,
        skipped: 1,
        withdrawn: 0,
        restored: 0,
        updated: 0,
        inserted: isLoaded ? 0 : 5_002,
        unchanged: isLoaded ? 5_002 : 0,
      },
    });
  }
});

describe('the process is killed while it prunes', () => {
  it.each(
    ofMatrix<[string, () => Promise<void>]>(
      [
        [
          'before raw files are marked as removed',
          () => local.proxy.hold(commits('insert into removed_objects', 'admin'), 'call').reached,
        ],
        [
          'after they are marked, before their objects are deleted',
          () => local.proxy.hold(commits('insert into removed_objects', 'admin'), 'answer').reached,
        ],
        [
          'after their objects are deleted, before that is recorded',
          () => local.proxy.hold(says('delete from "removed_objects"', 'admin')).reached,
        ],
      ],
      'after they are marked, before their objects are deleted',
    ),
  )('%s', async (_what, hold) => {
    const { db, objectStore, env, service } = local;
    const partner = newPartner();
    const first = await service.api.loadFeed(csv, partner);
    await service.api.loadFeed(`${csv}C,Stove,1\n`, partner);
    const long = new Date('2026-01-01T00:00:00Z');
    await db('feeds')
      .update({ uploaded_at: long })
      .where('feed_id', Number(first.feedId.slice(2)));
    await db('validation_jobs')
      .update({ finished_at: long })
      .where('feed_id', Number(first.feedId.slice(2)));
    const settings = { ...env, RAW_FILE_RETENTION_DAYS: '30' };
    const held = hold();
    const admin = startAdmin(settings, 'prune');
    await held;

    admin.kill('SIGKILL');
    await once(admin, 'exit');

    // The lease of the killed process has expired.
    await db('retention').update({ leased_until: new Date(0) });
    expect(await runAdmin(settings, 'prune')).toMatchObject({ code: 0, stderr: '' });
    expect((await service.api.get(`/feeds/${first.feedId}/raw`)).status).toBe(410);
    expect(await findBroken({ db, objectStore, apis: [service.api] })).toEqual([]);
  });
});
