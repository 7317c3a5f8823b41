import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { runAdmin } from '../../support/commands';
import { createTestFolder, project } from '../../support/harness';

describe('npm run admin', () => {
  it.concurrent('lists its groups of commands with --help, with exit code 0', async () => {
    const { code, stdout, stderr } = await runAdmin({}, '--help');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: npm run --silent admin -- \[options\] \[command\]\n/);
    for (const group of ['keys', 'webhooks', 'objects', 'orders', 'partners', 'prune', 'sales'])
      expect(stdout).toContain(`\n  ${group} `);
  });

  it.concurrent.each([[[]], [['keys']]])(
    'prints its help to standard error without a command: %j',
    async (args) => {
      const { code, stdout, stderr } = await runAdmin({}, ...args);

      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^Usage: npm run --silent admin --/);
    },
  );

  it.concurrent.each([
    ['keys', ['list']],
    ['clean-objects', ['--dry-run']],
  ])('has the script %s as an alias: %j', async (script, args) => {
    const dataDir = createTestFolder();
    const env = { PATH: process.env.PATH, DATA_DIR: dataDir };
    const options = { cwd: project, env };

    await expect(
      promisify(execFile)('npm', ['run', '--silent', script, '--', ...args], options),
    ).rejects.toMatchObject({
      code: 1,
      stderr: `Wrong setting DATA_DIR: there is no database in ${dataDir}.\n`,
    });
  });
});
