import { runAdmin } from '../../support/commands';
import { createTestDatabase, databaseUrl } from '../../support/databases';

describe('the command that records changes of products', () => {
  it('records a change of one partner, or of all, and refuses an unknown one', async () => {
    const { db, address } = await createTestDatabase();
    const rows = await db('partners')
      .insert([{ partner_name: 'Acme' }, { partner_name: 'Zebra' }])
      .returning<{ partner_id: number }[]>('partner_id');
    const [acme, zebra] = rows.map(({ partner_id }) => partner_id);
    const changed = (...args: string[]) =>
      runAdmin({ DATABASE_URL: databaseUrl(address) }, 'products', 'changed', ...args);
    const logged = () => db('manual_changes').orderBy('partner_id').pluck<number[]>('partner_id');

    expect(await changed('--partner', 'Acme')).toEqual({
      code: 0,
      stdout: 'Partners whose products are compared, indexed and counted again: 1.\n',
      stderr: '',
    });
    expect(await logged()).toEqual([acme]);
    expect(await db('search_backlog').pluck<number[]>('partner_id')).toEqual([acme]);

    expect(await changed()).toMatchObject({ code: 0, stdout: expect.stringContaining(': 2.') as unknown });
    expect(new Set(await logged())).toEqual(new Set([acme, zebra]));

    expect(await changed('--partner', 'Unknown')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Unknown partner: Unknown.\n',
    });
  });
});
