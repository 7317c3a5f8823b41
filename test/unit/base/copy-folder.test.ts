import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { copyFolder, countFiles } from '../../../src/base/embedded-postgres/copy-folder';
import { createTestFolder } from '../../support/harness';

/** Writes a folder with a secret, an empty folder, a link, and a file below it. */
function makeFolder(): string {
  const folder = createTestFolder();
  writeFileSync(join(folder, 'key'), 'secret');
  chmodSync(join(folder, 'key'), 0o600);
  mkdirSync(join(folder, 'below'));
  mkdirSync(join(folder, 'empty'));
  writeFileSync(join(folder, 'below', 'table'), Buffer.alloc(3 * 1024 * 1024, 7));
  symlinkSync('key', join(folder, 'link'));
  return folder;
}

describe('copyFolder', () => {
  it('copies files with their modes, and empty folders, but no links', async () => {
    const folder = makeFolder();
    const to = join(createTestFolder(), 'new', 'copy');

    await copyFolder(folder, to);

    expect(readdirSync(to).sort()).toEqual(['below', 'empty', 'key']);
    expect(statSync(join(to, 'key')).mode & 0o777).toBe(0o600);
    expect(statSync(to).mode & 0o777).toBe(0o700);
    const table = readFileSync(join(to, 'below', 'table'));
    expect(table.equals(readFileSync(join(folder, 'below', 'table')))).toBe(true);
    expect(await countFiles(to)).toEqual({ files: 2, bytes: 6 + 3 * 1024 * 1024 });
  });

  it('omits excluded files, and files that are removed meanwhile', async () => {
    const folder = makeFolder();
    const to = join(createTestFolder(), 'copy');
    const isCopied = (path: string) => {
      if (path === 'key') rmSync(join(folder, 'key'));
      return path !== join('below', 'table');
    };

    await copyFolder(folder, to, isCopied);

    expect(await countFiles(to)).toEqual({ files: 0, bytes: 0 });
    expect(readdirSync(to).sort()).toEqual(['below', 'empty']);
  });
});
