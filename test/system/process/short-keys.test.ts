import { createTestDatabase, createEmptyDatabase, databaseUrl } from '../../support/databases';
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

  it.each([
    ['partners', { partner_name: 'Acme' }],
    ['orders', { partner_name: 'Acme', currency: 'EUR', total_amount: '0' }],
  ])('is a warning where the database has %s', async (table, row) => {
    const { db, address } = await createTestDatabase();
    await db(table).insert(row);

    const service = await startService({
      env: { DATABASE_URL: databaseUrl(address), API_KEYS: tooShort },
    });

    expect((await service.api.get('/products')).status).toBe(200);
    const { stdout } = await service.stop();
    const lines = stdout.split('\n').filter((line) => line.includes('"API_KEYS has'));
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ level: 40, short_keys: [1], characters_min: 16 }),
    ]);
    expect(stdout).not.toContain(tooShort);
  });
});

it('API_KEYS with a key of 16 characters starts on a new database', async () => {
  const env = { DATABASE_URL: databaseUrl(await createEmptyDatabase()), API_KEYS: justLongEnough };

  const service = await startService({ env });

  expect((await service.api.get('/products')).status).toBe(200);
});
