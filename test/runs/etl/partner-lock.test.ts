import { lockSql } from '../../../src/base/db/locks';
import { raw } from '../../../src/base/db/sql';
import { eventually } from '../../support/harness';
import { startTestService, type TestService } from '../../support/service';
import { ManualSession, SteppedRun } from '../../support/stepped-run';

let service: TestService;
let session: ManualSession;
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(async () => {
  session = await ManualSession.open(service);
});
afterEach(() => session.close());

let partners = 0;

/** Loads one product of a new partner, and uploads another feed of it. */
async function uploadSecondFeed() {
  const partnerName = `Partner ${++partners}`;
  await service.api.loadFeed('sku,product_name,price\nA,Tent,1\n', partnerName);
  const feed = await service.api.uploadFeed('sku,product_name,price\nA,Tent,2\n', partnerName);
  const { partner_id: partnerId } = await service.db('partners').where({ partner_name: partnerName }).first();
  return { partnerName, partnerId: partnerId as number, feed };
}

const lockRow = (partnerId: number) =>
  `begin; select from partners where partner_id = ${partnerId} for no key update`;
const lockAdvisory = (partnerId: number) =>
  `begin; select ${lockSql('partner', raw(`cast(${partnerId} as bigint)`)).sql}`;

describe("the partner's lock", () => {
  it.each([
    ['a run of this version', lockAdvisory],
    ['a run of release 1.2.0, which locks the row of the partner', lockRow],
  ])('makes a run wait for %s', async (_what, lock) => {
    const { partnerId, feed } = await uploadSecondFeed();
    await session.execute(lock(partnerId));

    const run = await SteppedRun.start(service, feed);
    await run.stepTo(/^select pg_advisory_xact_lock/);
    let state = await run.step();
    if (state === 'stopped') state = await run.step();
    expect(state).toBe('blocked');

    await session.execute('commit');
    await eventually('the run proceeds', async () => (await run.look()) === 'stopped');
    expect(await run.finish()).toMatchObject({ outcome: 'completed', counters: { updated: 1 } });
  });

  it.each([
    ['a run of this version', lockAdvisory],
    ['a run of release 1.2.0, which locks the row of the partner', lockRow],
  ])('makes %s wait until the run ends', async (_what, lock) => {
    const { partnerId, feed } = await uploadSecondFeed();
    const run = await SteppedRun.start(service, feed);
    await run.stepTo(/create temporary table feed_changes/);

    await session.execute(lock(partnerId));
    expect(session.isBusy).toBe(true);

    expect(await run.finish()).toMatchObject({ outcome: 'completed' });
    await session.settled();
    expect(session).toMatchObject({ isBusy: false, errors: [] });
  });

  it.each([
    ['a run of this version', lockAdvisory],
    ['a run of release 1.2.0, which locks the row of the partner', lockRow],
  ])('makes a run stage a first load instead of copying it while %s holds it', async (_what, lock) => {
    const partnerName = `Partner ${++partners}`;
    const feed = await service.api.uploadFeed('sku,product_name\nA,Tent\n', partnerName);
    const { partner_id: partnerId } = await service
      .db('partners')
      .where({ partner_name: partnerName })
      .first();
    await session.execute(lock(partnerId as number));

    const run = await SteppedRun.start(service, feed, 0);
    await run.stepTo(/create temporary table feed_rows/);

    await session.execute('commit');
    expect(await run.finish()).toMatchObject({ outcome: 'completed', counters: { inserted: 1 } });
  });

  it('does not make an upload of the same partner wait', async () => {
    const { partnerName, partnerId } = await uploadSecondFeed();
    await session.execute(lockAdvisory(partnerId));

    const { status } = await service.api.upload({ csv: 'sku,product_name\nB,Lamp\n', partnerName });

    expect(status).toBe(201);
  });
});
