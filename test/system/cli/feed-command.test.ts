import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closedPort } from '../../support/network';
import { eventually, createTestFolder } from '../../support/harness';
import { FeedCommand, feedEntry, runFeedCommand } from '../../support/commands';
import { HeldProducts } from '../../support/runs-in-flight';
import { embeddedAddress, startUsedService, type ServiceProcess } from '../../support/process';

let started: Promise<ServiceProcess> | undefined;
/** The service of all tests that do not change shared state. */
const sharedService = () => (started ??= startUsedService());

/** Settings with which the command finds a service with a generated key. */
const settingsOf = ({ url, dataDir }: ServiceProcess) => ({ CATALOG_URL: url!, DATA_DIR: dataDir });

const csv = `sku,product_name,category,price,currency,availability
TENT-2,Two-person tent,Camping/Tents,189.90,EUR,in stock
LAMP-1,Head lamp,Camping/Lamps,"1.299,00",EUR,in stock
`;

const wrongUrl = 'Wrong URL of the service: it must be http://HOST or https://HOST, with a port or path.';

function writeFeed(content: string, name = 'spring.csv'): string {
  const path = join(createTestFolder(), name);
  writeFileSync(path, content);
  return path;
}

describe('npm run feed -- upload', () => {
  it.concurrent(
    'uploads a file, loads it, and prints the counters and the reasons of skipped rows',
    async () => {
      const service = await sharedService();
      const env = settingsOf(service);

      const { code, stdout, stderr } = await runFeedCommand(
        ['upload', writeFeed(csv), '--partner', 'Acme Outdoor'],
        env,
      );

      // Concurrent tests may occupy all slots: then the upload is repeated first.
      expect(stderr).toMatch(
        /^uploading: 0% 0 B of 166 B, spring\.csv\nStored as feed FD\d+, with job JV\d+\.\n/m,
      );
      const [, feedId, jobId] = /feed (FD\d+), with job (JV\d+)/.exec(stderr)!;
      expect(stdout).toBe(
        `Job ${jobId!} of feed ${feedId!}: completed.

processed              2
inserted               1
updated                0
unchanged              0
skipped                1

Issues: 1 invalid_price

line  sku     field  code           value     message
3     LAMP-1  price  invalid_price  1.299,00  price has a decimal comma. Write it with a decimal point, for example
                                              1299.00, or use a format that has a decimal comma.

All issues:   GET ${service.url!}/jobs/${jobId!}/issues
Skipped rows: GET ${service.url!}/jobs/${jobId!}/rejects.csv
`,
      );
      expect(code).toBe(0);
      const raw = await service.api.get(`/feeds/${feedId!}/raw`);
      expect(raw.body).toBe(csv);
      expect(raw.headers.get('content-disposition')).toBe('attachment; filename=spring.csv');
      expect((await service.api.get(`/feeds/${feedId!}`)).body.partner_name).toBe('Acme Outdoor');
      expect(stdout + stderr).not.toContain('pcis_');
    },
  );

  it.concurrent('prints the job as JSON with --json, and exits with 3 with --strict', async () => {
    const service = await sharedService();
    const env = { CATALOG_API_KEY: service.key! };

    const { code, stdout } = await runFeedCommand(
      ['upload', '--json', '--strict', '--partner=Birch', '--url', service.url!, writeFeed(csv)],
      env,
    );

    expect(code).toBe(3);
    const job = JSON.parse(stdout) as { job_id: string };
    expect(job).toEqual((await service.api.get(`/jobs/${job.job_id}`)).body);
    expect(job).toMatchObject({ status: 'completed', summary: { skipped: 1 } });
    const strictly = await runFeedCommand(
      ['upload', '--strict', '--partner=Birch', '--url', service.url!, writeFeed(csv.slice(0, -55))],
      env,
    );
    expect(strictly).toMatchObject({ code: 0, stdout: expect.stringMatching(/unchanged +1\nskipped +0\n$/) });
  });

  it.concurrent('only stores the file with --no-run', async () => {
    const service = await sharedService();
    const args = ['upload', writeFeed(csv), '--partner', 'Cedar', '--no-run'];

    const first = await runFeedCommand(args, settingsOf(service));
    const second = await runFeedCommand([...args, '--json'], settingsOf(service));

    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('is stored, but not loaded') });
    const receipt = JSON.parse(second.stdout) as Record<string, string>;
    expect(receipt).toMatchObject({ status: 'processing', size_bytes: csv.length });
    expect(second.stderr).toContain(`The same file was uploaded before, as feed ${receipt.duplicate_of!}.\n`);
    expect((await service.api.get(`/jobs/${receipt.validation_job_id!}`)).body.status).toBe('queued');
  });

  it.concurrent('reads a feed from standard input', async () => {
    const service = await sharedService();

    const result = await runFeedCommand(
      ['upload', '-', '--partner', 'Daisy', '--issues', '0'],
      settingsOf(service),
      csv,
    );

    const counts = /inserted +1\n[^]*\nIssues: 1 invalid_price\n\nAll issues: /;
    expect(result).toMatchObject({ code: 0, stdout: expect.stringMatching(counts) });
  });

  it.concurrent('resolves FILE in the folder in which npm was called', async () => {
    const service = await sharedService();
    const folder = createTestFolder();
    writeFileSync(join(folder, 'autumn.csv'), csv);

    const { code } = await runFeedCommand(['upload', 'autumn.csv', '--partner', 'Elm'], {
      ...settingsOf(service),
      npm_lifecycle_event: 'feed',
      INIT_CWD: folder,
    });

    expect(code).toBe(0);
  });

  it.concurrent('prints control characters of a feed as escapes, and only the first issues', async () => {
    const service = await sharedService();
    const rows = Array.from({ length: 12 }, (_, at) => `\u001b]0;title\u0007${at},Tent,\u001b[2J\u202e1\n`);

    const { code, stdout, stderr } = await runFeedCommand(
      ['upload', '-', '--partner', 'Fir', '--issues', '4'],
      settingsOf(service),
      `sku,product_name,price\n${rows.join('')}`,
    );

    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(/[^\n\P{Cc}]|\p{Cf}/u);
    expect(stdout).toContain(String.raw`\u{1b}]0;title\u{7}1`);
    expect(stdout).toContain(String.raw`\u{1b}[2J\u{202e}1`);
    expect(stdout).toContain('Issues: 12 invalid_price, 12 suspicious_sku (warning); the first 4:\n');
    expect(stdout).toContain('see line 2');
    expect(stdout).not.toContain('see line 3');
  });

  it.concurrent('exits with 1 and the reason when the file is rejected', async () => {
    const service = await sharedService();

    const { code, stdout, stderr } = await runFeedCommand(
      ['upload', writeFeed('name,price\nTent,1\n'), '--partner', 'Gorse'],
      settingsOf(service),
    );

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /\nThe service responded to the upload with 400 \(missing_columns\): Invalid CSV file: Missing required CSV headers: product_name, sku \(request [0-9a-f-]{36}\)\nHeader 'name' \(column 1\): rename it to product_name\.\n$/,
    );
    const blank = await runFeedCommand(['upload', writeFeed(csv), '--partner', ' '], settingsOf(service));
    expect(blank.code).toBe(1);
    expect(blank.stderr).toContain(
      '422 (validation_error): partner_name: String should have at least 1 character (request ',
    );
  });

  it.concurrent('exits with 1 and the reason when the run fails', async () => {
    const service = await sharedService();

    const { code, stdout } = await runFeedCommand(
      ['upload', writeFeed('sku,product_name\nA,"Tent\n'), '--partner', 'Hazel'],
      settingsOf(service),
    );

    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^Job JV\d+ of feed FD\d+: failed\.\nETL processing failed: The quote that opens /,
    );
  });

  it.concurrent('exits with 1 for a wrong key, without printing it', async () => {
    const service = await sharedService();
    const env = { CATALOG_URL: service.url!, CATALOG_API_KEY: 'no-such-key' };

    const { code, stdout, stderr } = await runFeedCommand(
      ['upload', writeFeed(csv), '--partner', 'Iris'],
      env,
    );

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    // After a second without a response, part of the file is sent, and a line of progress is first.
    expect(stderr).toMatch(
      /^The service responded to the upload with 401 \(unauthorized\): Invalid or missing API key \(request /m,
    );
    expect(stderr).not.toContain('no-such-key');
  });

  it.concurrent('exits with 4 when the service is unreachable after all retries', async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const env = { CATALOG_URL: url, CATALOG_API_KEY: 'a-key' };

    const { code, stdout, stderr } = await runFeedCommand(
      ['upload', writeFeed(csv), '--partner', 'Iris', '--retries', '1'],
      env,
    );

    const reason = `The service at ${url} cannot be reached: connect ECONNREFUSED ${url.slice(7)}.`;
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toBe(`${reason} Retrying in 1 s (1 of 1).\n${reason}\nNothing was run.\n`);
  });
});

describe('npm run feed with an invalid command line or setting', () => {
  const file = () => writeFeed(csv);
  const key = { CATALOG_API_KEY: 'a-key' };
  it.concurrent.each<[string, (string | (() => string))[], Record<string, string>, string]>([
    ['an unknown command', ['downlode', 'x'], key, 'Unknown command: downlode.'],
    ['an unknown option', ['follow', 'JV1', '--all'], key, 'Unknown option: --all.'],
    ['no file', ['upload', '--partner', 'A'], key, 'Missing argument: FILE.'],
    ['no partner', ['upload', file], key, 'Missing option: --partner NAME.'],
    ['no job', ['follow'], key, 'Missing argument: JOB.'],
    ['an empty job', ['follow', ''], key, 'Wrong JOB: it must not be empty.'],
    ['two files', ['upload', file, 'b.csv', '--partner', 'A'], key, 'Too many arguments.'],
    ['an option of another command', ['cancel', 'JV1', '--strict'], key, 'Unknown option: --strict.'],
    [
      'a wrong number',
      ['follow', 'JV1', '--issues', '1e3'],
      key,
      'Wrong --issues: it must be a whole number from 0 to 1000.',
    ],
    [
      'a number that is too small',
      ['follow', 'JV1', '--timeout', '0'],
      key,
      'Wrong --timeout: it must be a whole number from 1 to 1000000.',
    ],
    [
      'a number that is too large',
      ['products', '--limit', '101'],
      key,
      'Wrong --limit: it must be a whole number from 1 to 100.',
    ],
    ['no address', ['follow', 'JV1', '--url', 'catalog'], key, wrongUrl],
    ['an address with a password', ['follow', 'JV1', '--url', 'http://a:b@c'], key, wrongUrl],
    [
      'a key of two lines',
      ['follow', 'JV1'],
      { CATALOG_API_KEY: 'a\nb' },
      'Wrong API key: it has an invalid character.',
    ],
    [
      'no key, for a service of another machine',
      ['follow', 'JV1', '--url', 'http://192.0.2.1'],
      {},
      'Missing API key: set CATALOG_API_KEY.',
    ],
    ['no key', ['follow', 'JV1'], { DATA_DIR: '/nowhere' }, 'Missing API key: set CATALOG_API_KEY.'],
  ])('exits with 2, the problem and how to get help, in two lines: %s', async (...[, args, env, problem]) => {
    const { code, stdout, stderr } = await runFeedCommand(
      args.map((arg) => (typeof arg === 'string' ? arg : arg())),
      env,
    );

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const [first, second, ...more] = stderr.split('\n');
    expect(first!.replace(/ \(Did you mean .*\)$/, '')).toBe(problem);
    expect(second).toMatch(
      /^Help: node dist\/cli\/partner-feed\.cjs( (upload|follow|cancel|products))? --help$/,
    );
    expect(more).toEqual(['']);
    expect(stderr).not.toMatch(/a-key|a\nb/);
  });

  it.concurrent('names the command as it was invoked', async () => {
    const { stderr } = await runFeedCommand(['follow'], { npm_lifecycle_event: 'feed' });

    expect(stderr).toBe('Missing argument: JOB.\nHelp: npm run --silent feed -- follow --help\n');
  });

  it.concurrent('prints its help to standard error without a command', async () => {
    const { code, stdout, stderr } = await runFeedCommand([], key);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^Usage: node dist\/cli\/partner-feed\.cjs \[options\] \[command\]\n/);
  });

  it.concurrent.each([
    ['does not exist', () => join(createTestFolder(), 'no.csv'), /no\.csv cannot be read: ENOENT.*\n$/],
    [
      'is a folder',
      () => createTestFolder(),
      /is not a regular file\. Use - to read from standard input\.\n$/,
    ],
  ])('exits with 2 and the problem for a file that %s', async (_what, path, problem) => {
    const { code, stdout, stderr } = await runFeedCommand(['upload', path(), '--partner', 'A'], key);

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(problem);
  });
});

describe('npm run feed -- --help', () => {
  it.concurrent('lists commands, settings and exit codes, and imports nothing from the service', async () => {
    const { code, stdout } = await runFeedCommand(['--help'], {});

    expect(code).toBe(0);
    for (const part of ['upload [options] <FILE>', 'CATALOG_API_KEY', 'Exit codes:']) {
      expect(stdout).toContain(part);
    }
    const bundle = readFileSync(feedEntry, 'utf8');
    const packages = new Set(bundle.match(/(?<=^\/\/ node_modules\/)(@[^/]+\/)?[^/]+/gm));
    expect([...packages]).toEqual(expect.arrayContaining(['commander', 'openapi-fetch', 'undici']));
    for (const ofService of ['pg', 'knex', 'express', 'pino']) expect([...packages]).not.toContain(ofService);
  });
});

describe('npm run feed while a run is in progress', () => {
  it.concurrent(
    'exits at a signal or after --timeout while the run continues, and can follow it later',
    async () => {
      const service = await startUsedService();
      const env = settingsOf(service);
      const held = await HeldProducts.of(embeddedAddress(service.dataDir));
      const command = new FeedCommand(['upload', writeFeed(csv), '--partner', 'Juniper'], env);
      await eventually(
        'the run is in progress',
        () => /^(running|reading|comparing|loading)/m.test(command.stderr),
        60,
      );

      command.kill('SIGINT');

      const { code, stdout, stderr } = await command.exit;
      const [jobId] = /JV\d+/.exec(stderr)!;
      expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
      expect(stderr).toMatch(
        new RegExp(
          `\\nInterrupted\\.\\nA requested run continues: node dist/cli/partner-feed\\.cjs follow ${jobId} `,
        ),
      );
      const timedOut = await runFeedCommand(['follow', jobId, '--timeout', '1'], env);
      expect(timedOut).toMatchObject({ code: 5, stdout: '' });
      expect(timedOut.stderr).toMatch(/^Timed out after 1 s\.$/m);

      const follower = runFeedCommand(['follow', jobId, '--json'], env);
      await held.release();
      const followed = await follower;
      expect(followed.code).toBe(0);
      expect(JSON.parse(followed.stdout)).toMatchObject({ status: 'completed', summary: { inserted: 1 } });
    },
  );

  it.concurrent('cancels it, and a following command reports that', async () => {
    const service = await startUsedService();
    const env = settingsOf(service);
    const held = await HeldProducts.of(embeddedAddress(service.dataDir));
    const follower = new FeedCommand(['upload', writeFeed(csv), '--partner', 'Kerria'], env);
    await eventually(
      'the run shows its progress',
      () => /^(reading|comparing|loading): .*2 rows$/m.test(follower.stderr),
      60,
    );
    const [jobId] = /JV\d+/.exec(follower.stderr)!;

    const cancelled = await runFeedCommand(['cancel', jobId], env);

    const failed = `Job ${jobId} of feed FD00001: failed.\nETL processing failed: The run was cancelled.\n`;
    expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining(failed) });
    expect(await follower.exit).toMatchObject({ code: 1, stdout: expect.stringContaining(failed) });
    await held.release();
    const late = await runFeedCommand(['cancel', jobId], env);
    expect(late).toMatchObject({ code: 1, stdout: '' });
    expect(late.stderr).toContain(`409 (no_run_to_cancel): Job ${jobId} has no run to cancel. (request `);
  });
});
