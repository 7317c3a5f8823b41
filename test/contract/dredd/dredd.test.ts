import { cancelLimits } from '../../../src/runs/cancel.service';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { claimKey } from '../../../src/http/idempotency/idempotency.repository';
import { digestOf, generateKey } from '../../../src/base/key-format';
import { insertKey } from '../../../src/http/keys/keys.repository';
import { lockJob } from '../../../src/runs/queue/claims.repository';
import { beginHistoryAt, withoutHistory } from '../../support/write-history';
import { putSource } from '../../support/source-requests';
import { putWebhook } from '../../support/webhook-requests';
import { putFormat } from '../../support/format-requests';
import { documentedResponses } from '../../support/contract';
import { leaveRunning } from '../../support/runs-in-flight';
import { startTestService, testKey } from '../../support/service';
import { sendTo } from '../../support/webhooks';
import { insertPing } from '../../../src/webhooks/outcomes.repository';

const root = join(__dirname, '..', '..', '..');

/** A partner that no other test uses. */
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
    const service = await startTestService({
      uploadBytesMax: 500_000,
      partnerWebhookPrivateAddresses: true,
    });
    await service.api.loadFeed(seededFeed);
    await service.api.uploadFeed('sku,product_name\na,A\n');
    const { jobId } = await service.api.uploadFeed('sku,product_name\nb,B\n');
    await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
    await service.api.loadFeed('sku,product_name\nc,C\n', 'Pruned');
    await service.db('feeds').where('feed_id', 4).update({ raw_file_removed_at: new Date() });
    await service.db('catalog_versions').where('job_id', 4).delete();
    await beginHistoryAt(service, '2026-03-01T09:31:00.123456Z');
    await withoutHistory(service, (trx) =>
      trx('products').update({ created_at: '2026-02-01T00:00:00Z', run_id: null }),
    );
    for (const quantity of [1, 2]) {
      const items = [{ product_id: 'PR00001', quantity }];
      const { status } = await service.api.post('/orders', { partner_name: 'Acme Outdoor', items });
      expect(status).toBe(201);
    }
    await putFormat(service.api, 'Full', 'one');
    await service.db.raw(
      `insert into partner_formats (partner_id, format_name, definition)
       select partner_id, 'many-' || n, definition from partner_formats, generate_series(1, 99) as n`,
    );
    await putFormat(service.api, 'Acme Outdoor', 'weekly-price-list');
    const webhook = await sendTo(service.db, 'https://acme.example.org/events');
    await insertPing(service.db, webhook);
    const url = 'https://feeds.acme.example/products.csv';
    await putSource(service.api, 'Full', 'one', { url, format: 'one' });
    await service.db.raw(
      `insert into sources (partner_id, source_name, definition)
       select partner_id, 'many-' || n, definition from sources, generate_series(1, 99) as n`,
    );
    for (const name of ['daily-export', 'leaving'])
      await putSource(service.api, 'Acme Outdoor', name, { url });
    for (const name of ['local', 'leaving', 'disabled'])
      await putWebhook(service.api, 'Acme Outdoor', name, { url: 'https://127.0.0.1:1/' });
    await service
      .db('webhook_endpoints')
      .where('webhook_name', 'disabled')
      .update({ disabled_at: new Date() });
    for (let at = 0; at < 10; at++)
      await putWebhook(service.api, 'Full', `many-${at}`, { url: 'https://127.0.0.1:1/' });
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
    // While their claims are held, JV00002 is running, and the key `in use` is in use.
    await leaveRunning(service, { jobId: 'JV00002' });
    const claims = await service.db.transaction();
    await lockJob(claims, 2);
    const apiKeyDigest = createHash('sha256').update(testKey).digest();
    await claimKey(claims, { apiKeyDigest, text: 'in use' });

    // JV00002 does not stop.
    jest.replaceProperty(cancelLimits, 'waitMilliseconds', 0);
    const { headers } = await service.api.get('/jobs/JS00001');

    const { code, output } = await runDredd(service.url, headers.get('etag')!);

    await claims.rollback();
    expect(output).not.toContain('fail: ');
    const [, passing, failing, errors, skipped, total] =
      /complete: (\d+) passing, (\d+) failing, (\d+) errors, (\d+) skipped, (\d+) total/
        .exec(output)!
        .map(Number);
    expect({ code, failing, errors }).toEqual({ code: 0, failing: 0, errors: 0 });
    const skippable = documentedResponses.filter(({ status }) => [408, 429, 500, 503].includes(status));
    // Also the 404 of the upload.
    expect(skipped).toBe(skippable.length + 1);
    expect(passing! + skipped!).toBe(total);
    expect(passing).toBeGreaterThan(75);
  });
});
