import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../../src/config';
import { ConfigError } from '../../../../src/base/settings';
import { ensureDataDir } from '../../../../src/operation/process/data-dir';
import { createTestFolder } from '../../../support/harness';

describe('ensureDataDir', () => {
  const at = (dataDir: string) => loadConfig({ DATA_DIR: dataDir });

  it('creates the folder and its parents', () => {
    const dataDir = join(createTestFolder(), 'a', 'b');

    ensureDataDir(at(dataDir));

    expect(statSync(dataDir).isDirectory()).toBe(true);
  });

  it('does not change an existing folder', () => {
    const dataDir = createTestFolder();
    mkdirSync(join(dataDir, 'kept'));

    ensureDataDir(at(dataDir));

    expect(statSync(join(dataDir, 'kept')).isDirectory()).toBe(true);
  });

  it.each(['/proc/data', '/proc/a/b', '/proc'])(
    'rejects %s, where nothing can be created, instead of retrying forever',
    (dataDir) => {
      expect(() => ensureDataDir(at(dataDir))).toThrow(/^Wrong setting DATA_DIR: .*cannot be used/);
    },
  );

  it.each(['file', 'file/data'])('rejects %s below a file, with a line that names DATA_DIR', (path) => {
    const folder = createTestFolder();
    writeFileSync(join(folder, 'file'), '');

    let thrown: unknown;
    try {
      ensureDataDir(at(join(folder, path)));
    } catch (error) {
      thrown = error;
    }

    expect(thrown).toBeInstanceOf(ConfigError);
    expect((thrown as Error).message).toMatch(/^Wrong setting DATA_DIR: .*\.$/);
  });
});
