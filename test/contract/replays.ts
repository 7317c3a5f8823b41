import { cancelLimits } from '../../src/runs/cancel.service';
import { progressReports } from '../../src/runs/execution/run-reporter';
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { claimKey } from '../../src/http/idempotency/idempotency.repository';
import { removePartner } from '../../src/operation/retention/remove-partner';
import { lockJob } from '../../src/runs/queue/claims.repository';
import type { ApiClient, ApiResponse } from '../support/api-client';
import {
  startAppAt,
  startFailingApp,
  withStoredKey,
  startTestService,
  testKey,
  type TestService,
} from '../support/service';
import { PrismClient } from './prism-client';
import { documentedResponses, operations, withQuery, type Operation } from '../support/contract';
import { eventually } from '../support/harness';
import { startFakeDatabase } from '../support/databases';
import { beginHistoryAt, withoutHistory, writeHistory } from '../support/write-history';
import { leaveRunning, whileLoading, whileReading } from '../support/runs-in-flight';
import { excelWorkbook } from '../support/other-file-formats';
import {
  fieldPart,
  filePart,
  formBody,
  formType,
  openFiles,
  OpenUpload,
  partnerPart,
  sendRaw,
  type RawRequest,
} from '../support/requests';
import { putSource, sourcePath } from '../support/source-requests';
import { formatPath, putFormat } from '../support/format-requests';
import { rawFilePath } from '../support/stored-uploads';
import { insertExampleWebhook } from '../support/webhooks';
import { webhookReplays } from './webhook-replays';

/** A service with Prism's proxy between client and service. */
async function startService(options?: Parameters<typeof startTestService>[0]): Promise<TestService> {
  const service = await startTestService(options);
  return { ...service, api: await PrismClient.before(service.api) };
}

/** Preconditions of the replays; identifiers are from the examples. */
export interface State {
  /**
   * FD00001 is loaded, with a rejected row; FD00002 waits for its run. PR00001 and PR00002 can be ordered in EUR, PR00003 is sold
   * out, PR00004 has another currency. There are orders of two partners; OR00001 is the one of the document.
   */
  service: TestService;
  api: ApiClient;
  /** FD00001 exists without its file. */
  withoutFiles: ApiClient;
  /** FD00001 is loaded; its raw file and its row issues were removed. Its products are older than the history. */
  pruned: ApiClient;
  /** A stalled client is disconnected soon. */
  impatientUrl: string;
  /** The database does not respond. */
  withoutDatabase: ApiClient;
  /** Its key has used up its only request. */
  exhausted: ApiClient;
  draining: ApiClient;
  /** With a key that is limited to a partner without the examples' data. */
  limited: ApiClient;
  readOnly: ApiClient;
  /** Every handler throws. */
  failing: ApiClient;
}

/** Starts the services, and fills them. */
export async function startState(): Promise<State> {
  const service = await startService({
    uploadBytesMax: 1024 ** 3,
    partnerWebhookPrivateAddresses: true,
  });
  const { api } = service;
  await api.loadFeed(springFile);
  await api.uploadFeed(summerFile);
  await api.loadFeed(
    'sku,product_name,price,currency,availability\nSTOVE-3,Stove,60,EUR,out_of_stock\nMAT-1,Mat,5,USD,\n',
    'Birch & Sons',
  );
  await api.post('/orders', {
    partner_name: partnerName,
    customer_reference: 'PO-2026-0815',
    items: [
      { product_id: 'PR00001', quantity: 2 },
      { product_id: 'PR00002', quantity: 1 },
    ],
  });
  for (const quantity of [1, 2]) {
    const items = [{ product_id: 'PR00002', quantity }];
    await api.post('/orders', { partner_name: 'Birch & Sons', items });
  }

  await insertExampleWebhook(service.db);

  const withoutFiles = await startService();
  const lost = await withoutFiles.api.loadFeed('sku,product_name,price\nA,A,NA\n');
  await withoutFiles.api.uploadFeed('sku,product_name\nA,A\n');
  for (const feedId of [lost.feedId, 'FD00002']) await rm(await rawFilePath(withoutFiles, feedId));

  const pruned = await startService();
  await pruned.api.loadFeed(springFile);
  await pruned.db('feeds').update({ raw_file_removed_at: new Date('2027-03-01T03:00:00Z') });
  await pruned.db('validation_jobs').update({ issues_removed_at: new Date() });
  await pruned.db.raw(
    'insert into source_digests select feed_id, record_offset, sha256(cast(sku as bytea)) from products where product_id = 1',
  );
  await pruned.db('catalog_versions').where('job_id', 1).delete();
  await beginHistoryAt(pruned, '2026-03-01T09:31:00.123456Z');
  await withoutHistory(pruned, (trx) =>
    trx('products').update({ created_at: '2026-02-01T00:00:00Z', run_id: null }),
  );

  await insertExampleWebhook(pruned.db);

  const impatient = await startTestService({ server: { idleMilliseconds: 100 } });
  const nowhere = await startFakeDatabase((connection) => connection.end());
  const exhausted = await startService({ rateLimit: { requests: 1, seconds: 3600 } });
  await exhausted.api.get('/orders');
  const draining = await startAppAt(service.address);
  await draining.app.drain();
  return {
    service,
    api,
    withoutFiles: withoutFiles.api,
    pruned: pruned.api,
    impatientUrl: impatient.url,
    withoutDatabase: await PrismClient.before((await startAppAt(nowhere.address)).api),
    exhausted: exhausted.api,
    draining: await PrismClient.before(draining.api),
    limited: await withStoredKey(service, 'Birch & Sons'),
    readOnly: await withStoredKey(service, null, 'reader', { is_read_only: true }),
    failing: await PrismClient.before(await startFailingApp(() => Promise.reject(new Error('a fault')))),
  };
}

/** Sends the request that an example shows. */
export type Replay = (state: State) => Promise<ApiResponse>;

/** The files of FD00001 and FD00002 in the document's examples. */
const springFile = exampleOf('downloadFeedFile', 200);
const summerFile = springFile.replace('189.90', '179.90').replace('"1.299,00"', '39.00');

function exampleOf(operation: string, code: number): string {
  const found = documentedResponses.find(
    ({ operationId, status }) => operationId === operation && status === code,
  );
  return found!.examples.example as string;
}

const tentAt = (price: string) => ({
  sku: 'TENT-2',
  product_name: 'Two-person tent',
  price,
  currency: 'EUR',
});
const unclosed = 'sku,product_name\nA,"A\n';
const partnerName = 'Acme Outdoor';
const orderOf = (...productIds: string[]) => ({
  partner_name: partnerName,
  items: productIds.map((product_id) => ({ product_id, quantity: 1 })),
});

/** Makes partners whose first and only run has failed. */
async function failFirstRuns({ api }: State): Promise<void> {
  for (const name of ['Cedar Camping', 'Cedar Canoes']) {
    const { jobId } = await api.uploadFeed('sku,product_name\nTENT-1,"Tent\n', name);
    await api.post(`/jobs/${jobId}/run`);
  }
}

/** Creates a partner, the first by name, that needs no attention. */
async function loadFirstPartner({ api }: State): Promise<void> {
  const { jobId } = await api.uploadFeed(springFile, 'A First Partner');
  await api.post(`/jobs/${jobId}/run`);
}

/** Replays by operation, status and name of the example. */
export const replays: Record<string, Replay> = {
  ...ofEveryOperation(),

  'listFeeds 200 page': ({ api }) => api.get('/feeds?partner_name=Acme%20Outdoor&limit=100'),
  'listFeeds 200 empty': ({ api }) => api.get('/feeds?partner_name=Unknown'),
  'listFeeds 400 example': ({ api }) => api.get('/feeds?cursor=x'),
  'listFeeds 422 unknown_status': ({ api }) => api.get('/feeds?status=loaded'),
  'listFeeds 422 not_a_time': ({ api }) => api.get('/feeds?uploaded_from=2026-03-01'),
  'listFeeds 422 not_a_day': ({ api }) => api.get('/feeds?uploaded_to=2026-02-30T00:00:00Z'),

  'uploadFeed 201 example': ({ api }) => api.upload({ partnerName: 'New Partner', csv: springFile }),
  'uploadFeed 400 not_csv': ({ api }) => api.upload({ partnerName, csv: springFile, fileName: 'feed.xlsx' }),
  'uploadFeed 400 empty': ({ api }) => api.upload({ partnerName, csv: '' }),
  'uploadFeed 400 not_utf8': ({ api }) => api.upload({ partnerName, csv: Buffer.from([0xff, 0x0a]) }),
  'uploadFeed 400 missing_headers': ({ api }) => api.upload({ partnerName, csv: 'sku,name\n' }),
  'uploadFeed 400 duplicate_header': ({ api }) =>
    api.upload({ partnerName, csv: 'sku,product_name,price,Price\n' }),
  'uploadFeed 400 header_too_long': ({ api }) =>
    api.upload({ partnerName, csv: `sku,product_name,${'x'.repeat(262_144)}\n` }),
  'uploadFeed 400 malformed_multipart': ({ api }) => postForm(api, '/feeds/upload', 'no part'),
  'uploadFeed 422 missing_parts': ({ api }) => api.upload({}),
  'uploadFeed 404 example': uploadWhilePartnerIsRemoved,
  'uploadFeed 409 example': ({ service, api }) =>
    whileKeyIsHeld(service, () => uploadWithKey(api, 'held', springFile)),
  'uploadFeed 422 wrong_key': ({ api }) => uploadWithKey(api, '', springFile),
  'uploadFeed 422 used_key': async ({ api }) => {
    await uploadWithKey(api, 'used for an upload', springFile);
    return uploadWithKey(api, 'used for an upload', `${springFile}LAMP-1,Head lamp,,,,,,\n`);
  },
  'uploadFeed 422 unknown_format': ({ api }) =>
    api.upload({ partnerName, csv: springFile, fields: { format: 'weekly' } }),
  'uploadFeed 422 format_without_name': async ({ api }) => {
    await putFormat(api, partnerName, 'stock-levels', { columns: { sku: { from: ['sku'] } } });
    return api.upload({ partnerName, csv: springFile, fields: { format: 'stock-levels' } });
  },
  'uploadFeed 422 field_after_file': ({ api }) =>
    api.send('POST', '/feeds/upload', {
      headers: { 'content-type': formType },
      body: formBody([partnerPart(), filePart(springFile), fieldPart('mode', 'replace')]),
    }),
  'uploadFeed 422 rejects_file': ({ api }) =>
    api.upload({ partnerName, csv: '_line,_codes,sku,product_name\n', fields: { mode: 'replace' } }),
  'uploadFeed 422 blank_partner_name': ({ api }) => api.upload({ partnerName: '', csv: springFile }),

  'getFeedProfile 200 example': ({ api }) => api.get('/feeds/profile'),
  'downloadFeedTemplate 422 unknown_format': ({ api }) => api.get('/feeds/template.csv?format=weekly'),
  'downloadFeedTemplate 200 example': ({ api }) => api.get('/feeds/template.csv'),

  'inspectFeed 200 accepted': ({ api }) => api.inspect({ partnerName, csv: springFile }),
  'inspectFeed 200 refused': ({ api }) =>
    api.inspect({ partnerName, csv: 'SKU Code,product_name\nTENT-2,Two-person tent\n' }),
  'inspectFeed 200 excel': ({ api }) => {
    const body = formBody([partnerPart(), filePart(excelWorkbook(), { fileName: 'spring.xlsx' })]);
    return api.send('POST', '/feeds/inspect', { headers: { 'content-type': formType }, body });
  },
  'inspectFeed 400 example': ({ api }) => postForm(api, '/feeds/inspect', 'no part'),
  'inspectFeed 422 example': ({ api }) => api.inspect({ partnerName }),

  'getFeed 200 processed': ({ api }) => api.get('/feeds/FD00001'),
  'getFeed 200 queued': ({ api }) => api.get('/feeds/FD00002'),
  'getFeed 404 example': ({ api }) => api.get('/feeds/FD00099'),
  'downloadFeedFile 200 example': ({ api }) => api.get('/feeds/FD00001/raw'),
  'downloadFeedFile 206 example': ({ api }) => api.get('/feeds/FD00001/raw', { range: 'bytes=72-' }),
  'downloadFeedFile 404 unknown_feed': ({ api }) => api.get('/feeds/FD00099/raw'),
  'downloadFeedFile 404 missing_file': ({ withoutFiles }) => withoutFiles.get('/feeds/FD00001/raw'),
  'downloadFeedFile 416 example': ({ api }) => api.get('/feeds/FD00001/raw', { range: 'bytes=272-' }),

  'getJob 200 completed': ({ api }) => api.get('/jobs/JV00001'),
  'getJob 200 queued': ({ api }) => api.get('/jobs/JV00002'),
  'getJob 200 failed': async ({ api }) => {
    const { jobId } = await api.loadFeed(unclosed);
    return api.get(`/jobs/${jobId}`);
  },
  'getJob 200 running': async ({ service, api }) => {
    const feed = await api.uploadFeed(springFile, 'Tents & Co');
    let answer: ApiResponse | undefined;
    await whileLoading(service, feed, async () => {
      answer = await eventually('it tells how far it is', async () => {
        const job = await api.get(`/jobs/${feed.jobId}`);
        return job.body.progress !== undefined && job;
      });
    });
    return answer!;
  },
  'getJob 200 submission': ({ api }) => api.get('/jobs/JS00001'),
  'getJob 404 example': ({ api }) => api.get('/jobs/JV00099'),

  'streamJobEvents 200 example': ({ api }) => api.get('/jobs/JS00001/events'),
  'streamJobEvents 404 example': ({ api }) => api.get('/jobs/JV00099/events'),

  'runJob 200 completed': ({ api }) => api.post('/jobs/JV00001/run'),
  'runJob 200 failed': ({ withoutFiles }) => withoutFiles.post('/jobs/JV00002/run'),
  'runJob 202 example': async ({ withoutFiles }) => {
    const { jobId } = await withoutFiles.uploadFeed(springFile);
    return withoutFiles.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
  },
  'runJob 400 submission_job': ({ api }) => api.post('/jobs/JS00001/run'),
  'runJob 422 not_replace': ({ api }) => api.post('/jobs/JV00001/run?max_withdrawn=3214'),
  'runJob 422 negative': ({ api }) => api.post('/jobs/JV00001/run?max_withdrawn=-1'),
  'runJob 404 example': ({ api }) => api.post('/jobs/JV00099/run'),
  'runJob 409 running': async () => {
    const service = await startService();
    const feed = await service.api.uploadFeed(springFile);
    // It is running as long as its lock is held.
    await leaveRunning(service, feed);
    const run = await service.db.transaction();
    await lockJob(run, 1);
    const answer = await service.api.post(`/jobs/${feed.jobId}/run`);
    await run.rollback();
    return answer;
  },

  'runJob 409 waiting': async () => {
    // The only slot is in use by another run.
    const narrow = await startService({ queuedRuns: 1 });
    const feed = await narrow.api.uploadFeed(springFile);
    const other = await narrow.api.uploadFeed(springFile, 'Other');
    const run = () => narrow.api.post(`/jobs/${feed.jobId}/run`);
    let waiting: Promise<ApiResponse> | undefined;
    let answer: ApiResponse | undefined;
    await whileLoading(narrow, other, async () => {
      waiting = run();
      await eventually('the run waits', async () => {
        const { message } = (await narrow.api.get(`/jobs/${feed.jobId}`)).body;
        return (message as string).includes('It starts automatically');
      });
      answer = await run();
    });
    await waiting;
    return answer!;
  },

  'runJob 409 cancelled': async () => {
    const { api } = await startService();
    await api.uploadFeed(springFile);
    const { jobId } = await api.uploadFeed(springFile);
    const answer = api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async, wait=60' });
    await eventually('the run is queued', async () => {
      const { body } = await api.get(`/jobs/${jobId}`);
      return body.queued_at !== undefined;
    });
    await api.post(`/jobs/${jobId}/cancel`);
    return answer;
  },

  'cancelJob 200 example': async ({ withoutFiles }) => {
    const { jobId } = await withoutFiles.uploadFeed(springFile);
    await withoutFiles.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
    return withoutFiles.post(`/jobs/${jobId}/cancel`);
  },
  'cancelJob 202 example': async ({ service, api }) => {
    const feed = await api.uploadFeed(springFile, 'Tents & Co');
    jest.replaceProperty(cancelLimits, 'waitMilliseconds', 0);
    // The example has no progress yet.
    jest.replaceProperty(progressReports, 'intervalMilliseconds', 60_000);
    let answer: ApiResponse | undefined;
    await whileReading(service, feed, async () => {
      answer = await api.post(`/jobs/${feed.jobId}/cancel`);
    });
    return answer!;
  },
  'cancelJob 400 submission_job': ({ api }) => api.post('/jobs/JS00001/cancel'),
  'cancelJob 404 example': ({ api }) => api.post('/jobs/JV00099/cancel'),
  'cancelJob 409 example': ({ api }) => api.post('/jobs/JV00001/cancel'),

  'listJobIssues 200 issues': ({ api }) => api.get('/jobs/JV00001/issues'),
  'listJobIssues 200 removed': ({ pruned }) => pruned.get('/jobs/JV00001/issues'),
  'listJobIssues 400 invalid_cursor': ({ api }) => api.get('/jobs/JV00001/issues?cursor=x'),
  'listJobIssues 404 example': ({ api }) => api.get('/jobs/JV00099/issues'),
  'listJobIssues 422 example': ({ api }) => api.get('/jobs/JV00001/issues?limit=5000'),

  'listJobRuns 200 runs': ({ api }) => api.get('/jobs/JV00001/runs'),
  'listJobRuns 200 none': ({ api }) => api.get('/jobs/JV00002/runs'),
  'listJobRuns 400 invalid_cursor': ({ api }) => api.get('/jobs/JV00001/runs?cursor=x'),
  'listJobRuns 404 example': ({ api }) => api.get('/jobs/JV00099/runs'),
  'listJobRuns 422 example': ({ api }) => api.get('/jobs/JV00001/runs?limit=101'),

  'listRunChanges 200 load': ({ api }) => api.get('/jobs/JV00001/changes?run=1&limit=1'),
  'listRunChanges 200 failed': async ({ api }) => {
    const { jobId } = await api.loadFeed(unclosed);
    return api.get(`/jobs/${jobId}/changes?run=1`);
  },
  'listRunChanges 400 invalid_cursor': ({ api }) => api.get('/jobs/JV00001/changes?run=1&cursor=x'),
  'listRunChanges 404 unknown_job': ({ api }) => api.get('/jobs/JV00099/changes?run=1'),
  'listRunChanges 404 unknown_run': ({ api }) => api.get('/jobs/JV00001/changes?run=99'),
  'listRunChanges 422 example': ({ api }) => api.get('/jobs/JV00001/changes?run=0'),

  'revertRun 200 completed': () => revertOf(1),
  'revertRun 200 dry_run': () => revertOf(2, { query: '&dry_run=true' }),
  'revertRun 202 example': () => revertOf(1, { headers: { prefer: 'respond-async' } }),
  'revertRun 400 invalid_cursor': ({ api }) => api.post('/jobs/JV00001/revert?run=1&dry_run=true&cursor=x'),
  'revertRun 404 unknown_job': ({ api }) => api.post('/jobs/JV00099/revert?run=1'),
  'revertRun 404 unknown_run': ({ api }) => api.post('/jobs/JV00001/revert?run=99'),
  'revertRun 409 conflicts': () => revertOf(2),
  'revertRun 409 not_completed': () =>
    revertOf(4, { before: async ({ api }) => await api.loadFeed(unclosed) }),
  'revertRun 409 reverted': () =>
    revertOf(1, {
      before: async ({ api }) => {
        await api.post('/jobs/JV00001/revert?run=1');
      },
    }),
  'revertRun 409 history_not_kept': ({ pruned }) => pruned.post('/jobs/JV00001/revert?run=1'),
  'revertRun 409 running': () =>
    revertOf(1, {
      before: (service) => leaveRunning(service, { jobId: 'JV00001' }),
    }),
  'revertRun 409 waiting': () =>
    revertOf(1, {
      before: async ({ api }) => await api.post('/jobs/JV00001/run', undefined, { prefer: 'respond-async' }),
    }),
  'revertRun 422 example': ({ api }) => api.post('/jobs/JV00001/revert?run=0'),

  'planJob 200 completed': ({ api }) => api.post('/jobs/JV00002/plan'),
  'planJob 200 failed': async ({ api }) => {
    const { jobId } = await api.uploadFeed(unclosed);
    return api.post(`/jobs/${jobId}/plan`);
  },
  'planJob 200 updates': ({ api }) =>
    api.post('/jobs/JV00002/plan?sort_by=price_change&action=update&limit=1'),
  'planJob 400 submission_job': ({ api }) => api.post('/jobs/JS00001/plan'),
  'planJob 400 invalid_cursor': ({ api }) => api.post('/jobs/JV00001/plan?cursor=x'),
  'planJob 404 example': ({ api }) => api.post('/jobs/JV00099/plan'),
  'planJob 422 example': ({ api }) => api.post('/jobs/JV00001/plan?limit=5000'),

  'downloadJobRejects 200 example': ({ api }) => api.get('/jobs/JV00001/rejects.csv'),
  'downloadJobRejects 404 example': ({ api }) => api.get('/jobs/JV00099/rejects.csv'),
  'downloadJobRejects 409 no_run': ({ api }) => api.get('/jobs/JV00002/rejects.csv'),
  'downloadJobRejects 409 no_raw_file': ({ withoutFiles }) => withoutFiles.get('/jobs/JV00001/rejects.csv'),

  'listProducts 200 page': ({ api }) => api.get('/products?partner_name=Acme%20Outdoor'),
  'listProducts 200 more': ({ api }) => api.get('/products?sort_by=product_id&cursor=PR00003&limit=1'),
  'listProducts 200 empty': ({ api }) => api.get('/products?partner_name=Unknown'),
  'listProducts 400 invalid_sort_by': ({ api }) => api.get('/products?sort_by=colour'),
  'listProducts 400 invalid_order': ({ api }) => api.get('/products?order=up'),
  'listProducts 400 cursor_with_other_sort': ({ api }) => api.get('/products?sort_by=price&cursor=PR00001'),
  'listProducts 400 invalid_cursor': ({ api }) => api.get('/products?cursor=x'),
  'listProducts 422 not_an_integer': ({ api }) => api.get('/products?limit=ten'),
  'listProducts 422 too_large': ({ api }) => api.get('/products?limit=101'),

  'listProducts 422 too_many_words': ({ api }) =>
    api.get('/products?q=one%20two%20three%20four%20five%20six%20seven%20eight%20nine'),
  'listProducts 422 word_too_short': ({ api }) => api.get('/products?q=2%20pers'),

  'listProducts 410 example': ({ pruned }) =>
    pruned.get('/products?partner_name=Acme%20Outdoor&as_of=2026-02-15T00:00:00Z'),
  'listProducts 422 future': ({ api }) => api.get('/products?partner_name=x&as_of=2126-03-01T00:00:00Z'),
  'listProducts 422 as_of_of_all_partners': ({ api }) => api.get('/products?as_of=2026-03-01T00:00:00Z'),
  'listProducts 422 as_of_in_other_order': ({ api }) =>
    api.get('/products?partner_name=x&as_of=2026-03-01T00:00:00Z&sort_by=price&order=desc&q=tent'),

  'getQueue 200 waiting': async () => {
    // The service has no worker.
    const { api } = await startService();
    const { jobId } = await api.uploadFeed(springFile);
    await api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
    return api.get('/queue');
  },
  'getQueue 200 empty': ({ pruned }) => pruned.get('/queue'),
  'getQueue 400 example': ({ api }) => api.get('/queue?cursor=%00'),
  'getQueue 422 example': ({ api }) => api.get('/queue?limit=101'),

  'listFormats 200 first': ({ api }) => api.get('/formats?limit=1'),
  'listFormats 200 of_partner': async ({ api }) => {
    await putWeekly(api);
    return api.get('/formats?partner_name=Acme%20Outdoor');
  },
  'listFormats 200 empty': ({ api }) => api.get('/formats?partner_name=Unknown'),
  'listFormats 400 invalid_cursor': ({ api }) => api.get('/formats?cursor=%00'),
  'listFormats 422 not_an_integer': ({ api }) => api.get('/formats?limit=ten'),
  'listFormats 422 too_large': ({ api }) => api.get('/formats?limit=101'),
  'getFormat 200 example': async ({ api }) => {
    await putWeekly(api);
    return api.get(weeklyPath);
  },
  'getFormat 404 unknown_format': ({ api }) => api.get(formatPath(partnerName, 'unknown')),
  'getFormat 404 unknown_partner': ({ api }) => api.get(formatPath('Unknown', 'unknown')),
  'replaceFormat 200 example': ({ api }) => putWeekly(api),
  'replaceFormat 400 malformed_json': ({ api }) =>
    api.send('PUT', weeklyPath, { headers: { 'content-type': 'application/json' }, body: '{' }),
  'replaceFormat 409 example': async ({ service, api }) => {
    await api.send('DELETE', weeklyPath);
    await service.db.raw(
      `insert into partner_formats (partner_id, format_name, definition)
       select partner_id, 'many-' || n, '{"columns":{"sku":{"from":["sku"]}}}'
       from partners, generate_series(1, 100) as n where partner_name = ?`,
      [partnerName],
    );
    const response = await putWeekly(api);
    await service.db('partner_formats').whereLike('format_name', 'many-%').delete();
    return response;
  },
  'replaceFormat 422 faults': ({ api }) =>
    putFormat(api, partnerName, 'weekly-price-list', {
      decimal_separator: 'komma',
      columns: {
        sku: { from: ['Artikelnummer'] },
        preis: { from: ['Preis'] },
        currency: { from: ['Währung'], value: 'EUR' },
      },
    }),
  'replaceFormat 422 built_in': ({ api }) => putFormat(api, partnerName, 'shopify'),
  'replaceFormat 422 no_body': ({ api }) => api.send('PUT', weeklyPath),
  'deleteFormat 200 example': async ({ api }) => {
    await putWeekly(api);
    return api.send('DELETE', weeklyPath);
  },
  'deleteFormat 404 unknown_format': ({ api }) => api.send('DELETE', formatPath(partnerName, 'unknown')),
  'deleteFormat 404 unknown_partner': ({ api }) => api.send('DELETE', formatPath('Unknown', 'unknown')),
  'deleteFormat 409 example': async ({ api }) => {
    await putFormat(api, 'Naming', 'weekly');
    await putSource(api, 'Naming', 'daily-export', { ...exampleSource, format: 'weekly' });
    return api.send('DELETE', formatPath('Naming', 'weekly'));
  },
  'listSources 200 of_partner': async ({ api }) => {
    await putExampleSource(api);
    return api.get('/sources?partner_name=Acme%20Outdoor');
  },
  'listSources 200 empty': ({ api }) => api.get('/sources?partner_name=Unknown'),
  'listSources 400 invalid_cursor': ({ api }) => api.get('/sources?cursor=%00'),
  'listSources 422 not_an_integer': ({ api }) => api.get('/sources?limit=ten'),
  'listSources 422 too_large': ({ api }) => api.get('/sources?limit=101'),
  'getSource 200 example': async ({ api }) => {
    await putExampleSource(api);
    return api.get(exampleSourcePath);
  },
  'getSource 404 unknown_source': ({ api }) => api.get(sourcePath(partnerName, 'unknown')),
  'getSource 404 unknown_partner': ({ api }) => api.get(sourcePath('Unknown', 'unknown')),
  'replaceSource 200 example': ({ api }) => putExampleSource(api),
  'replaceSource 400 malformed_json': ({ api }) =>
    api.send('PUT', exampleSourcePath, { headers: { 'content-type': 'application/json' }, body: '{' }),
  'replaceSource 409 example': async ({ service, api }) => {
    await api.send('DELETE', exampleSourcePath);
    await service.db.raw(
      `insert into sources (partner_id, source_name, definition)
       select partner_id, 'many-' || n, '{"url":"https://a.example/"}'
       from partners, generate_series(1, 100) as n where partner_name = ?`,
      [partnerName],
    );
    const response = await putExampleSource(api);
    await service.db('sources').whereLike('source_name', 'many-%').delete();
    return response;
  },
  'replaceSource 422 faults': ({ api }) =>
    putSource(api, partnerName, 'daily-export', {
      url: 'ftp://feeds.acme.example/products.csv',
      schedule: { cron: '*/5 * * * *' },
    }),
  'replaceSource 422 unknown_format': ({ api }) =>
    putSource(api, partnerName, 'daily-export', { ...exampleSource, format: 'unknown' }),
  'replaceSource 422 no_body': ({ api }) => api.send('PUT', exampleSourcePath),
  'deleteSource 200 example': async ({ api }) => {
    await putExampleSource(api);
    return api.send('DELETE', exampleSourcePath);
  },
  'deleteSource 404 unknown_source': ({ api }) => api.send('DELETE', sourcePath(partnerName, 'unknown')),
  'deleteSource 404 unknown_partner': ({ api }) => api.send('DELETE', sourcePath('Unknown', 'unknown')),
  'fetchSource 202 example': async ({ api }) => {
    await api.send('DELETE', exampleSourcePath);
    await putExampleSource(api);
    return api.post(`${exampleSourcePath}/fetch`);
  },
  'fetchSource 404 unknown_source': ({ api }) => api.post(`${sourcePath(partnerName, 'unknown')}/fetch`),
  'fetchSource 404 unknown_partner': ({ api }) => api.post(`${sourcePath('Unknown', 'unknown')}/fetch`),
  'listSourceFetches 200 fetched': async ({ service, api }) => {
    await putSource(api, partnerName, 'fetched', exampleSource);
    await service.db.raw(
      `insert into source_fetches (source_id, fetch_number, status, slot_at, started_at, finished_at, attempts, http_status,
         feed_id)
       select source_id, 1, 'completed', '2026-03-02T04:30:00Z', now(), now(), 1, 200, 1 from sources
       where source_name = 'fetched'`,
    );
    const response = await api.get(`${sourcePath(partnerName, 'fetched')}/fetches`);
    await api.send('DELETE', sourcePath(partnerName, 'fetched'));
    return response;
  },
  'listSourceFetches 200 empty': async ({ api }) => {
    await api.send('DELETE', exampleSourcePath);
    await putExampleSource(api);
    return api.get(`${exampleSourcePath}/fetches`);
  },
  'listSourceFetches 400 invalid_cursor': ({ api }) => api.get(`${exampleSourcePath}/fetches?cursor=x`),
  'listSourceFetches 404 unknown_source': ({ api }) =>
    api.get(`${sourcePath(partnerName, 'unknown')}/fetches`),
  'listSourceFetches 404 unknown_partner': ({ api }) =>
    api.get(`${sourcePath('Unknown', 'unknown')}/fetches`),
  'listSourceFetches 422 example': ({ api }) => api.get(`${exampleSourcePath}/fetches?limit=101`),
  'listPartners 200 page': async (state) => {
    await loadFirstPartner(state);
    return state.api.get('/partners?limit=1');
  },
  'listPartners 200 attention': async (state) => {
    await failFirstRuns(state);
    return state.api.get('/partners?sort_by=attention&limit=1&q=cedar');
  },
  'listPartners 200 empty': ({ api }) => api.get('/partners?q=Unknown'),
  'listPartners 400 example': ({ api }) => api.get('/partners?cursor=%00'),
  'listPartners 422 unknown_order': ({ api }) => api.get('/partners?sort_by=products'),
  'listPartners 422 not_an_integer': ({ api }) => api.get('/partners?limit=ten'),
  'listPartners 422 too_large': ({ api }) => api.get('/partners?limit=101'),
  'getPartner 200 loaded': async (state) => {
    await loadFirstPartner(state);
    return state.api.get('/partners/A%20First%20Partner');
  },
  'getPartner 200 failed': async (state) => {
    await failFirstRuns(state);
    return state.api.get('/partners/Cedar%20Camping');
  },
  'getPartner 404 example': ({ api }) => api.get('/partners/Unknown'),
  'downloadPartnerProducts 200 example': async ({ api }) => {
    await api.loadFeed(springFile, 'Exporting');
    return api.get('/partners/Exporting/products.csv');
  },
  'downloadPartnerProducts 422 unknown_format': ({ api }) =>
    api.get('/partners/Acme%20Outdoor/products.csv?format=weekly'),
  'downloadPartnerProducts 422 not_in_format': async ({ api }) => {
    const columns = { sku: { from: ['sku'] }, product_name: { from: ['name'] }, currency: { value: 'USD' } };
    await putFormat(api, partnerName, 'dollars', { columns });
    return api.get('/partners/Acme%20Outdoor/products.csv?format=dollars');
  },
  'downloadPartnerProducts 404 example': ({ api }) => api.get('/partners/Unknown/products.csv'),
  'listProductFacets 200 values': ({ api }) =>
    api.get('/products/facets?field=category&partner_name=Acme%20Outdoor'),
  'listProductFacets 200 empty': ({ api }) => api.get('/products/facets?partner_name=Unknown'),
  'listProductFacets 422 unknown_field': ({ api }) => api.get('/products/facets?field=price'),
  'listProductFacets 422 word_too_short': ({ api }) => api.get('/products/facets?q=2%20pers'),

  'getProduct 200 active': ({ api }) => api.get('/products/PR00001'),
  'getProduct 200 withdrawn': async ({ api }) => {
    await api.post('/products/PR00003/withdraw');
    return api.get('/products/PR00003');
  },
  'getProduct 404 example': ({ api }) => api.get('/products/PR00099'),
  'getProduct 410 example': ({ pruned }) => pruned.get('/products/PR00001?as_of=2026-02-15T00:00:00Z'),
  'getProduct 422 future': ({ api }) => api.get('/products/PR00001?as_of=2126-03-01T00:00:00Z'),
  'getProduct 422 not_a_time': ({ api }) => api.get('/products/PR00001?as_of=2026-03-01'),

  'listProductHistory 200 versions': async ({ service, api }) => {
    const first = await api.uploadFeed(springFile, 'Historian');
    const { 'TENT-2': id } = await writeHistory(service, first, [
      { at: '2026-03-01T09:31:00.123456Z', write: [tentAt('189.90')] },
      { at: '2026-03-02T09:31:00.654321Z', write: [tentAt('179.90')] },
    ]);
    return api.get(`/products/${id}/history`);
  },
  'listProductHistory 200 withdrawn': async ({ service, api }) => {
    const feed = await api.uploadFeed(springFile, 'Withdrawing');
    const { 'TENT-2': id } = await writeHistory(service, feed, [
      { at: '2026-03-01T09:31:00.123456Z', write: [tentAt('189.90')] },
      { at: '2026-03-05T09:31:00.000123Z', withdraw: ['TENT-2'], isSingle: true },
    ]);
    return api.get(`/products/${id}/history?limit=1`);
  },
  'listProductHistory 400 invalid_cursor': ({ api }) => api.get('/products/PR00001/history?cursor=x'),
  'listProductHistory 404 example': ({ api }) => api.get('/products/PR00099/history'),
  'listProductHistory 422 example': ({ api }) => api.get('/products/PR00001/history?limit=101'),

  'getProductPrices 200 reduced': async ({ service, api }) => {
    const feed = await api.uploadFeed(springFile, 'Reducing');
    const { 'TENT-2': id } = await writeHistory(service, feed, [
      { at: '2026-02-01T09:31:00Z', write: [tentAt('179.90')] },
      { at: '2026-03-10T09:31:00Z', write: [tentAt('189.90')] },
      { at: '2026-03-20T09:31:00Z', write: [tentAt('159.90')] },
    ]);
    return api.get(`/products/${id}/prices`);
  },
  'getProductPrices 200 new': async ({ service, api }) => {
    const feed = await api.uploadFeed(springFile, 'Beginning');
    const { 'TENT-2': id } = await writeHistory(service, feed, [
      { at: '2026-03-01T09:31:00.123456Z', write: [tentAt('24.50')] },
    ]);
    return api.get(`/products/${id}/prices`);
  },
  'getProductPrices 404 example': ({ api }) => api.get('/products/PR00099/prices'),
  'getProductPrices 422 example': ({ api }) => api.get('/products/PR00001/prices?days=1000'),

  'getProductSource 200 record': ({ api }) => api.get('/products/PR00001/source'),
  'getProductSource 200 file_removed': ({ pruned }) => pruned.get('/products/PR00001/source'),
  'getProductSource 404 example': ({ api }) => api.get('/products/PR00099/source'),

  'withdrawProduct 200 example': ({ api }) => api.post('/products/PR00003/withdraw'),
  'withdrawProduct 404 example': ({ api }) => api.post('/products/PR00099/withdraw'),

  'listProductsByFeed 200 page': ({ api }) => api.get('/products/by-feed/FD00001?limit=1'),
  'listProductsByFeed 200 empty': ({ api }) => api.get('/products/by-feed/FD00099'),
  'listProductsByFeed 400 invalid_cursor': ({ api }) => api.get('/products/by-feed/FD00001?cursor=x'),
  'listProductsByFeed 422 not_an_integer': ({ api }) => api.get('/products/by-feed/FD00001?limit=ten'),
  'listProductsByFeed 422 too_large': ({ api }) => api.get('/products/by-feed/FD00001?limit=101'),

  'createOrder 201 example': ({ api }) =>
    api.post('/orders', { customer_reference: 'PO-2026-0815', ...orderOf('PR00001', 'PR00002') }),
  'createOrder 400 no_items': ({ api }) => api.post('/orders', orderOf()),
  'createOrder 400 mixed_currencies': ({ api }) => api.post('/orders', orderOf('PR00001', 'PR00004')),
  'createOrder 400 malformed_json': ({ api }) =>
    api.send('POST', '/orders', { headers: { 'content-type': 'application/json' }, body: '{' }),
  'createOrder 404 example': ({ api }) => api.post('/orders', orderOf('PR00099')),
  'createOrder 409 not_available': ({ api }) => api.post('/orders', orderOf('PR00003')),
  'createOrder 409 in_progress': ({ service, api }) =>
    whileKeyIsHeld(service, () => api.post('/orders', orderOf('PR00001'), { 'idempotency-key': 'held' })),
  'createOrder 422 wrong_key': ({ api }) =>
    api.post('/orders', orderOf('PR00001'), { 'idempotency-key': '' }),
  'createOrder 422 used_key': async ({ api }) => {
    const headers = { 'idempotency-key': 'used for an order' };
    await api.post('/orders', orderOf('PR00001'), headers);
    return api.post('/orders', orderOf('PR00002'), headers);
  },
  'createOrder 422 quantity': ({ api }) =>
    api.post('/orders', { partner_name: partnerName, items: [{ product_id: 'PR00001', quantity: 0 }] }),
  'createOrder 422 lone_surrogate': ({ api }) =>
    api.send('POST', '/orders', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...orderOf('PR00001'), customer_reference: 'PO-\ud800' }),
    }),
  'createOrder 422 missing_field': ({ api }) => api.post('/orders', { items: orderOf('PR00001').items }),
  'createOrder 422 no_body': ({ api }) => api.post('/orders'),

  'listOrders 200 example': ({ api }) => api.get('/orders?limit=1&partner_name=Birch%20%26%20Sons'),
  'listOrders 400 example': ({ api }) => api.get('/orders?cursor=x'),
  'listOrders 422 not_an_integer': ({ api }) => api.get('/orders?limit=ten'),
  'listOrders 422 too_large': ({ api }) => api.get('/orders?limit=101'),
  'listOrders 422 not_a_date': ({ api }) => api.get('/orders?from=2026-02-30'),
  'listOrders 422 reversed_range': ({ api }) => api.get('/orders?from=2026-03-01&to=2026-03-01'),
  'getOrder 200 example': ({ api }) => api.get('/orders/OR00001'),
  'getOrder 404 example': ({ api }) => api.get('/orders/OR00099'),
  'getOrderItemSource 200 example': ({ api }) => api.get('/orders/OR00001/items/OI00001/source'),
  'getOrderItemSource 404 unknown_order': ({ api }) => api.get('/orders/OR00099/items/OI00001/source'),
  'getOrderItemSource 404 unknown_item': ({ api }) => api.get('/orders/OR00001/items/OI00099/source'),

  'getSalesByPartner 200 example': ({ api }) => api.get('/analytics/sales-by-partner'),
  'getSalesByPartner 422 invalid_currency': ({ api }) => api.get('/analytics/sales-by-partner?currency=eur'),
  'getSalesByPartner 422 not_a_date': ({ api }) => api.get('/analytics/sales-by-partner?from=2026-02-30'),
  'getSalesByPartner 422 reversed_range': ({ api }) =>
    api.get('/analytics/sales-by-partner?from=2026-03-01&to=2026-03-01'),
  'getSalesOverTime 200 daily': ({ api }) => api.get('/analytics/sales-over-time'),
  'getSalesOverTime 200 monthly': ({ api }) => api.get('/analytics/sales-over-time?grain=monthly'),
  'getSalesOverTime 422 invalid_grain': ({ api }) => api.get('/analytics/sales-over-time?grain=weekly'),
  'getSalesOverTime 422 invalid_currency': ({ api }) => api.get('/analytics/sales-over-time?currency=eur'),
  'getSalesOverTime 422 not_a_date': ({ api }) => api.get('/analytics/sales-over-time?from=2026-02-30'),
  'getSalesOverTime 422 reversed_range': ({ api }) =>
    api.get('/analytics/sales-over-time?from=2026-03-01&to=2026-03-01'),
  'getRevenueShare 200 example': ({ api }) => api.get('/analytics/revenue-share'),
  'getSkippedRows 200 example': ({ api }) => api.get('/analytics/skipped-rows'),
  'getSkippedRows 422 not_a_date': ({ api }) => api.get('/analytics/skipped-rows?from=2026-02-30'),
  'getSkippedRows 422 reversed_range': ({ api }) =>
    api.get('/analytics/skipped-rows?from=2026-03-01&to=2026-03-01'),
  'getRevenueShare 422 invalid_currency': ({ api }) => api.get('/analytics/revenue-share?currency=eur'),
  'getRevenueShare 422 not_a_date': ({ api }) => api.get('/analytics/revenue-share?from=2026-02-30'),
  'getRevenueShare 422 reversed_range': ({ api }) =>
    api.get('/analytics/revenue-share?from=2026-03-01&to=2026-03-01'),
  'getSalesByProduct 200 example': ({ api }) =>
    api.get('/analytics/sales-by-product?partner_name=Acme%20Outdoor'),
  'getSalesByProduct 422 too_large': ({ api }) => api.get('/analytics/sales-by-product?limit=201'),
  'getSalesByProduct 422 invalid_currency': ({ api }) => api.get('/analytics/sales-by-product?currency=eur'),
  'getSalesByProduct 422 not_a_date': ({ api }) => api.get('/analytics/sales-by-product?from=2026-02-30'),
  'getSalesByProduct 422 reversed_range': ({ api }) =>
    api.get('/analytics/sales-by-product?from=2026-03-01&to=2026-03-01'),

  ...webhookReplays,
  'listWebhooks 200 healthy': ({ api }) => api.get('/webhooks'),
  'listWebhooks 200 empty': ({ limited }) => limited.get('/webhooks'),
  'listWebhooks 400 invalid_cursor': ({ api }) => api.get('/webhooks?cursor=x'),
  'listWebhooks 422 example': ({ api }) => api.get('/webhooks?limit=101'),
  'listWebhookDeliveries 200 delivered': async ({ service, api }) => {
    for (const messageId of ['msg_1', 'msg_2']) {
      await service.db('webhook_outcomes').insert({
        webhook_endpoint_id: 1,
        message_id: messageId,
        event_type: 'job.completed',
        // Later than every other event.
        happened_at: '2100-01-01T00:00:00Z',
        content: '{}',
        attempts: 1,
        status: 'delivered',
        last_result: 'HTTP 204',
      });
    }
    return api.get('/webhooks/1/deliveries?limit=1');
  },
  'listWebhookDeliveries 200 empty': ({ pruned }) => pruned.get('/webhooks/1/deliveries'),
  'listWebhookDeliveries 400 invalid_cursor': ({ api }) => api.get('/webhooks/1/deliveries?cursor=x'),
  'listWebhookDeliveries 404 example': ({ api }) => api.get('/webhooks/99/deliveries'),
  'listWebhookDeliveries 422 example': ({ api }) => api.get('/webhooks/1/deliveries?limit=101'),

  'getHealth 200 healthy': ({ api }) => api.get('/health'),
  'getHealth 200 unhealthy': ({ withoutDatabase }) => withoutDatabase.get('/health'),
};

const weeklyPath = formatPath(partnerName, 'weekly-price-list');

function putWeekly(api: ApiClient): Promise<ApiResponse> {
  return sendExample(
    api,
    operations.find(({ operationId }) => operationId === 'replaceFormat')!,
  );
}

/** The source of the document's examples, without its secrets. */
const exampleSource = { url: 'https://feeds.acme.example/export/products.csv' };
const exampleSourcePath = sourcePath(partnerName, 'daily-export');

function putExampleSource(api: ApiClient): Promise<ApiResponse> {
  return sendExample(
    api,
    operations.find(({ operationId }) => operationId === 'replaceSource')!,
  );
}

function ofEveryOperation(): Record<string, Replay> {
  const byStatus: Record<string, (operation: Operation, state: State) => Promise<ApiResponse>> = {
    401: (operation, { api }) => sendExample(api.withKey('wrong'), operation),
    403: (operation, { limited }) => sendExample(limited, operation),
    410: (operation, { pruned }) => sendExample(pruned, operation),
    408: ({ method, path }, { impatientUrl }) =>
      sendOpen(impatientUrl, { method, path, chunks: ['{'], headers: { 'content-length': 100 } }),
    413: ({ method, path }, { service }) =>
      sendOpen(service.url, { method, path, headers: { 'content-length': 2 * 1024 ** 3 } }),
    415: ({ method, path }, { api }) =>
      api.send(method, path, { headers: { 'content-type': 'text/plain' }, body: 'x' }),
    422: ({ method, examplePath, exampleBody }, { api }) => {
      const { headers, body } = exampleBody();
      return api.send(method, withQuery(examplePath, 'partnername=Acme%20Outdoor'), {
        headers: { ...(headers as object), prefer: 'handling=strict' },
        body,
      });
    },
    429: (operation, { exhausted }) => sendExample(exhausted, operation),
    500: (operation, { failing }) => sendExample(failing, operation),
    503: (operation, { draining }) => sendExample(draining, operation),
  };
  const entries = operations.flatMap((operation) =>
    documentedResponses
      .filter(({ operationId }) => operationId === operation.operationId)
      .flatMap(({ status, examples }) =>
        Object.keys(examples).map((name): [string, Replay | undefined] => {
          const send = byStatus[status];
          const isPath = status === 400 && operation.path.includes('{');
          if (isPath && (name === 'malformed_path' || name === 'example')) {
            return [`${operation.operationId} 400 ${name}`, ({ api }) => sendHalfCharacter(api, operation)];
          }
          if (status === 403 && JSON.stringify(examples[name]).includes('read-only')) {
            const sendReadOnly: Replay = ({ readOnly }) => sendExample(readOnly, operation);
            return [`${operation.operationId} 403 ${name}`, sendReadOnly];
          }
          return [
            `${operation.operationId} ${status} ${name}`,
            send && ((state: State) => send(operation, state)),
          ];
        }),
      ),
  );
  return Object.fromEntries(entries.filter((entry): entry is [string, Replay] => entry[1] !== undefined));
}

/**
 * Reverts run 1 of a job. The first feed has a tent, the second changes its price and adds a lamp, the third changes the price.
 */
async function revertOf(
  job: number,
  {
    query = '',
    headers = {},
    before,
  }: {
    query?: string;
    headers?: Record<string, string>;
    before?: (service: TestService) => Promise<unknown>;
  } = {},
): Promise<ApiResponse> {
  const service = await startService();
  const header = 'sku,product_name,price\n';
  await service.api.loadFeed(`${header}TENT-2,Two-person tent,189.90\n`);
  if (job > 1) {
    await service.api.loadFeed(`${header}TENT-2,Two-person tent,179.90\nLAMP-1,Head lamp,24.50\n`);
    await service.api.loadFeed(`${header}TENT-2,Two-person tent,169.90\n`);
  }
  await before?.(service);
  return service.api.post(`/jobs/JV0000${job}/revert?run=1${query}`, undefined, headers);
}

function sendExample(api: ApiClient, { method, examplePath, exampleBody }: Operation): Promise<ApiResponse> {
  return api.send(method, examplePath, exampleBody());
}

function sendHalfCharacter(api: ApiClient, { method, path }: Operation): Promise<ApiResponse> {
  return api.send(method, path.replace(/\{.+?\}/, '%E0%A4%A'));
}

function uploadWithKey(api: ApiClient, key: string, csv: string): Promise<ApiResponse> {
  const body = new FormData();
  body.set('partner_name', partnerName);
  body.set('file', new Blob([csv], { type: 'text/csv' }), 'feed.csv');
  return api.send('POST', '/feeds/upload', { headers: { 'idempotency-key': key }, body });
}

async function uploadWhilePartnerIsRemoved({ service }: State): Promise<ApiResponse> {
  await service.api.uploadFeed(springFile, 'Leaving');
  const body = formBody([partnerPart('Leaving'), filePart(springFile.padEnd(1_000_000))]);
  const upload = new OpenUpload(service);
  await upload.write(body.subarray(0, -100));
  await eventually('the file is being stored', () => openFiles(service.dataDir).length > 0);
  await removePartner(service.db, 'Leaving');
  await upload.write(body.subarray(-100));
  upload.end();
  return upload.response;
}

/** Sends a request while another one uses the key `held`. */
async function whileKeyIsHeld({ db }: TestService, send: () => Promise<ApiResponse>): Promise<ApiResponse> {
  const claim = await db.transaction();
  const apiKeyDigest = createHash('sha256').update(testKey).digest();
  await claimKey(claim, { apiKeyDigest, text: 'held' });
  const answer = await send();
  await claim.rollback();
  return answer;
}

function postForm(api: ApiClient, path: string, body: string): Promise<ApiResponse> {
  return api.send('POST', path, { headers: { 'content-type': formType }, body });
}

/** Sends a request whose body never ends. */
async function sendOpen(url: string, request: RawRequest): Promise<ApiResponse> {
  const type = /^\/feeds\//.test(request.path) ? formType : 'application/json';
  const headers = { 'x-api-key': testKey, 'content-type': type, ...request.headers };
  const answer = await sendRaw(url, { ...request, headers, unfinished: true });
  return {
    status: answer.status,
    headers: new Headers(Object.entries(answer.headers) as [string, string][]),
    body: JSON.parse(answer.text) as unknown,
  };
}
