import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTestFolder, project } from '../../support/harness';
import { startService, usedDataDir } from '../../support/process';

const pages = ['README.md', 'docs/tutorials/first-feed.md'];
const defaultUrl = 'URL=http://127.0.0.1:8080\n';

/** The shell commands with documented output of a page, in order. */
function examplesOf(page: string): string {
  const blocks = readFileSync(join(project, page), 'utf8').matchAll(/^```sh\n(.*?)^```$/gms);
  const texts = Array.from(blocks, ([, text]) => text!);
  const first = texts.findIndex((text) => text.includes('#> ') || text.includes(defaultUrl));
  return texts.slice(first).join('');
}

/** The documented lines of output, as patterns: `…` matches any text. */
function outputOf(example: string): RegExp[] {
  const lines = example.split('\n').filter((line) => line.startsWith('#> '));
  return lines.map((line) => {
    const texts = line.slice(3).split('…');
    return new RegExp(`^${texts.map((text) => text.replaceAll(/[^\w\s]/g, '\\$&')).join('.*')}$`);
  });
}

/** A folder whose `.data` has a key and an empty database. */
async function folderWithoutFeeds(): Promise<string> {
  const folder = createTestFolder();
  await usedDataDir(join(folder, '.data'));
  return folder;
}

describe('the commands of the documentation', () => {
  it.each(pages)('print the output that %s shows, on a service without feeds', async (page) => {
    const example = examplesOf(page);
    expect(example).toContain(defaultUrl);
    const folder = await folderWithoutFeeds();
    const service = await startService({ cwd: folder });
    const script = example.replace(defaultUrl, `URL=${service.url}\n`);

    const { stdout } = await promisify(execFile)('sh', ['-ec', script], { cwd: folder });

    const printed = stdout.split('\n').filter(Boolean);
    expect(printed).toEqual(outputOf(example).map((line) => expect.stringMatching(line) as unknown));
  });

  describe('the script that sends a daily feed', () => {
    const page = readFileSync(join(project, 'docs/how-to/integrate-as-a-partner.md'), 'utf8');
    const [, script] = /^```sh\n(set -e\n.*?)^```$/ms.exec(page)!;
    let service: { url: string; key: string };
    beforeAll(async () => {
      const folder = await folderWithoutFeeds();
      const { url } = await startService({ cwd: folder });
      service = { url: url!, key: readFileSync(join(folder, '.data/api-key'), 'utf8').trim() };
    });
    /** Runs the script in a folder with the feed, after `before`. */
    const send = async (csv: string, before = '') => {
      const cwd = createTestFolder();
      writeFileSync(join(cwd, 'feed.csv'), csv);
      const env = { ...process.env, URL: service.url, KEY: service.key };
      const run = promisify(execFile)('sh', ['-c', before + script!], { cwd, env, timeout: 60_000 });
      return run.then(
        ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
        (error: unknown) => error as { code: number; stdout: string; stderr: string },
      );
    };

    it('exits with 0 when the run has completed', async () => {
      const { code, stdout } = await send('sku,product_name\nTENT-2,Tent\n');
      expect(stdout).toContain('Inserted: 1.');
      expect(code).toBe(0);
    });

    it('exits with 1 and the reason when the run has failed', async () => {
      const { code, stderr } = await send('sku,product_name\nTENT-2,"Tent\n');
      expect(stderr).toContain('is never closed');
      expect(code).toBe(1);
    });

    it.each([
      ['first', 'TENT-4', ''],
      ['repeated', 'TENT-2', `*/runs*) echo '{"items":[{"run":2,"status":"cancelled"}]}' ;; `],
    ])('exits with 1 when the %s run was cancelled before its start', async (_which, sku, others) => {
      const atOnce = 'command curl -sS -H "x-api-key: $KEY" "$URL$route"';
      const cases = `*/run) ;; *wait=30*) ${atOnce} ;; ${others}*) command curl "$@" ;;`;
      const stub = `curl() { case "$*" in ${cases} esac; }\n`;
      const { code, stdout } = await send(`sku,product_name\n${sku},Tent\n`, stub);
      expect([code, stdout]).toEqual([1, '']);
    });

    it('exits when a request is rejected while it follows the job, for example with a revoked key', async () => {
      const csv = 'sku,product_name\nTENT-3,Tent\n';
      const refused = 'command curl -sS --fail-with-body "$URL/feeds"';
      const stub = `curl() { case "$*" in *wait=30*) ${refused} ;; *) command curl "$@" ;; esac; }\n`;
      const { code, stdout } = await send(csv, stub);
      expect(code).toBe(22);
      expect(stdout).not.toContain('"status":"completed"');
    });
  });

  it('of the first upload find a product, on a service without feeds', async () => {
    const page = readFileSync(join(project, 'docs/how-to/try-the-contract.md'), 'utf8');
    const [, script] = /^```sh\n(api\(\) .*?)^```$/ms.exec(page)!;
    const folder = await folderWithoutFeeds();
    const { url } = await startService({ cwd: folder });
    const setUp = `URL=${url}; KEY=$(cat .data/api-key)\n`;

    const { stdout } = await promisify(execFile)('sh', ['-ec', setUp + script!], { cwd: folder });

    expect(stdout).toMatch(/"accepted":true.*"feed_id":"FD00001".*"validation_job_id":"JV00001"/);
    expect(stdout).toMatch(/Inserted: 1\..*"product_id":"PR00001".*"sku":"TENT-2"/);
  });
});
