import * as cancelServiceModule from '../../../src/runs/cancel.service';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { claimKey } from '../../../src/idempotency/idempotency.repository';
import { digestOf, generateKey } from '../../../src/shared/key-format';
import { insertKey } from '../../../src/keys/keys.repository';
import { lockJob } from '../../../src/runs/queue.repository';
import { startTestService, testKey } from '../../support/service';

const root = join(__dirname, '..', '..', '..');

/** Of a partner of its own. */
const limitedKey = generateKey();
const readOnlyKey = generateKey();

const seededFeed =
  'sku,product_name,price,currency,availability\n' +
  'TENT-2,Two-person tent,189.90,EUR,in stock\nLAMP-1,Head lamp,24.50,EUR,\nSTOVE-3,Stove,60,EUR,out of stock\n' +
  'A,A,NA,,\nB,B,NA,,\n';

/** Runs Dredd over the whole document against the service. @returns its output */
async function runDredd(
  url: string,
  submissionTag: string,
): Promise<{ code: number | null; output: string }> {
  const args = [
    'spec/openapi.yaml',
    url,
    `--hookfiles=${join(__dirname, 'hooks.cjs')}`,
    '--loglevel=error',
    '--color=false',
  ];
  const dredd = spawn(join(root, 'node_modules', '.bin', 'dredd'), args, {
    cwd: root,
    env: {
      ...process.env,
      DREDD_API_KEY: testKey,
      DREDD_LIMITED_KEY: limitedKey,
      DREDD_READ_ONLY_KEY: readOnlyKey,
      DREDD_SEEDED_FEED: seededFeed,
      DREDD_SUBMISSION_TAG: submissionTag,
    },
  });
  let output = '';
  dredd.stdout.on('data', (chunk) => (output += String(chunk)));
  dredd.stderr.on('data', (chunk) => (output += String(chunk)));
  const code = await new Promise<number | null>((resolve) => dredd.once('close', resolve));
  return { code, output };
}

describe('Dredd', () => {
  it('finds every response as documented, except faults that it cannot cause', async () => {
    const service = await startTestService({ uploadBytesMax: 500_000 });
    await service.api.loadFeed(seededFeed);
    await service.api.uploadFeed('sku,product_name\na,A\n');
    const { jobId } = await service.api.uploadFeed('sku,product_name\nb,B\n');
    await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
    for (const quantity of [1, 2]) {
      const items = [{ product_id: 'PR00001', quantity }];
      const { status } = await service.api.post('/orders', { partner_name: 'Acme Outdoor', items });
      expect(status).toBe(201);
    }
    await insertKey(service.db, {
      key_name: 'limited',
      key_digest: digestOf(limitedKey),
      partner_name: 'Other',
    });
    await insertKey(service.db, {
      key_name: 'read-only',
      key_digest: digestOf(readOnlyKey),
      partner_name: null,
      is_read_only: true,
    });
    // JV00002 is running, and the key `in use` is, as long as their claims are held.
    await service.db('validation_jobs').where('job_id', 2).update({ status: 'running' });
    const claims = await service.db.transaction();
    await lockJob(claims, 2);
    const apiKeyDigest = createHash('sha256').update(testKey).digest();
    await claimKey(claims, { apiKeyDigest, text: 'in use' });

    // JV00002 does not stop.
    jest.replaceProperty(cancelServiceModule, 'cancelWaitMilliseconds', 0 as never);
    const { headers } = await service.api.get('/jobs/JS00001');

    const { code, output } = await runDredd(service.url, headers.get('etag')!);

    await claims.rollback();
    expect(output).not.toContain('fail: ');
    const [, passing, failing, errors, skipped, total] =
      /complete: (\d+) passing, (\d+) failing, (\d+) errors, (\d+) skipped, (\d+) total/
        .exec(output)!
        .map(Number);
    expect({ code, failing, errors }).toEqual({ code: 0, failing: 0, errors: 0 });
    // 429, 500 and 503 of the 23 operations that need a key, 408 of the three that have a body.
    expect(skipped).toBe(72);
    expect(passing! + skipped!).toBe(total);
    expect(passing).toBeGreaterThan(75);
  });
});
