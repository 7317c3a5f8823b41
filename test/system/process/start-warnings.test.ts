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
