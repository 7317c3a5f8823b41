import { runAdmin } from '../../support/commands';
import { createTestDatabase, databaseUrl } from '../../support/databases';

const [composed, decomposed] = ['\u00c1cme', 'A\u0301cme'];
const figures =
  "0 feeds, 0 products, 0 products that both have (0 of them get the values of the merged partner's later feed), " +
  '1 orders, 0 keys, 0 webhooks\n';

describe('the command that merges partners', () => {
  it('previews merges, merges with --apply, and then finds no more names to merge', async () => {
    const { db, address } = await createTestDatabase();
    await db('partners').insert([{ partner_name: composed }, { partner_name: decomposed }]);
    await db('orders').insert({ partner_name: decomposed, currency: 'EUR', total_amount: '0' });
    const merge = (...args: string[]) =>
      runAdmin({ DATABASE_URL: databaseUrl(address) }, 'partners', 'merge', ...args);
    const line = `"A\\u{301}cme" into "\\u{c1}cme": ${figures}`;

    expect(await merge()).toEqual({
      code: 0,
      stdout: `${line}Nothing was changed: this was a preview. --apply merges.\n`,
      stderr: '',
    });
    expect(await db('partners').pluck('partner_name')).toHaveLength(2);
    expect(await merge('--apply')).toEqual({ code: 0, stdout: line, stderr: '' });
    expect(await db('partners').pluck('partner_name')).toEqual([composed]);
    expect(await merge('--apply')).toMatchObject({ stdout: 'All partner names are in NFC.\n' });
    expect(await merge(composed, 'Acme', '--apply')).toMatchObject({ code: 0 });
    expect(await db('orders').pluck('partner_name')).toEqual(['Acme']);
    expect(await merge('Acme')).toMatchObject({ code: 2 });
  });
});
