import { createTestDatabase, databaseUrl } from '../../support/databases';
import { startService } from '../../support/process';
import { testKey } from '../../support/service';

it('a start logs the partner names that are not in NFC, once: their number, and some of them', async () => {
  const { db, address } = await createTestDatabase();
  const names = Array.from({ length: 12 }, (_, n) => `A\u0301cme ${String(n).padStart(2, '0')}`);
  await db('partners').insert([...names, 'Acme', '\u00c1cme'].map((partner_name) => ({ partner_name })));
  await db('orders').insert({ partner_name: 'Z\u0301', currency: 'EUR', total_amount: '0' });

  const service = await startService({
    env: { DATABASE_URL: databaseUrl(address), API_KEYS: testKey },
  });
  const { stdout } = await service.stop();

  const lines = stdout.split('\n').filter((line) => line.includes('NFC'));
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ level: 40, count: 13, names: names.slice(0, 10) }),
  ]);
});
