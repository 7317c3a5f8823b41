import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPidFile } from '../../../../src/base/embedded-postgres/postmaster';

describe('readPidFile', () => {
  const whole = '4711\n/data/postgres\n1795000000\n5432\n/run/sockets\n\n';

  it.each([
    ['the whole file', whole, { pid: 4711, port: 5432, socketFolder: '/run/sockets' }],
    ['a file without the socket yet', '4711\n/data/postgres\n1795000000\n5432\n\n', { socketFolder: '' }],
    ['a file that is just being written', whole.slice(0, whole.indexOf('/sockets')), { socketFolder: '' }],
    ['a file without a whole line', '47', undefined],
  ])('reads the whole lines of %s', async (_what, text, expected) => {
    const cluster = mkdtempSync(join(tmpdir(), 'cluster-'));
    writeFileSync(join(cluster, 'postmaster.pid'), text);

    const found = await readPidFile(cluster);

    if (expected) expect(found).toMatchObject(expected);
    else expect(found).toBeUndefined();
  });

  it('returns none if no server has run', async () => {
    expect(await readPidFile(mkdtempSync(join(tmpdir(), 'cluster-')))).toBeUndefined();
  });
});
