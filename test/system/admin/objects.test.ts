import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runAdmin } from '../../support/commands';
import { createTestFolder } from '../../support/harness';
import { databaseProcesses, startUsedService, type ServiceProcess } from '../../support/process';

const csv = 'sku,product_name\nTENT-2,Two-person tent\n';
const long = new Date('2026-01-01T00:00:00Z');

const cleanObjects = (env: Record<string, string>, ...args: string[]) =>
  runAdmin(env, 'objects', 'clean', ...args);

/** Leaves a staged file, as a killed process does. @returns its path */
function leaveBehind({ dataDir }: ServiceProcess): string {
  const file = join(dataDir, 'objects/local/staging/0f8fad5b-d9cb-469f-a165-70867728950e');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, csv);
  utimesSync(file, long, long);
  return file;
}

describe('the command that cleans the object store', () => {
  it.concurrent('removes orphaned files while the service runs, and while it is stopped', async () => {
    const service = await startUsedService();
    const { jobId } = await service.api.loadFeed(csv);
    const env = { DATA_DIR: service.dataDir };

    const file = leaveBehind(service);
    const dry = await cleanObjects(env, '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(dry.stdout).toMatch(/^would remove staging\/0f8f\S+ \(40 bytes, 2026-01-01T00:00:00.000Z\)\n/);
    expect(existsSync(file)).toBe(true);
    const real = await cleanObjects(env);
    expect(real).toMatchObject({ code: 0, stderr: '' });
    expect(real.stdout).toMatch(/^removing staging\/0f8f.*\nObjects: 2\. Orphaned: 1; removed: 1;.*\n$/);
    expect(existsSync(file)).toBe(false);
    expect((await service.api.post(`/jobs/${jobId}/run`)).body.summary).toMatchObject({ unchanged: 1 });

    await service.stop();
    leaveBehind(service);
    expect(await cleanObjects(env)).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(file)).toBe(false);
    expect(databaseProcesses(service.dataDir)).toEqual([]);
  });

  it.concurrent.each([
    ['a folder without data', () => ({ DATA_DIR: createTestFolder() }), 'Wrong setting DATA_DIR: '],
    ['a wrong setting', () => ({ PORT: 'x' }), 'Wrong setting PORT: '],
  ])('refuses %s with one line', async (_what, env, line) => {
    const { code, stdout, stderr } = await cleanObjects(env());

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^\S.*\n$/);
    expect(stderr).toContain(line);
  });

  it.concurrent('refuses an unknown option with two lines and exit code 2', async () => {
    expect(await cleanObjects({}, '--force')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'Unknown option: --force.\nHelp: npm run --silent admin -- objects clean --help\n',
    });
  });
});
