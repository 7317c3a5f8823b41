import { indexBacklog } from '../../../src/catalog/products/search-index';
import type { ApiClient, ApiResponse } from '../../support/api-client';
import { operations, parametersOf, withQuery, type Operation } from '../../support/contract';
import { withStoredKey, startTestService, type TestService } from '../../support/service';
import { putSource, sourcePath } from '../../support/source-requests';
import { putWebhook } from '../../support/webhook-requests';
import { putFormat } from '../../support/format-requests';
import { stored } from '../../support/stored-uploads';
import { sendTo } from '../../support/webhooks';

/** Values that identify resources of a partner, by the name of a parameter or field. */
interface PartnerValues {
  values: Record<string, string[]>;
  partnerName: string;
}

const own = 'Own Ltd';
const foreign = 'Foreign GmbH';
/** Matches every text that contains the other partner's mark. */
const foreignMark = /foreign/i;
const refusal = { status: 403, body: { detail: `This API key is limited to partner ${own}.` } };

let service: TestService;
let limited: ApiClient;
let mine: PartnerValues;
let theirs: PartnerValues;
/** Responses to the limited key before the other partner existed. */
let alone: Record<string, unknown>;

beforeAll(async () => {
  service = await startTestService();
  limited = await withStoredKey(service, own);
  mine = await fill(own, 'OWN');
  alone = await responsesOf(limited);
  theirs = await fill(foreign, 'FOREIGN');
});

/** Creates a loaded feed with rejects, one whose run is queued, an order, and a webhook with a delivery. */
async function fill(partnerName: string, mark: string): Promise<PartnerValues> {
  const { api } = service;
  const csv =
    'sku,product_name,description,brand,category,price,currency,availability\n' +
    `${mark}-1,${mark} tent,${mark} text,${mark} brand,${mark} category,19.90,EUR,in_stock\n` +
    `${mark}-2,${mark} lamp,,,,NA,,\n`;
  // The list of runs shows its name.
  const uploader = await withStoredKey(service, partnerName, `${mark} key`);
  const loaded = await uploader.loadFeed(csv, partnerName);
  const waiting = await api.uploadFeed(csv, partnerName);
  await api.post(`/jobs/${waiting.jobId}/run`, undefined, { prefer: 'respond-async' });
  const messageId = `${mark}-message`;
  const webhookId = await sendTo(service.db, `https://${mark.toLowerCase()}.example.org`, {
    partner_name: partnerName,
  });
  await service.db('webhook_outcomes').insert({
    webhook_endpoint_id: webhookId,
    message_id: messageId,
    event_type: 'job.completed',
    happened_at: new Date(),
    content: '{}',
    attempts: 1,
    status: 'delivered',
  });
  // A rejection repeats the sent name, so the mark is in the definition.
  const formatName = `format-of-${mark.length}`;
  const columns = { sku: { from: [`${mark} number`] }, product_name: { from: [`${mark} name`] } };
  await putFormat(api, partnerName, formatName, { columns });
  const sourceName = `${mark.toLowerCase()}-source`;
  const url = `https://${mark}.example/${mark}.csv`;
  await putSource(api, partnerName, sourceName, { url, format: formatName });
  expect((await uploader.post(`${sourcePath(partnerName, sourceName)}/fetch`)).status).toBe(202);
  const webhookName = `${mark.toLowerCase()}-webhook`;
  await putWebhook(api, partnerName, webhookName, { url: `https://${mark}.example/${mark}` });
  const { body: products } = await api.get(`/products?sku=${mark}-1`);
  const productId = products.items[0].product_id as string;
  await indexBacklog(service.db);
  const { body: order } = await api.post('/orders', {
    partner_name: partnerName,
    customer_reference: `${mark} reference`,
    items: [{ product_id: productId, quantity: 2 }],
  });
  return {
    partnerName,
    values: {
      feed_id: [loaded.feedId, waiting.feedId],
      // The first one has a finished run, required for downloads.
      job_id: [loaded.jobId, waiting.jobId, loaded.submissionJobId],
      product_id: [productId],
      order_id: [order.order_id],
      order_item_id: [order.items[0].order_item_id],
      cursor: [productId, order.order_id, loaded.feedId, '1', `a/${partnerName}`, messageId],
      format_name: [formatName],
      webhook_id: [String(webhookId)],
      format: [formatName],
      source_name: [sourceName],
      webhook_name: [webhookName],
      partner_name: [partnerName],
      sku: [`${mark}-1`],
      q: [`${mark} tent`],
      brand: [`${mark} brand`],
      category: [`${mark} category`],
    },
  };
}

const unknownIds: PartnerValues['values'] = {
  feed_id: ['FD99999'],
  job_id: ['JV99999'],
  product_id: ['PR99999'],
  order_id: ['OR99999'],
  order_item_id: ['OI99999'],
  format_name: ['unknown'],
  webhook_id: ['999999'],
  source_name: ['unknown'],
  webhook_name: ['unknown'],
  partner_name: ['Unknown'],
};

/** Parameters that do not identify data of a partner. */
const neutral = new Set([
  ...['action', 'allow_older', 'as_of', 'days', 'dry_run', 'max_withdrawn', 'on_conflict', 'run'],
  ...[
    'attention',
    'availability',
    'code',
    'currency',
    'field',
    'grain',
    'include_withdrawn',
    'limit',
    'order',
    'severity',
    'sort_by',
    'status',
  ],
  ...['uploaded_from', 'uploaded_to', 'from', 'to', 'seconds', 'rotate_secret', 'include_delivered'],
  ...['If-None-Match', 'If-Range', 'Last-Event-ID', 'Prefer', 'Range'],
]);

/** Fields of bodies that do not identify data of a partner. */
const neutralFields = new Set([
  'customer_reference',
  'items',
  'quantity',
  'file',
  'mode',
  'collection',
  'max_skipped_percent',
  'max_price_jump_percent',
]);

const keyed = operations.filter(({ needsKey }) => needsKey);
/** Operations whose responses contain no data of partners. */
const withoutData = ['getFeedProfile', 'downloadFeedTemplate'];
const withPath = keyed.filter(({ path }) => path.includes('{'));

/** Builds the requests of an operation that name a resource of the partner, in path, query or body. */
function requestsNaming(
  operation: Operation,
  { values }: Pick<PartnerValues, 'values'>,
): [string, RequestInit][] {
  const known = (name: string) => {
    if (!(name in values)) throw new Error(`Add values of ${name} to this test, or declare it neutral.`);
    // Events of the queued job would keep the response open for a minute.
    return operation.path.endsWith('/events') ? values[name]!.slice(0, 1) : values[name]!;
  };
  const parameters = parametersOf(operation).filter(({ name }) => !neutral.has(name));
  let paths = [operation.path];
  for (const { name } of parameters.filter((parameter) => parameter.in === 'path')) {
    paths = paths.flatMap((path) => known(name).map((value) => path.replace(`{${name}}`, value)));
  }
  const queries = parameters
    .filter((parameter) => parameter.in === 'query')
    .flatMap(({ name }) => known(name).map((value) => `${name}=${encodeURIComponent(value)}`));
  const [, needed = ''] = operation.examplePath.split('?');
  return paths.flatMap((path) =>
    ['', ...queries].map((query): [string, RequestInit] => [
      withQuery(withQuery(path, needed), query),
      bodyNaming(operation, known),
    ]),
  );
}

function bodyNaming({ exampleBody, operationId }: Operation, known: (name: string) => string[]): RequestInit {
  const init = exampleBody();
  // A definition names no data of a partner.
  if (['replaceFormat', 'replaceSource', 'replaceWebhook'].includes(operationId)) return init;
  if (init.body instanceof FormData) {
    for (const name of [...init.body.keys()])
      if (!neutralFields.has(name)) init.body.set(name, known(name)[0]!);
    return init;
  }
  if (typeof init.body !== 'string') return init;
  const body = JSON.parse(init.body, (name, value: unknown) => {
    const isNamed = typeof value === 'string' && name !== '' && !neutralFields.has(name);
    return isNamed ? known(name)[0] : value;
  }) as object;
  return { ...init, body: JSON.stringify(body) };
}

/** Gets the responses to all requests that name own resources. */
async function responsesOf(client: ApiClient): Promise<Record<string, unknown>> {
  const responses: Record<string, unknown> = {};
  for (const operation of keyed.filter(({ method }) => method === 'GET')) {
    for (const [path] of requestsNaming(operation, mine)) {
      const { status, body } = await client.get(path);
      responses[path] = { status, body: body as unknown };
    }
  }
  return responses;
}

async function snapshot(): Promise<unknown> {
  const { db } = service;
  const tables = [
    'partner_formats',
    'sources',
    'source_fetches',
    'webhook_endpoints',
    'products',
    'orders',
    'order_items',
    'row_issues',
    'validation_jobs',
    'feeds',
  ];
  const rows = await Promise.all(
    tables.map((table) =>
      db(table)
        .select(db.raw(`${table}::text as row`))
        .orderBy('row'),
    ),
  );
  return [await stored(service), rows];
}

const text = ({ body }: ApiResponse) => (typeof body === 'string' ? body : JSON.stringify(body ?? ''));

describe('a key that is limited to a partner', () => {
  describe.each(keyed)('$title', (operation) => {
    const send = (client: ApiClient, [path, init]: [string, RequestInit]) =>
      client.send(operation.method, path, init);

    it('returns and changes no data of another partner', async () => {
      const before = await snapshot();
      for (const request of requestsNaming(operation, theirs)) {
        const response = await send(limited, request);
        expect([request[0], text(response)]).toEqual([request[0], expect.not.stringMatching(foreignMark)]);
        expect([request[0], response.status]).not.toEqual([request[0], 500]);
      }
      if (operation.operationId !== 'inspectFeed') expect(await snapshot()).toEqual(before);
    });
  });

  it.each(withPath)(
    '$title: a resource of another partner is as unknown as one that does not exist',
    async (operation) => {
      const { method } = operation;
      const [unknownPath, init] = requestsNaming(operation, {
        values: { ...theirs.values, ...unknownIds },
      })[0]!;
      const unknown = await limited.send(method, unknownPath, init);
      const withoutIds = (response: ApiResponse) => ({
        status: response.status,
        body: text(response).replace(/\b(FD|JV|JS|PR|OR)\d+\b/g, 'id'),
      });

      const [, needed] = operation.examplePath.split('?');
      const isPlain = ([path]: [string, RequestInit]) => path.split('?')[1] === needed;
      for (const [path, body] of requestsNaming(operation, theirs).filter(isPlain)) {
        expect(withoutIds(await limited.send(method, path, body))).toEqual(withoutIds(unknown));
      }
    },
  );

  it.each(withPath.filter(({ method }) => method === 'GET'))(
    '$title: returns own resources to a limited key, and resources of all partners to an unlimited key',
    async (operation) => {
      const [request] = requestsNaming(operation, mine);
      const [other] = requestsNaming(operation, theirs);

      expect((await limited.send('GET', request![0])).status).toBe(200);
      expect(await service.api.send('GET', other![0])).toMatchObject({ status: 200 });
    },
  );

  it('gets the same responses from every operation as without another partner', async () => {
    expect(await responsesOf(limited)).toEqual(alone);
  });

  it('this test’s requests return data of the other partner to an unlimited key', async () => {
    const shown = keyed.filter(
      ({ method, operationId }) => method === 'GET' && !withoutData.includes(operationId),
    );
    // Their responses contain only numbers.
    const withoutText = ['getJob', 'getProductPrices', 'getSalesOverTime'];
    for (const operation of shown.filter(({ operationId }) => !withoutText.includes(operationId))) {
      const texts = await Promise.all(
        requestsNaming(operation, theirs).map(async ([path]) => text(await service.api.send('GET', path))),
      );
      expect([operation.title, texts.join()]).toEqual([operation.title, expect.stringMatching(foreignMark)]);
    }
    expect(await responsesOf(service.api)).not.toEqual(alone);
  });

  it('lists only own products in every order and page', async () => {
    for (const query of ['', '?sort_by=product_id&order=asc', '?sort_by=price', '?order=asc', '?sku=OWN-1']) {
      const { body } = await limited.get(`/products${query}`);
      expect(body.items.map(({ sku }: { sku: string }) => sku)).toEqual(['OWN-1']);
    }
  });

  it('cannot use another partner’s product as a cursor in the default order, but can by product id', async () => {
    const cursor = theirs.values.product_id![0];

    expect(await limited.get(`/products?cursor=${cursor}`)).toMatchObject({
      status: 400,
      body: { detail: 'Invalid cursor value.' },
    });
    expect(await limited.get(`/products?sort_by=product_id&order=desc&cursor=${cursor}`)).toMatchObject({
      status: 200,
      body: { count: 1 },
    });
    expect(await limited.get(`/orders?cursor=${theirs.values.order_id![0]}`)).toMatchObject({ status: 400 });
  });

  it('gets only sales of own orders', async () => {
    const { body: partners } = await limited.get('/analytics/sales-by-partner');
    const { body: periods } = await limited.get('/analytics/sales-over-time');
    const { body: shares } = await limited.get('/analytics/revenue-share');
    const { body: products } = await limited.get('/analytics/sales-by-product');
    const { body: theirProducts } = await limited.get(
      `/analytics/sales-by-product?partner_name=${encodeURIComponent(foreign)}`,
    );

    expect(partners.results).toEqual([{ partner_name: own, units_sold: 2, total_sales: '39.80' }]);
    expect(periods.results).toMatchObject([{ units_sold: 2, total_sales: '39.80' }]);
    expect(shares.results).toEqual([{ partner_name: own, total_revenue: '39.80', revenue_pct: 100 }]);
    expect(products.results).toMatchObject([{ partner_name: own, sku: 'OWN-1', total_sales: '39.80' }]);
    expect(theirProducts.results).toEqual([]);
  });

  it('can order only own products, in the own name', async () => {
    const item = (values: PartnerValues) => [{ product_id: values.values.product_id![0], quantity: 1 }];

    expect(await limited.post('/orders', { partner_name: foreign, items: item(mine) })).toMatchObject(
      refusal,
    );
    expect(await limited.post('/orders', { partner_name: own, items: item(theirs) })).toMatchObject({
      status: 404,
      body: { detail: `Product not found: ${theirs.values.product_id![0]}` },
    });
    expect(
      await limited.post('/orders', { partner_name: own, items: [...item(mine), ...item(theirs)] }),
    ).toMatchObject({
      status: 404,
    });
  });

  it('gets 400 and 422 before the 403 of a wrong partner, and that before the 404 of a product', async () => {
    const items = [{ product_id: 'PR99999', quantity: 1 }];

    expect((await limited.post('/orders', { partner_name: foreign, items: [] })).status).toBe(400);
    expect((await limited.post('/orders', { partner_name: foreign })).status).toBe(422);
    const refused = await limited.post('/orders', { partner_name: foreign, items });
    expect(refused).toMatchObject(refusal);
    expect(refused.headers.get('x-error-code')).toBe('partner_not_allowed');
  });

  describe.each(['upload', 'inspect'] as const)('%s', (operation) => {
    const csv = 'sku,product_name\nA,A\n';

    it('is rejected with another partner’s name, and stores nothing', async () => {
      const before = await stored(service);

      expect(await limited[operation]({ partnerName: foreign, csv })).toMatchObject(refusal);
      expect(await limited[operation]({ partnerName: ` ${foreign} `, csv })).toMatchObject(refusal);
      expect(await stored(service)).toEqual(before);
    });

    it('is rejected also when the file comes first', async () => {
      const before = await stored(service);
      const form = new FormData();
      form.set('file', new Blob([csv], { type: 'text/csv' }), 'feed.csv');
      form.set('partner_name', foreign);

      expect(await limited.send('POST', `/feeds/${operation}`, { body: form })).toMatchObject(refusal);
      expect(await stored(service)).toEqual(before);
    });

    it.each([
      ['is not CSV', { fileName: 'feed.pdf', csv }],
      ['is empty', { csv: '' }],
    ])('is rejected with 403 also when the file %s', async (_what, file) => {
      expect(await limited[operation]({ partnerName: foreign, ...file })).toMatchObject(refusal);
    });

    it('distinguishes names that look alike', async () => {
      for (const name of [own.toLowerCase(), `${own}.`, own.replace(' ', '  '), own.replace('w', 'ｗ')]) {
        expect(await limited[operation]({ partnerName: name, csv })).toMatchObject(refusal);
      }
    });
  });
});
