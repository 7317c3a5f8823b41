import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import createClient from 'openapi-fetch';
import type { components, paths } from '../../generated/openapi';
import {
  exportedNames,
  generate,
  generators,
  isInvented,
  nameProblems,
  prepareFolder,
} from '../../scripts/sdks';
import { afterFile, createTestFolder, project } from '../support/harness';
import { startTestService, testKey } from '../support/service';

type Schemas = components['schemas'];

/** The feed that all clients upload: one row is valid, one is not. */
const csv = 'sku,product_name,price,currency\nTENT-2,Two-person tent,189.90,EUR\nLAMP-1,Head lamp,NA,EUR\n';
const partnerName = 'Acme Outdoor';
const file = () => new File([csv], 'spring.csv', { type: 'text/csv' });

function expectTheStory(story: {
  receipt: Schemas['FeedReceipt'];
  job: Schemas['Job'];
  products: Schemas['ProductList'];
  order: Schemas['Order'];
  rejects: string;
  unknown: unknown;
}): void {
  expect(story.receipt).toMatchObject({ feed_id: 'FD00001', validation_status: 'queued' });
  expect(story.job).toMatchObject({ status: 'completed', summary: { inserted: 1, skipped: 1 } });
  expect(story.products.items).toMatchObject([{ sku: 'TENT-2', price: 189.9, currency: 'EUR' }]);
  expect(story.order).toMatchObject({ total_amount: 379.8, items: [{ product_id: 'PR00001', quantity: 2 }] });
  expect(story.rejects).toMatch(
    /^_line,_codes,_messages,sku.*\n3,invalid_price,.*LAMP-1,Head lamp,NA,EUR\n$/,
  );
  expect(story.unknown).toEqual({ detail: 'Order not found: OR00099' });
}

describe('a client made by openapi-typescript and openapi-fetch', () => {
  it('uploads, runs, finds the product, orders it, and gets the rejects', async () => {
    const { url } = await startTestService();
    // The types are the committed ones, made by the same generator: here the compiler checks each call.
    const client = createClient<paths>({ baseUrl: url, headers: { 'x-api-key': testKey } });

    const { data: receipt } = await client.POST('/feeds/upload', {
      body: { partner_name: partnerName, file: '' },
      bodySerializer: ({ partner_name }) => {
        const form = new FormData();
        form.set('partner_name', partner_name);
        form.set('file', file());
        return form;
      },
    });
    const path = { job_id: receipt!.validation_job_id };
    const { data: job } = await client.POST('/jobs/{job_id}/run', { params: { path } });
    const { data: products } = await client.GET('/products', {
      params: { query: { partner_name: partnerName, limit: 1, sort_by: 'product_id', order: 'asc' } },
    });
    const { data: order } = await client.POST('/orders', {
      body: {
        partner_name: partnerName,
        items: [{ product_id: products!.items[0]!.product_id, quantity: 2 }],
      },
    });
    const { data: rejects } = await client.GET('/jobs/{job_id}/rejects.csv', {
      params: { path },
      parseAs: 'text',
    });
    const { error: unknown } = await client.GET('/orders/{order_id}', {
      params: { path: { order_id: 'OR00099' } },
    });

    expectTheStory({
      receipt: receipt!,
      job: job!,
      products: products!,
      order: order!,
      rejects: rejects!,
      unknown,
    });
  });
});

/** The part of a hey-api client that the test uses; `make sdks` compiles all of it. */
interface HeyApi {
  uploadFeed: Call<{ body: { partner_name: string; file: File } }, Schemas['FeedReceipt']>;
  runJob: Call<{ path: { job_id: string } }, Schemas['Job']>;
  getJob: Call<{ path: { job_id: string } }, Schemas['Job']>;
  listProducts: Call<{ query: { partner_name: string } }, Schemas['ProductList']>;
  createOrder: Call<{ body: Schemas['OrderRequest'] }, Schemas['Order']>;
  getOrder: Call<{ path: { order_id: string } }, Schemas['Order']>;
  downloadJobRejects: Call<{ path: { job_id: string } }, string>;
}
type Call<Options, Data> = (options: Options) => Promise<{ data?: Data; error?: unknown }>;
interface HeyApiClient {
  client: { setConfig: (config: { baseUrl: string; auth: string }) => void };
}

let heyApiFolder: string;
beforeAll(async () => {
  const folder = join(createTestFolder(), 'clients');
  await prepareFolder(folder, readFileSync(join(project, 'spec', 'openapi.yaml'), 'utf8'));
  await generate(generators.heyApi, folder);
  heyApiFolder = join(folder, generators.heyApi.folder);
});

function useHeyApi(baseUrl: string): HeyApi {
  const { client } = jest.requireActual<HeyApiClient>(join(heyApiFolder, 'client.gen'));
  client.setConfig({ baseUrl, auth: testKey });
  return jest.requireActual<HeyApi>(join(heyApiFolder, 'sdk.gen'));
}

describe('a client made by hey-api', () => {
  it('uploads, runs, finds the product, orders it, and gets the rejects', async () => {
    const { url } = await startTestService();
    const sdk = useHeyApi(url);

    const { data: receipt } = await sdk.uploadFeed({ body: { partner_name: partnerName, file: file() } });
    const path = { job_id: receipt!.validation_job_id };
    const { data: job } = await sdk.runJob({ path });
    const { data: products } = await sdk.listProducts({ query: { partner_name: partnerName } });
    const { data: order } = await sdk.createOrder({
      body: {
        partner_name: partnerName,
        items: [{ product_id: products!.items[0]!.product_id, quantity: 2 }],
      },
    });
    const { data: rejects } = await sdk.downloadJobRejects({ path });
    const { error: unknown } = await sdk.getOrder({ path: { order_id: 'OR00099' } });

    expectTheStory({
      receipt: receipt!,
      job: job!,
      products: products!,
      order: order!,
      rejects: rejects!,
      unknown,
    });
  });
});

describe('a new value of an extensible enum', () => {
  const unknownCode = 'a_code_of_tomorrow';
  const job = {
    job_id: 'JV00001',
    status: 'running',
    issue_counts: [{ code: unknownCode, severity: 'warning', count: 1, first_rows: [] }],
    progress: { phase: 'a_phase_of_tomorrow' },
  };
  let url: string;
  beforeAll(async () => {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify(job));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(() => {
      server.closeAllConnections();
      server.close();
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  it('is parsed by a client made by hey-api', async () => {
    const sdk = useHeyApi(url);

    expect((await sdk.getJob({ path: { job_id: 'JV00001' } })).data).toEqual(job);
  });

  it('is parsed by a client made by openapi-typescript and openapi-fetch', async () => {
    const client = createClient<paths>({ baseUrl: url, headers: { 'x-api-key': testKey } });

    const { data } = await client.GET('/jobs/{job_id}', { params: { path: { job_id: 'JV00001' } } });

    expect(data).toEqual(job);
  });
});

describe('the names of a client', () => {
  const invented = [
    'Inline_response_200_3',
    'InlineObject',
    'Error_2',
    'Response200',
    'Body1',
    'JobSummaryAnyOf',
  ];
  const chosen = ['RunSummary', 'uploadFeed', 'UploadFeedResponses', 'ListProductsParams', 'sha256_of'];

  it.each(invented)('must not be %s', (name) => expect(isInvented(name)).toBe(true));

  it.each(chosen)('may be %s', (name) => expect(isInvented(name)).toBe(false));

  it('are checked against the document', () => {
    const sources = { 'client.ts': 'export type FileSha256 = string;\nexport interface Inline1 {}\n' };
    const client = { generator: generators.oazapfts, seconds: 1, sources };

    expect(exportedNames(sources)).toEqual(['FileSha256', 'Inline1']);
    expect(nameProblems(client, { given: ['FileSha256'], required: ['FileSha256', 'getFeed'] })).toEqual([
      'oazapfts invents the name Inline1: give the schema one.',
      'oazapfts has nothing called getFeed.',
    ]);
  });
});
