import { truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterFile, mebibyte, eventually, createTestFolder } from '../../support/harness';
import { FeedCommand, runFeedCommand } from '../../support/commands';
import { startUsedService, type ServiceProcess } from '../../support/process';
import { ServiceFront, type Fate } from '../../support/faults';

let started: Promise<ServiceProcess> | undefined;
const sharedService = () => (started ??= startUsedService());

const csv = 'sku,product_name\nTENT-2,Two-person tent\n';

function writeFeed(): string {
  const path = join(createTestFolder(), 'spring.csv');
  writeFileSync(path, csv);
  return path;
}

/** Starts a proxy before the service. @returns the settings of a command that uses it */
async function openFront(fateOf: (request: string, time: number) => Fate) {
  const service = await sharedService();
  const front = await ServiceFront.open(service.url!, fateOf);
  return { service, front, env: { CATALOG_URL: front.url, CATALOG_API_KEY: service.key! } };
}

/** Starts a service that accepts every upload and discards it. */
async function openSink() {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (piece: Buffer) => (bytes += piece.length));
    request.on('end', () => response.end(JSON.stringify({ feed_id: 'FD1', validation_job_id: 'JV1' })));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received: () => bytes };
}

/** Measures the peak memory of the command in bytes for an upload of a file of this size. */
async function peakOfUpload(url: string, fileSize: number): Promise<number> {
  const path = writeFeed();
  truncateSync(path, fileSize);
  const preload = join(createTestFolder(), 'preload.cjs');
  writeFileSync(
    preload,
    `process.on('exit', () => process.stderr.write(process.resourceUsage().maxRSS + ' KiB at most'));`,
  );
  const command = new FeedCommand(
    ['upload', path, '--partner', 'Acme', '--no-run', '--url', url],
    { CATALOG_API_KEY: 'a-key' },
    ['--require', preload],
  );
  const { code, stderr } = await command.exit;
  expect(code).toBe(0);
  return Number(/(\d+) KiB at most$/.exec(stderr)![1]) * 1024;
}

const isUpload = (request: string) => request === 'POST /feeds/upload';
const isRun = (request: string) => request.endsWith('/run');
const isCancel = (request: string) => request.endsWith('/cancel');
const isLook = (request: string) => /^GET \/jobs\/JV\d+$/.test(request);

let withoutWorker: Promise<ServiceProcess> | undefined;

/** Queues a run at a service without a worker. */
async function queueRun() {
  const service = await (withoutWorker ??= startUsedService({ QUEUE_WORKER: 'off' }));
  const { jobId } = await service.api.uploadFeed(csv);
  const { status } = await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
  expect(status).toBe(202);
  return { service, jobId };
}

const cancelledText = (jobId: string) => `The run of job ${jobId} was cancelled before it started.\n`;

describe('npm run feed over a failing network', () => {
  it.concurrent('waits for Retry-After when the service is overloaded', async () => {
    const { env } = await openFront((request, time) =>
      isUpload(request) && time === 1
        ? { status: 503, headers: { 'retry-after': '1' }, body: { detail: 'No room\u001b.' } }
        : 'pass',
    );

    const { code, stderr } = await runFeedCommand(['upload', writeFeed(), '--partner', 'Acme'], env);

    expect(code).toBe(0);
    expect(stderr).toContain(
      `The service responded to the upload with 503: No room${String.raw`\u{1b}`}. Retrying in 1 s (1 of 4).\n`,
    );
  });

  it.concurrent('exits with 4 when the service is overloaded at every retry', async () => {
    const { env, front } = await openFront(() => ({ status: 429, headers: { 'retry-after': '1' } }));

    const { code } = await runFeedCommand(['follow', 'JV00001', '--retries', '1'], env);

    expect(code).toBe(4);
    expect(front.seen).toEqual(['GET /jobs/JV00001', 'GET /jobs/JV00001']);
  });

  it.concurrent('stores a feed once when the response is lost', async () => {
    const { service, env, front } = await openFront((request, time) =>
      isUpload(request) && time === 1 ? 'lose answer' : 'pass',
    );

    const { code, stdout, stderr } = await runFeedCommand(
      ['upload', writeFeed(), '--partner', 'Birch', '--no-run', '--json'],
      env,
    );

    expect(code).toBe(0);
    expect(stderr).toContain('cannot be reached: socket hang up. Retrying in 1 s (1 of 4).\n');
    expect(front.seen.filter(isUpload)).toHaveLength(2);
    expect(JSON.parse(stdout)).toMatchObject({ duplicate_of: null });
    const again = await service.api.upload({ csv, partnerName: 'Birch', fileName: 'spring.csv' });
    // Only the first one has the same bytes.
    expect(again.body.duplicate_of).toBe((JSON.parse(stdout) as { feed_id: string }).feed_id);
  });

  it.concurrent(
    'does not run a job twice when the response is lost, and follows it over a broken connection',
    async () => {
      const { env, front } = await openFront((request, time) => {
        if (isRun(request)) return 'lose answer';
        return isLook(request) && time === 1 ? 'hang up' : 'pass';
      });

      const { code, stdout } = await runFeedCommand(['upload', writeFeed(), '--partner', 'Cedar'], env);

      expect(code).toBe(0);
      expect(stdout).toMatch(/inserted +1\nupdated +0\nunchanged +0\n/);
      expect(front.seen.filter(isLook).length).toBeGreaterThanOrEqual(2);
    },
  );

  it.concurrent.each([
    ['502 of a proxy', 'Gorse', { status: 502 }],
    ['503 after the run', 'Iris', { status: 503, headers: { 'retry-after': '1' } }],
  ])('does not run a job twice when the response is replaced by a %s', async (_what, partner, lost) => {
    const { env } = await openFront((request) =>
      isRun(request) ? { lose: 'answer', instead: lost } : 'pass',
    );

    const { code, stdout } = await runFeedCommand(['upload', writeFeed(), '--partner', partner], env);

    expect(code).toBe(0);
    expect(stdout).toMatch(/inserted +1\nupdated +0\nunchanged +0\n/);
  });

  it.concurrent('follows a queued run instead of requesting it again when the response is lost', async () => {
    const service = await (withoutWorker ??= startUsedService({ QUEUE_WORKER: 'off' }));
    const { jobId } = await service.api.uploadFeed(csv);
    const front = await ServiceFront.open(service.url!, (request, time) =>
      isRun(request) && time === 1 ? 'lose answer' : 'pass',
    );
    const env = { CATALOG_URL: front.url, CATALOG_API_KEY: service.key! };
    const command = new FeedCommand(['run', jobId], env);
    // Two requests check for a run, two follow it.
    await eventually('it is followed', () => front.seen.filter(isLook).length === 4, 60);

    await service.api.post(`/jobs/${jobId}/cancel`);

    expect(await command.exit).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(cancelledText(jobId)),
    });
    expect(front.seen.filter(isRun)).toHaveLength(1);
  });

  it.concurrent('follows a run that started after the check before a retry', async () => {
    const { env, front } = await openFront((request, time) => {
      if (!isRun(request)) return 'pass';
      return time === 1 ? { status: 502 } : { lose: 'answer', instead: { status: 409 } };
    });

    const { code, stdout } = await runFeedCommand(['upload', writeFeed(), '--partner', 'Hazel'], env);

    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(': completed.') });
    expect(front.seen.filter(isRun)).toHaveLength(2);
  });

  it.concurrent('reports a run as cancelled when the response to the cancellation is lost', async () => {
    const { service, jobId } = await queueRun();
    const front = await ServiceFront.open(service.url!, (request, time) =>
      isCancel(request) && time === 1 ? 'lose answer' : 'pass',
    );
    const env = { CATALOG_URL: front.url, CATALOG_API_KEY: service.key! };

    const { code, stdout } = await runFeedCommand(['cancel', jobId], env);

    expect(front.seen.filter(isCancel)).toHaveLength(2);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(cancelledText(jobId)) });
  });

  it.concurrent('exits with 1 when no run was requested, also after a lost cancellation', async () => {
    const { service, front, env } = await openFront((request, time) =>
      isCancel(request) && time === 1 ? 'hang up' : 'pass',
    );
    const { jobId } = await service.api.uploadFeed(csv);

    const { code, stdout, stderr } = await runFeedCommand(['cancel', jobId], env);

    expect(front.seen.filter(isCancel)).toHaveLength(2);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`\nJob ${jobId} has no run to cancel\\.\n$`));
  });

  it.concurrent('exits with 1 instead of following a job without a requested run', async () => {
    const { service, env } = await openFront(() => 'pass');
    const { jobId } = await service.api.uploadFeed(csv);

    const { code, stdout, stderr } = await runFeedCommand(['follow', jobId], env);

    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `No run of job ${jobId} was requested.
`,
    });
  });

  it.concurrent('follows a queued run', async () => {
    const { service, jobId } = await queueRun();
    const front = await ServiceFront.open(service.url!, () => 'pass');
    const env = { CATALOG_URL: front.url, CATALOG_API_KEY: service.key! };
    const follower = new FeedCommand(['follow', jobId], env);
    // One request checks for a run, two follow it.
    await eventually('it is followed', () => front.seen.filter(isLook).length === 3, 60);

    await service.api.post(`/jobs/${jobId}/cancel`);

    expect(await follower.exit).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(cancelledText(jobId)),
    });
  });

  it.concurrent('retries an upload of standard input only if none of it was read', async () => {
    const refusedFirst = await openFront((request, time) =>
      isUpload(request) && time === 1 ? { status: 503, headers: { 'retry-after': '1' } } : 'pass',
    );
    expect((await runFeedCommand(['upload', '-', '--partner', 'Daisy'], refusedFirst.env, csv)).code).toBe(0);
    const lostLater = await openFront((request) => (isUpload(request) ? 'lose answer' : 'pass'));

    const { code, stderr } = await runFeedCommand(['upload', '-', '--partner', 'Elm'], lostLater.env, csv);

    expect(code).toBe(4);
    expect(lostLater.front.seen.filter(isUpload)).toHaveLength(1);
    expect(stderr).toMatch(
      /\nPart of the upload was sent before .*; standard input cannot be read again\.\n/,
    );
  });

  it.concurrent('reports a response that arrives before the file is sent', async () => {
    const { env } = await openFront(() => ({ status: 413, body: { detail: 'Too large for this proxy.' } }));
    const path = writeFeed();
    truncateSync(path, 64 * mebibyte);

    const { code, stderr } = await runFeedCommand(['upload', path, '--partner', 'Acme'], env);

    expect(code).toBe(1);
    // After a second without a response, part of the file is sent, and a line of progress is first.
    expect(stderr).toMatch(/^The service responded to the upload with 413: Too large for this proxy\.\n$/m);
  });

  it.concurrent('uses no more memory for a large file than for a small one', async () => {
    const size = 256 * mebibyte;
    const { url, received } = await openSink();

    const small = await peakOfUpload(url, mebibyte);
    const large = await peakOfUpload(url, size);

    expect(received()).toBeGreaterThan(size);
    expect(large - small).toBeLessThan(size / 4);
  });

  it.concurrent('reports the response of another server', async () => {
    const { env } = await openFront(() => ({ status: 200, body: 'Welcome!' }));

    for (const args of [
      ['upload', writeFeed(), '--partner', 'Acme'],
      ['follow', 'JV00001'],
    ]) {
      const { code, stderr } = await runFeedCommand(args, env);
      expect(code).toBe(1);
      expect(stderr).toMatch(/Unexpected response \(not a (receipt|job)\)\. Check --url\.\n$/);
    }
  });

  it.concurrent('follows no redirect, which would take the key to another address', async () => {
    const elsewhere = await openFront(() => ({ status: 200, body: { count: 0, items: [] } }));
    const headers = { location: `${elsewhere.front.url}/feeds` };
    const { env } = await openFront(() => ({ status: 307, headers }));

    const { code, stderr } = await runFeedCommand(['feeds'], env);

    expect({ code, seen: elsewhere.front.seen }).toEqual({ code: 1, seen: [] });
    expect(stderr).toContain('The service responded to the request for feeds with 307: ');
  });

  it.concurrent('aborts an upload at a signal', async () => {
    const { env, front } = await openFront(() => 'pass');
    const command = new FeedCommand(['upload', '-', '--partner', 'Acme'], env);
    command.stdin.write(csv);
    await eventually('the upload has begun', () => front.seen.length === 1, 60);

    command.kill('SIGTERM');

    const { code, stderr } = await command.exit;
    expect(code).toBe(143);
    expect(stderr).toMatch(/Interrupted\.\nNothing was run\.\n$/);
  });
});
