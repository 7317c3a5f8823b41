import { createTestDatabase, createEmptyDatabase, databaseUrl } from '../../support/databases';
import { eventually, inChunks } from '../../support/harness';
import { goodCsv } from '../../support/requests';
import { S3Front, type S3Fate } from '../../support/s3';
import { findBucketProblem } from '../../../src/operation/retention/bucket-owner';
import { ownerKey } from '../../../src/base/storage/object-key';
import { spawnService, startService } from '../../support/process';
import { testKey } from '../../support/service';

const [tooShort, justLongEnough] = ['fifteen-charact', 'sixteen-characte'];

describe('API_KEYS with a key of fewer than 16 characters', () => {
  it('prevents a start on a new database with a line that identifies the key without showing it', async () => {
    const API_KEYS = [testKey, tooShort, justLongEnough, 'short'].join(',');

    const exit = await spawnService({
      env: { DATABASE_URL: databaseUrl(await createEmptyDatabase()), API_KEYS },
    }).exit;

    expect(exit).toMatchObject({
      code: 1,
      stderr:
        'Wrong setting API_KEYS: a key must have at least 16 characters, and number 2, 4 has fewer. ' +
        'Make one with: openssl rand -hex 24.\n',
    });
    expect(exit.stdout).not.toContain(tooShort);
  });
});

const decomposed = Array.from({ length: 12 }, (_, n) => `A\u0301cme ${String(n).padStart(2, '0')}`);

describe('a start on a database that has been used', () => {
  const order = { currency: 'EUR', total_amount: '0' };
  it.each([
    ['partners', [...decomposed, 'Acme', '\u00c1cme'].map((name) => ({ partner_name: name })), 12],
    [
      'orders',
      [
        { partner_name: 'Z\u0301', ...order },
        { partner_name: 'Acme', ...order },
      ],
      1,
    ],
  ])(
    'warns about short keys, and about the names in %s that are not in NFC: their number, and some of them',
    async (table, rows, count) => {
      const { db, address } = await createTestDatabase();
      await db(table).insert(rows);

      const service = await startService({
        env: { DATABASE_URL: databaseUrl(address), API_KEYS: tooShort },
      });

      expect((await service.api.get('/products')).status).toBe(200);
      const { stdout } = await service.stop();
      const lines = (text: string) =>
        stdout
          .split('\n')
          .filter((line) => line.includes(text))
          .map((line) => JSON.parse(line) as object);
      expect(lines('"API_KEYS has')).toEqual([
        expect.objectContaining({ level: 40, short_keys: [1], characters_min: 16 }),
      ]);
      expect(stdout).not.toContain(tooShort);
      const names = rows.slice(0, Math.min(count, 10)).map(({ partner_name }) => partner_name);
      expect(lines('NFC')).toEqual([expect.objectContaining({ level: 40, count, names })]);
    },
  );
});

describe('a start on a bucket', () => {
  const filesOf = (front: S3Front) =>
    front.store().put('raw/partners/a/feeds/FD00001/a.csv', inChunks(Buffer.from('sku')), '');
  const reasons = (stdout: string) =>
    [...stdout.matchAll(/^\{.*"bucket not known to belong to this database".*$/gm)].map(
      ([line]) => (JSON.parse(line) as { reason: string }).reason,
    );
  const startOn = async (front: S3Front) => {
    const { db, address } = await createTestDatabase();
    const service = await startService({
      env: { DATABASE_URL: databaseUrl(address), API_KEYS: testKey, ...front.env },
    });
    return { db, service };
  };

  it('that is new makes it belong to the database, and warns another database that starts on it', async () => {
    const front = await S3Front.open();
    const first = await startOn(front);
    await eventually(
      'the bucket has an owner',
      async () => !(await findBucketProblem(first.db, front.store())),
    );
    const second = await startOn(front);
    await eventually('the other one is warned', () => reasons(second.service.stdout).length > 0);

    expect((await second.service.api.uploadFeed(goodCsv)).feedId).toBe('FD00001');
    expect(reasons((await second.service.stop()).stdout)).toEqual([
      expect.stringMatching(/^The bucket \S+ belongs to another database \(/),
    ]);
    expect(reasons((await first.service.stop()).stdout)).toEqual([]);
    expect(await findBucketProblem(first.db, front.store())).toBeUndefined();
  });

  it('with files and without an identity warns, and does not adopt it', async () => {
    const front = await S3Front.open();
    await filesOf(front);

    const { db, service } = await startOn(front);

    await eventually('it warns', () => reasons(service.stdout).length > 0);
    expect(reasons((await service.stop()).stdout)).toEqual([
      expect.stringMatching(
        /^The bucket \S+ does not say to which database it belongs\. .*objects clean --adopt\.$/,
      ),
    ]);
    expect(await findBucketProblem(db, front.store())).toMatchObject({ isForeign: false });
  });

  it.each<[string, S3Fate | Promise<never>]>([
    ['refuses to show its identity', { status: 403 }],
    ['never says to whom it belongs', new Promise<never>(() => undefined)],
  ])('that %s serves nevertheless, and stops in time', async (_what, fate) => {
    const front = await S3Front.open();
    front.onRequest = ({ url }) => (url.includes(ownerKey) ? fate : 'pass');

    const { service } = await startOn(front);

    expect((await service.api.uploadFeed(goodCsv)).feedId).toBe('FD00001');
    expect(await service.stop()).toMatchObject({ code: 0, stderr: '' });
  });
});
