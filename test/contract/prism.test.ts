import { createLogger } from '@stoplight/prism-core';
import { getHttpOperationsFromSpec } from '@stoplight/prism-http';
import { createServer } from '@stoplight/prism-http-server';
import { join } from 'node:path';
import { afterFile } from '../support/after-file';
import { ApiClient } from '../support/api-client';
import { startTestService, testKey, type TestService } from '../support/service';

const specification = join(__dirname, '..', '..', 'spec', 'openapi.yaml');

/** Prism as a mock of the document, or as a proxy that turns an answer which breaks the document into a 500. */
async function startPrism(upstream?: string): Promise<string> {
  const prism = createServer(await getHttpOperationsFromSpec(specification), {
    cors: false,
    components: { logger: createLogger('test', { enabled: false }) },
    config: upstream
      ? {
          isProxy: true,
          upstream: new URL(upstream),
          upstreamProxy: undefined,
          validateRequest: false,
          checkSecurity: false,
          validateResponse: true,
          errors: true,
          mock: { dynamic: false },
        }
      : {
          isProxy: false,
          upstreamProxy: undefined,
          validateRequest: true,
          checkSecurity: true,
          validateResponse: true,
          errors: false,
          mock: { dynamic: false },
        },
  });
  afterFile(() => prism.close());
  return prism.listen(0, '127.0.0.1');
}

/** What an integrator's first program does. @returns the statuses, in order */
async function integrate(api: ApiClient): Promise<number[]> {
  const csv = 'sku,product_name,price,currency\nTENT-2,Two-person tent,189.90,EUR\nX,Y,NA,\n';
  const uploaded = await api.upload({ partnerName: 'Acme Outdoor', csv });
  const { feed_id, validation_job_id } = uploaded.body;
  const answers = [
    uploaded,
    await api.get(`/feeds/${feed_id}`),
    await api.get(`/feeds/${feed_id}/raw`),
    await api.get('/feeds/profile'),
    await api.get('/feeds/template.csv'),
    await api.inspect({ partnerName: 'Acme Outdoor', csv }),
    await api.post(`/jobs/${validation_job_id}/plan?limit=1`),
    await api.post(`/jobs/${validation_job_id}/run`),
    await api.get(`/jobs/${validation_job_id}`),
    await api.get(`/jobs/${validation_job_id}/issues?severity=error`),
    await api.get(`/jobs/${validation_job_id}/rejects.csv`),
    await api.get('/products?limit=1'),
    await api.get('/products/PR00001'),
    await api.get(`/products/by-feed/${feed_id}`),
    await api.post('/orders', {
      partner_name: 'Acme Outdoor',
      items: [{ product_id: 'PR00001', quantity: 2 }],
    }),
    await api.get('/orders'),
    await api.get('/orders/OR00001'),
    await api.get('/analytics/sales-by-partner'),
    await api.get('/analytics/sales-over-time?grain=monthly'),
    await api.get('/analytics/revenue-share'),
    await api.get('/health'),
    await api.get('/openapi.yaml'),
    await api.get('/openapi.json'),
    await api.get('/docs'),
    await api.get('/docs/swagger-ui.css'),
    await api.get('/docs/swagger-ui-bundle.js'),
    await api.get('/docs/initializer.js'),
  ];
  for (const answer of answers) {
    expect(answer.headers.get('sl-violations')).toBeNull();
  }
  return answers.map((answer) => answer.status);
}

const success = [
  201, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 201, 200, 200, 200, 200, 200, 200,
  200, 200, 200, 200, 200, 200,
];

describe('Prism as a mock', () => {
  it('answers an integrator as the service would', async () => {
    const api = new ApiClient(await startPrism(), 'any');

    expect(await integrate(api)).toEqual(success);
  });

  it('shows the errors of the document when asked', async () => {
    const api = new ApiClient(await startPrism(), 'any');

    const answer = await api.get('/products', { prefer: 'code=400, example=invalid_sort_by' });

    expect([answer.status, answer.body]).toEqual([
      400,
      {
        detail:
          'Invalid sort_by value. Allowed values: product_id, price, product_name, brand, category, created_at.',
      },
    ]);
    expect((await api.withKey(undefined).get('/products')).status).toBe(401);
  });
});

describe('Prism between an integrator and the service', () => {
  let service: TestService;
  let api: ApiClient;
  beforeAll(async () => {
    service = await startTestService();
    api = new ApiClient(await startPrism(service.url), testKey);
  });

  it('finds no violation in what succeeds', async () => {
    expect(await integrate(api)).toEqual(success);
  });

  it('finds no violation in what is refused', async () => {
    const answers = [
      await api.upload({ partnerName: '', csv: 'a,b\n' }),
      await api.upload({ csv: 'sku,product_name\n' }),
      await api.get('/feeds/FD99999'),
      await api.get('/feeds/FD99999/raw'),
      await api.get('/jobs/JV99999'),
      await api.post('/jobs/JV99999/run'),
      await api.get('/jobs/JV99999/issues'),
      await api.get('/jobs/JV00001/issues?severity=fatal'),
      await api.inspect({ partnerName: 'Acme Outdoor' }),
      await api.post('/jobs/JS00001/plan'),
      await api.post('/jobs/JV99999/plan'),
      await api.get('/jobs/JS00001/rejects.csv'),
      await api.get('/jobs/JV99999/rejects.csv'),
      await api.get('/products?sort_by=x'),
      await api.get('/products?limit=0'),
      await api.get('/products/PR99999'),
      await api.post('/orders', { partner_name: 'A', items: [] }),
      await api.post('/orders', { partner_name: 'A' }),
      await api.post('/orders', { partner_name: 'A', items: [{ product_id: 'PR99999', quantity: 1 }] }),
      await api.get('/orders/OR99999'),
      await api.get('/analytics/sales-over-time?grain=x'),
      await api.withKey('wrong').get('/products'),
    ];

    expect(answers.map((answer) => answer.headers.get('sl-violations'))).toEqual(answers.map(() => null));
    expect(answers.map((answer) => answer.status)).toEqual([
      400, 422, 404, 404, 404, 404, 404, 422, 422, 400, 404, 409, 404, 400, 422, 404, 400, 422, 404, 404, 422,
      401,
    ]);
  });
});
