import { createTestDatabase, databaseUrl } from '../../support/databases';
import { spawnService, type Exit } from '../../support/process';

const migrate = (url: string, ...args: string[]): Promise<Exit> =>
  spawnService({ role: 'migrate', args, env: { DATABASE_URL: url } }).exit;

const partitionRemoved =
  'The option --partition has been removed: products that have partitions keep them, `npm run admin -- database copy` into a new ' +
  'database makes one table of them (docs/how-to/upgrade.md), and --distribute divides products over several machines.\n';

describe('the option --distribute of migrate', () => {
  it('rejects a database without Citus, and changes nothing', async () => {
    const { address, db } = await createTestDatabase();

    const { code, stderr } = await migrate(databaseUrl(address), '--distribute');

    expect(code).toBe(1);
    expect(stderr).toBe(
      'The database has no extension citus: DATABASE_URL must name a database on a coordinator of Citus (create extension citus).\n',
    );
    const { rows } = await db.raw<{ rows: unknown[] }>(
      "select to_regclass('products_local') as copy, to_regclass('product_blocks') as blocks, relkind from pg_class where oid = 'products'::regclass",
    );
    expect(rows).toEqual([{ copy: null, blocks: null, relkind: 'r' }]);
  });

  it('refuses while sessions use the database, and names them', async () => {
    const { address, db } = await createTestDatabase();
    const session = await db.transaction();
    try {
      await session.raw('select');

      const { code, stderr } = await migrate(databaseUrl(address), '--distribute', '4');

      expect(code).toBe(1);
      expect(stderr).toMatch(/^Sessions still use the database: test \(.+\)\. Stop the service first\.\n$/);
    } finally {
      await session.rollback();
    }
  });

  it('accepts 0 if the products are local', async () => {
    const { address } = await createTestDatabase();

    expect(await migrate(databaseUrl(address), '--distribute', '0')).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    [
      ['--distribute', '65'],
      'Wrong option --distribute 65: it must be a number of shards from 1 to 64, or 0 for a local table.\n',
    ],
    [['--distribute', 'four'], 'Wrong option --distribute four: it must be'],
    [['--distributed', '4'], "Wrong arguments: Unknown option '--distributed'.\n"],
    [['--partition', '4'], partitionRemoved],
    [['--partition', '0'], partitionRemoved],
    [['--partition=4', '--distribute', '4'], partitionRemoved],
    [['--partition'], partitionRemoved],
  ])('exits with 1 and the reason for %j', async (args, reason) => {
    const { address } = await createTestDatabase();

    const { code, stderr } = await migrate(databaseUrl(address), ...args);

    expect(code).toBe(1);
    expect(stderr.slice(0, reason.length)).toBe(reason);
  });
});
