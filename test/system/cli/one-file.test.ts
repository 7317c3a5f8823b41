import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import document from '../../../generated/openapi.json';
import { runFeedCommand } from '../../support/commands';
import { ServiceFront } from '../../support/faults';
import { createTestFolder, project } from '../../support/harness';
import { startUsedService, type ServiceProcess } from '../../support/process';

const run = promisify(execFile);
/** Without settings, and in a folder of its own. */
const alone = (cwd: string, env: Record<string, string> = {}) => ({
  cwd,
  env: { PATH: process.env.PATH, HOME: cwd, ...env },
});

const csv = 'sku,product_name\nTENT-2,Two-person tent\n';

let started: Promise<ServiceProcess> | undefined;
const sharedService = () => (started ??= startUsedService());

/** Downloads the command into an empty folder. */
async function download(): Promise<{ folder: string; content: Buffer }> {
  const { url } = await sharedService();
  const folder = createTestFolder();
  const content = Buffer.from(await (await fetch(`${url}/cli/partner-feed.cjs`)).arrayBuffer());
  writeFileSync(join(folder, 'partner-feed.cjs'), content);
  return { folder, content };
}

describe('the command as one file', () => {
  it('is offered by the service with its SHA-256 and version', async () => {
    const { url } = await sharedService();
    const { folder, content } = await download();

    const offered = (await (await fetch(`${url}/cli/partner-feed.json`)).json()) as object;

    const { stdout } = await run(process.execPath, ['partner-feed.cjs', '--version'], alone(folder));
    expect(offered).toMatchObject({
      version: stdout.trim(),
      sha256: createHash('sha256').update(content).digest('hex'),
      size_bytes: content.length,
    });
  });

  it('uploads and loads a feed from a folder without packages, and names itself in its messages', async () => {
    const { url, key } = await sharedService();
    const { folder } = await download();
    writeFileSync(join(folder, 'spring.csv'), csv);
    const env = { CATALOG_URL: url!, CATALOG_API_KEY: key! };
    const feed = (...args: string[]) =>
      run(process.execPath, ['partner-feed.cjs', ...args], alone(folder, env));

    const loaded = await feed('upload', 'spring.csv', '--partner', 'Alone');
    const mended = await feed('mend', 'spring.csv', '--set', 'currency=EUR', '--output', 'mended.csv');
    const help = await feed('upload', '--help');

    expect(loaded.stdout).toMatch(/inserted +1\n/);
    expect(loaded.stderr).not.toContain('newer');
    expect(mended.stdout).toContain('Written to ');
    expect(help.stdout).toMatch(/^Usage: node partner-feed\.cjs upload /);
    expect(readdirSync(folder).sort()).toEqual(['mended.csv', 'partner-feed.cjs', 'spring.csv']);
  });
});

describe('a command that is older than the service', () => {
  async function openNewer() {
    const { url, key } = await sharedService();
    let checks = 0;
    const front = await ServiceFront.open(url!, (request) => {
      if (!request.includes('/cli/')) return 'pass';
      checks++;
      return { status: 200, body: { version: '99.0.0' } };
    });
    return { front, env: { CATALOG_URL: front.url, CATALOG_API_KEY: key! }, checks: () => checks };
  }

  it('says so once, after its result, with the way to the newer one', async () => {
    const { front, env, checks } = await openNewer();
    const file = join(createTestFolder(), 'spring.csv');
    writeFileSync(file, csv);

    const { code, stderr } = await runFeedCommand(['upload', file, '--partner', 'Older'], env);

    expect({ code, checks: checks() }).toEqual({ code: 0, checks: 1 });
    expect(stderr).toContain(
      `This command has version ${document.info.version}, the service 99.0.0.` +
        ` Get the newer one: curl -O ${front.url}/cli/partner-feed.cjs\n`,
    );
    expect(stderr.match(/newer/g)).toHaveLength(1);
  });

  it('neither asks nor says so with --json', async () => {
    const { env, checks } = await openNewer();

    const { code, stderr } = await runFeedCommand(['partners', '--json'], env);

    expect({ code, stderr, checks: checks() }).toEqual({ code: 0, stderr: '', checks: 0 });
  });
});

describe('the npm package of the command', () => {
  it('installs without a registry, runs, and has the types of its results', async () => {
    const folder = createTestFolder();
    const tsx = join(project, 'node_modules/.bin/tsx');
    const { stdout } = await run(tsx, [join(project, 'scripts/command-package.ts'), folder], {
      cwd: project,
    });
    writeFileSync(join(folder, 'package.json'), '{}');
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', stdout.trim()], alone(folder));

    const { stdout: version } = await run('npx', ['--offline', 'partner-feed', '--version'], alone(folder));
    const help = await run('npx', ['--offline', 'partner-feed', 'follow', '--help'], alone(folder));

    expect(version).toBe(`${document.info.version}\n`);
    expect(help.stdout).toMatch(/^Usage: npx partner-feed follow /);
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'partner-feed',
    ]);
    writeFileSync(
      join(folder, 'use.ts'),
      `import type { CommandFailure, FeedInspection, Job, Schemas } from 'partner-feed';
export const skipped = ({ summary }: Job): number => summary?.skipped ?? 0;
export const code = ({ error }: CommandFailure): string | undefined => error.error_code;
export const isOpen = ({ doubts }: FeedInspection): boolean => doubts.length > 0;
// @ts-expect-error -- there is no such schema
export type Unknown = Schemas['Unknown'];
`,
    );
    const tsc = join(project, 'node_modules/.bin/tsc');
    await run(tsc, ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2022,dom', 'use.ts'], {
      cwd: folder,
    });
  });
});
