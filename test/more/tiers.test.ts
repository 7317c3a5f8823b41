import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { project } from '../support/harness';

const folder = join(project, 'test');
const testFiles = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .sort();

async function execute(program: string, args: string[]): Promise<string> {
  // With all optional tools, so that no test is skipped.
  const env = { ...process.env, LAST_RELEASE: '/', BROWSER_REQUIRED: '1', TEST_SHARDS: '4', MAKEFLAGS: '' };
  const { stdout } = await promisify(execFile)(program, args, { cwd: project, env });
  return stdout;
}

async function filesOfTier(tier: string): Promise<string[]> {
  const jest = join(project, 'node_modules/.bin/jest');
  const list = await execute(jest, ['--listTests', '--json', '--selectProjects', tier]);
  const [json] = /^\[.*\]$/m.exec(list)!;
  return (JSON.parse(json) as string[]).map((path) => relative(folder, path));
}

/** The commands that a target executes. */
const commandsOf = (target: string) => execute('make', ['--dry-run', '--always-make', target]);

describe('the tiers of the tests', () => {
  it('each test file is in exactly one of them', async () => {
    const files = await Promise.all(['unit', 'api', 'system', 'more'].map(filesOfTier));

    expect(files.flat().sort()).toEqual(testFiles);
  });

  it('`make test` runs all but the last, and `make test-more` runs the last', async () => {
    expect(await commandsOf('test')).toContain('jest --selectProjects unit api system\n');
    expect(await commandsOf('test-more')).toContain('jest --selectProjects more\n');
  });

  it('unit has no database, no store and no other process', () => {
    const users = testFiles
      .filter((name) => name.startsWith('unit/'))
      .filter((name) => {
        const imports = readFileSync(join(folder, name), 'utf8').matchAll(/ from '([^']+)'/g);
        return Array.from(imports, ([, from]) => from!).some(
          (from) =>
            from === 'node:child_process' ||
            /\/support\/(?!(?:harness|network|contract|read-by-format|reference-extractor|samples)$)/.test(
              from,
            ),
        );
      });

    expect(users).toEqual([]);
  });
});
