'use strict';
/**
 * Prepares each transaction so that it gets the expected response. dredd.test.ts seeds the state, with the identifiers of the
 * document's examples.
 */
const { Buffer } = require('node:buffer');
const hooks = require('hooks');
const { bodySchema, isJson } = require('./body-schema.cjs');

const apiKey = process.env.DREDD_API_KEY;
/** Limited to a partner that no request names. */
const limitedKey = process.env.DREDD_LIMITED_KEY;
const readOnlyKey = process.env.DREDD_READ_ONLY_KEY;

/** Transactions that Dredd cannot cause, with the reason; jest covers them. */
const skipped = [
  { pattern: / > 408 > /, reason: 'needs a client that stops sending: test/http/slow-client.test.ts' },
  { pattern: / > 429 > /, reason: 'needs a limit that is used up: test/routes/every-operation.test.ts' },
  { pattern: / > 500 > /, reason: 'needs a fault inside the service: test/http/failing-handlers.test.ts' },
  {
    pattern: /\/feeds\/upload > .* > 404 > /,
    reason: 'needs a removal while the file is sent: test/http/keys/gone-keys.test.ts',
  },
  { pattern: / > 503 > /, reason: 'needs a dependency that is down: test/routes/every-operation.test.ts' },
];

const boundary = 'dredd-boundary';
const csv = 'sku,product_name,price,currency\nNEW-1,New,5.00,EUR\n';

/** The feed that dredd.test.ts seeds. A file that is not JSON is compared exactly. */
const seededFeed = process.env.DREDD_SEEDED_FEED;

/** The entity tag of its submission job. */
const submissionTag = process.env.DREDD_SUBMISSION_TAG;

const rejects = `_line,_codes,_messages,sku,product_name,price,currency,availability
5,invalid_price,"price has no digits. Leave the cell empty if there is no price, or add the word to null_values of a format.",A,A,NA,,
6,invalid_price,"price has no digits. Leave the cell empty if there is no price, or add the word to null_values of a format.",B,B,NA,,
`;

function form({ partnerName = 'Dredd', content = csv } = {}) {
  const part = (disposition, body) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${body}\r\n`;
  const name = partnerName === undefined ? '' : part('name="partner_name"', partnerName);
  return `${name}${part('name="file"; filename="feed.csv"', content)}--${boundary}--\r\n`;
}

/** Invalid requests for a partner's format. */
function ofFormat(method) {
  const path = `${method} /partners/Acme%20Outdoor/formats/weekly-price-list`;
  return {
    [`${path} 400`]: (_, transaction) => (transaction.fullPath = '/partners/Acme/formats/%E0%A4%A'),
    [`${path} 404`]: (_, transaction) => (transaction.fullPath = '/partners/Acme%20Outdoor/formats/unknown'),
  };
}

/** Invalid requests for a source or its sub-resources. */
function ofSource(method, below = '') {
  const path = `${method} /partners/Acme%20Outdoor/sources/daily-export${below}`;
  return {
    [`${path} 400`]: (_, transaction) => (transaction.fullPath = `/partners/Acme/sources/%E0%A4%A${below}`),
    [`${path} 404`]: (_, transaction) =>
      (transaction.fullPath = `/partners/Acme%20Outdoor/sources/unknown${below}`),
  };
}

const webhooks = '/partners/Acme%20Outdoor/webhooks';
const webhook = `${webhooks}/job-events`;
const webhookDay = '?from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z';

/** Requests for a webhook or its sub-resources that must differ from the example. dredd.test.ts has created the webhooks. */
function ofWebhook(method, below = '', query = '') {
  const path = `${method} ${webhook}${below}`;
  const at = (name) => (_, transaction) => (transaction.fullPath = `${webhooks}/${name}${below}${query}`);
  return {
    [`${path} 200`]: at(method === 'DELETE' ? 'leaving' : 'local'),
    [`${path} 400`]: at('%E0%A4%A'),
    [`${path} 404`]: at('unknown'),
    [`${path} 409`]: at('disabled'),
  };
}

/** The difference between a request and the successful one, by operation and status. */
const changes = {
  'GET /feeds 200': (_, transaction) => (transaction.fullPath = '/feeds?limit=1'),
  'GET /feeds 400': (_, transaction) => (transaction.fullPath = '/feeds?cursor=x'),
  'GET /feeds 422': (_, transaction) => (transaction.fullPath = '/feeds?status=loaded'),
  'POST /feeds/upload 201': (request) => (request.body = form()),
  'POST /feeds/upload 400': (request) => (request.body = form({ content: '' })),
  'POST /feeds/upload 403': (request) => (request.body = form()),
  // dredd.test.ts keeps the key in use.
  'POST /feeds/upload 409': (request) => {
    request.headers['Idempotency-Key'] = 'in use';
    request.body = form();
  },
  'POST /feeds/upload 413': (request) => (request.body = form({ content: 'x'.repeat(2_000_000) })),
  'POST /feeds/upload 415': (request) => {
    request.headers['Content-Type'] = 'text/csv';
    request.body = csv;
  },
  'POST /feeds/upload 422': (request) => (request.body = form({ partnerName: ' ' })),
  // From another file: the If-Range of the example must not disable the range.
  'GET /feeds/FD00001/raw 200': (_, { expected }) => (expected.body = seededFeed),
  'GET /feeds/FD00001/raw 206': (request, { expected }) => {
    delete request.headers['If-Range'];
    const [, start] = /^bytes=(\d+)-$/.exec(request.headers.Range);
    expected.body = seededFeed.slice(Number(start));
  },
  'GET /feeds/FD00001/raw 416': (request) => {
    delete request.headers['If-Range'];
    request.headers.Range = 'bytes=1000000-';
  },
  'POST /feeds/inspect 200': (request) => (request.body = form()),
  'POST /feeds/inspect 400': (request) => (request.body = 'no part'),
  'POST /feeds/inspect 403': (request) => (request.body = form()),
  'POST /feeds/inspect 413': (request) => (request.body = form({ content: 'x'.repeat(2_000_000) })),
  'POST /feeds/inspect 415': (request) => {
    request.headers['Content-Type'] = 'text/csv';
    request.body = csv;
  },
  'POST /feeds/inspect 422': (request) => (request.body = form({ partnerName: ' ' })),
  'POST /jobs/JV00001/plan 200': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/plan?limit=1'),
  'POST /jobs/JV00001/plan 400': (_, transaction) => (transaction.fullPath = '/jobs/JS00001/plan'),
  'POST /jobs/JV00001/plan 422': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/plan?limit=-1'),
  'GET /jobs/JV00001/rejects.csv 200': (_, { expected }) => (expected.body = rejects),
  'GET /jobs/JV00001/rejects.csv 409': (_, transaction) =>
    (transaction.fullPath = '/jobs/JV00002/rejects.csv'),
  'GET /jobs/JV00001/events 200': (_, transaction) => {
    transaction.fullPath = '/jobs/JS00001/events';
    delete transaction.expected.body;
  },
  'GET /jobs/JV00001/events 204': (request, transaction) => {
    transaction.fullPath = '/jobs/JS00001/events';
    request.headers['Last-Event-ID'] = submissionTag;
  },
  // dredd.test.ts has queued the third, and holds the lock of the second like a run.
  'POST /jobs/JV00001/cancel 200': (_, transaction) => (transaction.fullPath = '/jobs/JV00003/cancel'),
  'POST /jobs/JV00001/cancel 202': (_, transaction) => (transaction.fullPath = '/jobs/JV00002/cancel'),
  'POST /jobs/JV00001/cancel 400': (_, transaction) => (transaction.fullPath = '/jobs/JS00001/cancel'),
  'POST /jobs/JV00001/run 400': (_, transaction) => (transaction.fullPath = '/jobs/JS00001/run'),
  'POST /jobs/JV00001/run 409': (_, transaction) => (transaction.fullPath = '/jobs/JV00002/run'),
  'POST /jobs/JV00001/run 422': (_, transaction) =>
    (transaction.fullPath = '/jobs/JV00001/run?max_withdrawn=-1'),
  // The first one would no longer have a finished run; Dredd has uploaded the fifth.
  'POST /jobs/JV00001/run 202': (_, transaction) => (transaction.fullPath = '/jobs/JV00005/run'),
  // dredd.test.ts has marked the raw file of the fourth feed as removed.
  'GET /feeds/FD00001/raw 410': (_, transaction) => (transaction.fullPath = '/feeds/FD00004/raw'),
  'POST /jobs/JV00001/run 410': (_, transaction) => (transaction.fullPath = '/jobs/JV00004/run'),
  'POST /jobs/JV00001/plan 410': (_, transaction) => (transaction.fullPath = '/jobs/JV00004/plan'),
  'GET /jobs/JV00001/rejects.csv 410': (_, transaction) =>
    (transaction.fullPath = '/jobs/JV00004/rejects.csv'),
  'GET /jobs/JV00001/issues 200': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/issues?limit=1'),
  'GET /jobs/JV00001/issues 400': (_, transaction) =>
    (transaction.fullPath = '/jobs/JV00001/issues?cursor=x'),
  'GET /jobs/JV00001/issues 422': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/issues?limit=0'),
  'GET /jobs/JV00001/runs 200': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/runs?limit=1'),
  'GET /jobs/JV00001/runs 400': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/runs?cursor=x'),
  'GET /jobs/JV00001/runs 422': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/runs?limit=0'),
  'GET /jobs/JV00001/changes 200': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/changes?run=1'),
  'GET /jobs/JV00001/changes 400': (_, transaction) =>
    (transaction.fullPath = '/jobs/JV00001/changes?run=1&cursor=x'),
  'GET /jobs/JV00001/changes 404': (_, transaction) => (transaction.fullPath = '/jobs/JV00099/changes?run=1'),
  // dredd.test.ts has removed the history of the fourth job.
  'GET /jobs/JV00001/changes 410': (_, transaction) => (transaction.fullPath = '/jobs/JV00004/changes?run=1'),
  'GET /jobs/JV00001/changes 422': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/changes?run=0'),
  'POST /jobs/JV00001/revert 200': (_, transaction) =>
    (transaction.fullPath = '/jobs/JV00001/revert?run=1&dry_run=true'),
  'POST /jobs/JV00001/revert 202': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/revert?run=1'),
  'POST /jobs/JV00001/revert 400': (_, transaction) =>
    (transaction.fullPath = '/jobs/JV00001/revert?run=1&dry_run=true&cursor=x'),
  'POST /jobs/JV00001/revert 404': (_, transaction) => (transaction.fullPath = '/jobs/JV00099/revert?run=1'),
  'POST /jobs/JV00001/revert 409': (_, transaction) => (transaction.fullPath = '/jobs/JV00004/revert?run=1'),
  'POST /jobs/JV00001/revert 422': (_, transaction) => (transaction.fullPath = '/jobs/JV00001/revert?run=0'),
  'GET /partners 200': (_, transaction) => (transaction.fullPath = '/partners?limit=1'),
  'GET /partners 400': (_, transaction) => (transaction.fullPath = '/partners?cursor=%00'),
  'GET /partners 422': (_, transaction) => (transaction.fullPath = '/partners?limit=0'),
  'GET /partners/Acme%20Outdoor 400': (_, transaction) => (transaction.fullPath = '/partners/%E0%A4%A'),
  'GET /partners/Acme%20Outdoor 404': (_, transaction) => (transaction.fullPath = '/partners/Unknown'),
  'GET /feeds/template.csv 200': (_, transaction) => (transaction.fullPath = '/feeds/template.csv'),
  'GET /partners/Acme%20Outdoor/products.csv 200': (_, { expected }) => delete expected.body,
  'GET /partners/Acme%20Outdoor/products.csv 400': (_, transaction) =>
    (transaction.fullPath = '/partners/%E0%A4%A/products.csv'),
  'GET /partners/Acme%20Outdoor/products.csv 404': (_, transaction) =>
    (transaction.fullPath = '/partners/Unknown/products.csv'),
  'GET /queue 400': (_, transaction) => (transaction.fullPath = '/queue?cursor=%00'),
  'GET /queue 422': (_, transaction) => (transaction.fullPath = '/queue?limit=0'),
  'GET /webhooks 400': (_, transaction) => (transaction.fullPath = '/webhooks?cursor=x'),
  'GET /webhooks 422': (_, transaction) => (transaction.fullPath = '/webhooks?limit=0'),
  'GET /webhooks/1/deliveries 200': (_, transaction) =>
    (transaction.fullPath = '/webhooks/1/deliveries?limit=1'),
  'GET /webhooks/1/deliveries 400': (_, transaction) =>
    (transaction.fullPath = '/webhooks/1/deliveries?cursor=x'),
  'GET /webhooks/1/deliveries 404': (_, transaction) => (transaction.fullPath = '/webhooks/99/deliveries'),
  'GET /webhooks/1/deliveries 422': (_, transaction) =>
    (transaction.fullPath = '/webhooks/1/deliveries?limit=0'),
  'GET /formats 200': (_, transaction) => (transaction.fullPath = '/formats?limit=1'),
  'GET /formats 400': (_, transaction) => (transaction.fullPath = '/formats?cursor=%00'),
  'GET /formats 422': (_, transaction) => (transaction.fullPath = '/formats?limit=0'),
  ...ofFormat('GET'),
  ...ofFormat('DELETE'),
  // dredd.test.ts has a source of this partner that names the format.
  'DELETE /partners/Acme%20Outdoor/formats/weekly-price-list 409': (_, transaction) =>
    (transaction.fullPath = '/partners/Full/formats/one'),
  'GET /sources 200': (_, transaction) => (transaction.fullPath = '/sources?limit=1'),
  'GET /sources 400': (_, transaction) => (transaction.fullPath = '/sources?cursor=%00'),
  'GET /sources 422': (_, transaction) => (transaction.fullPath = '/sources?limit=0'),
  ...ofSource('GET'),
  ...ofSource('DELETE'),
  ...ofSource('POST', '/fetch'),
  ...ofSource('GET', '/fetches'),
  'GET /partners/Acme%20Outdoor/sources/daily-export/fetches 200': (_, transaction) =>
    (transaction.fullPath = '/partners/Acme%20Outdoor/sources/daily-export/fetches?limit=1'),
  'GET /partners/Acme%20Outdoor/sources/daily-export/fetches 422': (_, transaction) =>
    (transaction.fullPath = '/partners/Acme%20Outdoor/sources/daily-export/fetches?limit=0'),
  'DELETE /partners/Acme%20Outdoor/sources/daily-export 200': (_, transaction) =>
    (transaction.fullPath = '/partners/Acme%20Outdoor/sources/leaving'),
  'PUT /partners/Acme%20Outdoor/sources/daily-export 400': (request) => (request.body = '{'),
  'PUT /partners/Acme%20Outdoor/sources/daily-export 409': (_, transaction) =>
    (transaction.fullPath = '/partners/Full/sources/one-more'),
  'PUT /partners/Acme%20Outdoor/sources/daily-export 413': (request) =>
    (request.body = `{"url":"${'x'.repeat(100_000)}"}`),
  'PUT /partners/Acme%20Outdoor/sources/daily-export 415': (request) =>
    (request.headers['Content-Type'] = 'text/plain'),
  'PUT /partners/Acme%20Outdoor/sources/daily-export 422': (request) => (request.body = '{}'),
  ...ofWebhook('GET'),
  ...ofWebhook('DELETE'),
  ...ofWebhook('POST', '/ping'),
  ...ofWebhook('POST', '/pause'),
  ...ofWebhook('POST', '/replay', webhookDay),
  [`PUT ${webhook} 200`]: (_, transaction) => (transaction.fullPath = `${webhooks}/local`),
  [`PUT ${webhook} 400`]: (request) => (request.body = '{'),
  [`PUT ${webhook} 409`]: (_, transaction) => (transaction.fullPath = '/partners/Full/webhooks/one-more'),
  [`PUT ${webhook} 413`]: (request) => (request.body = `{"url":"${'x'.repeat(100_000)}"}`),
  [`PUT ${webhook} 415`]: (request) => (request.headers['Content-Type'] = 'text/plain'),
  [`PUT ${webhook} 422`]: (request) => (request.body = '{}'),
  'PUT /partners/Acme%20Outdoor/formats/weekly-price-list 400': (request) => (request.body = '{'),
  // dredd.test.ts has given this partner the maximum number of formats.
  'PUT /partners/Acme%20Outdoor/formats/weekly-price-list 409': (_, transaction) =>
    (transaction.fullPath = '/partners/Full/formats/one-more'),
  'PUT /partners/Acme%20Outdoor/formats/weekly-price-list 413': (request) =>
    (request.body = `{"columns":"${'x'.repeat(100_000)}"}`),
  'PUT /partners/Acme%20Outdoor/formats/weekly-price-list 415': (request) =>
    (request.headers['Content-Type'] = 'text/plain'),
  'PUT /partners/Acme%20Outdoor/formats/weekly-price-list 422': (request) => (request.body = '{}'),
  'GET /products 200': (_, transaction) => (transaction.fullPath = '/products?limit=1'),
  'GET /products 400': (_, transaction) => (transaction.fullPath = '/products?sort_by=colour'),
  'GET /products 422': (_, transaction) => (transaction.fullPath = '/products?limit=ten'),
  // In dredd.test.ts, the history starts in March 2026, after the creation of the products.
  'GET /products 410': (_, transaction) =>
    (transaction.fullPath = '/products?partner_name=Pruned&as_of=2026-02-15T00:00:00Z'),
  'GET /products 304': (request, transaction) => {
    transaction.fullPath = '/products';
    request.headers['If-None-Match'] = '*';
  },
  'GET /products/PR00001 200': (_, transaction) => (transaction.fullPath = '/products/PR00001'),
  'GET /products/PR00001 304': (request, transaction) => {
    transaction.fullPath = '/products/PR00001';
    request.headers['If-None-Match'] = '*';
  },
  'GET /products/PR00001 410': (_, transaction) =>
    (transaction.fullPath = '/products/PR00001?as_of=2026-02-15T00:00:00Z'),
  'GET /products/PR00001/history 200': (_, transaction) =>
    (transaction.fullPath = '/products/PR00001/history'),
  'GET /products/PR00001/prices 422': (_, transaction) =>
    (transaction.fullPath = '/products/PR00001/prices?days=0'),
  'GET /products/facets 422': (_, transaction) => (transaction.fullPath = '/products/facets?field=price'),
  'GET /products/by-feed/FD00001 400': (_, transaction) =>
    (transaction.fullPath = '/products/by-feed/FD00001?cursor=x'),
  'GET /products/by-feed/FD00001 422': (_, transaction) =>
    (transaction.fullPath = '/products/by-feed/FD00001?limit=0'),
  'POST /products/PR00003/withdraw 400': (_, transaction) =>
    (transaction.fullPath = '/products/%E0%A4%A/withdraw'),
  'POST /products/PR00003/withdraw 404': (_, transaction) =>
    (transaction.fullPath = '/products/PR00099/withdraw'),
  'POST /orders 400': (request) => (request.body = '{"partner_name":"Dredd","items":[]}'),
  'POST /orders 404': (request) =>
    (request.body = '{"partner_name":"Dredd","items":[{"product_id":"PR00099","quantity":1}]}'),
  'POST /orders 409': (request) =>
    (request.body = '{"partner_name":"Dredd","items":[{"product_id":"PR00003","quantity":1}]}'),
  'POST /orders 413': (request) => (request.body = `{"partner_name":"${'x'.repeat(2_000_000)}"}`),
  'POST /orders 415': (request) => (request.headers['Content-Type'] = 'text/plain'),
  'POST /orders 422': (request) => (request.body = '{"partner_name":"Dredd","items":[{"quantity":0}]}'),
  'GET /orders 200': (_, transaction) => (transaction.fullPath = '/orders?limit=1'),
  'GET /orders 400': (_, transaction) => (transaction.fullPath = '/orders?cursor=x'),
  'GET /orders 422': (_, transaction) => (transaction.fullPath = '/orders?limit=0'),
  'GET /analytics/sales-by-partner 422': (_, transaction) =>
    (transaction.fullPath = '/analytics/sales-by-partner?currency=eur'),
  'GET /analytics/sales-over-time 422': (_, transaction) =>
    (transaction.fullPath = '/analytics/sales-over-time?grain=weekly'),
  'GET /analytics/revenue-share 422': (_, transaction) =>
    (transaction.fullPath = '/analytics/revenue-share?currency=eur'),
  'GET /analytics/sales-by-product 422': (_, transaction) =>
    (transaction.fullPath = '/analytics/sales-by-product?limit=0'),
};

hooks.beforeEach((transaction, done) => {
  const skip = skipped.find(({ pattern }) => pattern.test(transaction.name));
  if (skip) {
    transaction.skip = true;
    return done();
  }
  const { request, expected } = transaction;
  const status = Number(expected.statusCode);
  // Dredd checks only that the keys of the example exist.
  if (isJson(transaction)) {
    expected.bodySchema = bodySchema(transaction);
    delete expected.body;
  } else if (expected.headers['Content-Type']) {
    // Dredd compares media types exactly; the document names them without parameters.
    if (expected.headers['Content-Type'].startsWith('text/'))
      expected.headers['Content-Type'] += '; charset=utf-8';
  }

  // Dredd treats an optional header as required.
  delete expected.headers['Idempotent-Replayed'];
  delete expected.headers['Ignored-Parameters'];
  // Only a queued run always has it.
  if (status !== 202 || !request.uri.endsWith('/run')) delete expected.headers['Preference-Applied'];
  // With the key of the example, all of them would be the same request.
  delete request.headers['Idempotency-Key'];
  if (status === 202) request.headers.Prefer = 'respond-async';
  else delete request.headers.Prefer;
  const path = request.uri.split('?')[0];
  // A job or a product is unknown to a key of another partner.
  const forbiddenKey =
    /\/(run|cancel|revert|withdraw|fetch|ping|pause|replay|(formats|sources|webhooks)\/[^/]+)$/.test(path)
      ? readOnlyKey
      : limitedKey;
  request.headers['x-api-key'] = { 401: 'wrong', 403: forbiddenKey }[status] ?? apiKey;
  if (/^\/feeds\/(upload|inspect)$/.test(request.uri))
    request.headers['Content-Type'] = `multipart/form-data; boundary=${boundary}`;
  // The example's limit of withdrawals is for a feed with another mode.
  if (path.endsWith('/run')) transaction.fullPath = path;
  const change = changes[`${request.method} ${path} ${status}`];
  if (change) change(request, transaction);
  else if (status === 304) request.headers['If-None-Match'] = '*';
  // A higher identifier in the path is unknown, and half of an escaped character cannot be decoded.
  else if (status === 422) {
    request.headers.Prefer = 'handling=strict';
    transaction.fullPath = `${path}?unknown=1`;
  } else if (status === 404) transaction.fullPath = path.replace('00001', '00099');
  else if (status === 400) transaction.fullPath = path.replace('00001', '%E0%A4%A');
  done();
});

hooks.beforeEachValidation(({ real }, done) => {
  // Dredd takes a body with the character U+FFFD, as in an example, for invalid UTF-8.
  if (real?.bodyEncoding === 'base64' && /json/.test(real.headers?.['content-type'])) {
    real.body = Buffer.from(real.body, 'base64').toString();
    real.bodyEncoding = 'utf-8';
  }
  done();
});
