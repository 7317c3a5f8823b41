import type { BrowserContext } from 'playwright-core';
import { findUnreadable, startBrowser } from '../../support/browser';
import { goToView, openConsole } from '../../support/console';
import { localhostCertificate, trustLocalhost } from '../../support/network';
import { startTestService, testKey, withStoredKey, type TestService } from '../../support/service';
import { putWebhook } from '../../support/webhook-requests';
import { sendTo, startReceiver } from '../../support/webhooks';

let service: TestService;
let empty: TestService;
let browser: BrowserContext;
let webhookId: number;
let failingId: number;
beforeAll(async () => {
  browser = await startBrowser();
  [service, empty] = await Promise.all([
    startTestService({ partnerWebhookPrivateAddresses: true }),
    startTestService(),
  ]);
  for (const partner of ['Acme', 'Birch & Sons', 'Acme']) await leaveWaiting(partner);
  const earlier = "now() - interval '3 hours 20 minutes'";
  await service.db.raw(
    `update runs set requested_at = ${earlier} where job_id = (select min(job_id) from validation_jobs)`,
  );
  webhookId = await sendTo(service.db, 'https://acme.example.org/events', { partner_name: 'Acme' });
  failingId = await sendTo(
    service.db,
    'https://shop.example.org/a-long-path/of-events?from=the-catalog-of-the-partner',
  );
  await service
    .db('webhook_endpoints')
    .where({ webhook_endpoint_id: failingId })
    .update({ failures_in_a_row: 7, failed_at: new Date(), failure_reason: 'connect ECONNREFUSED' });
  await insertEvents();
});

/** Requests a run of a new feed; the service has no worker. */
async function leaveWaiting(partner: string): Promise<void> {
  const { jobId } = await service.api.uploadFeed('sku,product_name\nA,A\n', partner);
  await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
}

async function insertEvents(): Promise<void> {
  const event = (name: string) => ({
    webhook_endpoint_id: webhookId,
    message_id: `msg_${name}`,
    event_type: 'job.completed',
    happened_at: new Date(),
    content: '{}',
  });
  const next = { attempts: 2, last_result: 'HTTP 503', next_attempt_at: new Date(Date.now() + 3_600_000) };
  await service.db('webhook_deliveries').insert({ ...event('waits'), ...next });
  const ended = { attempts: 1, finished_at: new Date() };
  const outcome = (name: string, last_result: string) => ({
    ...event(name),
    ...ended,
    status: name,
    last_result,
  });
  await service
    .db('webhook_outcomes')
    .insert([outcome('delivered', 'HTTP 204'), outcome('discarded', '<b>HTTP 500</b>')]);
}

const open = (path: string, options = {}, of = service, key = testKey) =>
  openConsole(browser, { url: of.url, key }, path, options);

describe('queue and webhooks, in light and dark colors and on a phone', () => {
  it('follow the rules of accessibility, and are no wider than the screen, with and without entries', async () => {
    const found: Record<string, unknown> = {};
    for (const entered of [service, empty]) {
      const { page } = await open('/', {}, entered);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      for (const path of ['/queue', '/webhooks', `/webhooks/${webhookId}`, `/webhooks/${failingId}`]) {
        await goToView(page, path);
        await page.locator('main .card p, main td:not(.nothing), main [role=alert]').last().waitFor();
        await page.getByText('Loading…').waitFor({ state: 'detached' });
        const unreadable = await findUnreadable(page);
        if (unreadable.length > 0) found[path] = unreadable;
      }
    }
    expect(found).toEqual({});
  });
});

describe('the queue', () => {
  it('counts runs by partner, shows the wait of the oldest, and is updated', async () => {
    const { page, complaints } = await open('/');
    await page.getByRole('link', { name: 'Queue' }).click();
    const row = (partner: string) => page.getByRole('row').filter({ hasText: partner });
    await row('Acme').waitFor();

    expect(await row('Acme').innerText()).toMatch(/^Acme\s+2\s+3 hours\s+0$/);
    expect(await row('Birch & Sons').innerText()).toMatch(/^Birch & Sons\s+1\s+\d+ (second|minute)s?\s+0$/);
    expect(await page.locator('.counts').innerText()).toMatch(
      /Waiting\s+3\s+In progress\s+0\s+Waiting longest\s+3 hours/,
    );

    await leaveWaiting('Cedar');
    await row('Cedar').waitFor();
    expect(complaints).toEqual([]);
  });

  it('explains how a run gets here when none waits', async () => {
    const { page } = await open('/queue', {}, empty);

    await page.getByText('No run waits, and none is in progress.').waitFor();
    await page.getByText('Every requested run is listed here').waitFor();
  });

  it('has no link for a key that is limited to a partner, and its address explains why', async () => {
    const { key } = await withStoredKey(service, 'Acme', 'queue');
    const { page } = await open('/queue', {}, service, key);
    await page.getByText('Your key is limited to one partner.').waitFor();

    expect(await page.getByRole('link', { name: 'Queue' }).count()).toBe(0);
    expect(await page.getByText('That did not work').count()).toBe(0);
    await page.getByRole('main').getByRole('link', { name: 'Feeds' }).click();
    await page.getByRole('heading', { name: 'Feeds', exact: true }).waitFor();
  });

  it('shows instructions when it cannot be read, and then reads it', async () => {
    const { page } = await open('/');
    await page.getByRole('link', { name: 'Queue' }).waitFor();
    await page.route('**/queue?*', (route) =>
      route.fulfill({ status: 500, json: { detail: 'Internal error.' } }),
    );
    await page.getByRole('link', { name: 'Queue' }).click();
    await page.getByRole('alert').getByText('Internal error.').waitFor();

    await page.unroute('**/queue?*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('row').filter({ hasText: 'Acme' }).waitFor();
  });
});

describe('webhooks', () => {
  it('shows each with its state, and its deliveries at an address of their own', async () => {
    const { page, complaints } = await open('/webhooks');
    const row = (text: string) => page.getByRole('row').filter({ hasText: text });
    await row('7 failed attempts in a row').getByText('shop.example.org').waitFor();
    expect(await row('acme.example.org').innerText()).toContain('Works');
    await page.getByRole('link', { name: `Webhook ${webhookId}` }).click();

    await page.waitForURL(`**/console/webhooks/${webhookId}`);
    await row('msg_waits').getByText('next attempt').waitFor();
    expect(await row('msg_delivered').innerText()).toContain('Delivered');
    // A result is a text of another host.
    await row('msg_discarded').getByText('<b>HTTP 500</b>').waitFor();
    await page.reload();
    await row('msg_waits').waitFor();
    await goToView(page, `/webhooks/${failingId}`);
    await page.getByText('connect ECONNREFUSED').waitFor();
    expect(complaints).toEqual([]);
  });

  it('of a partner are tested, paused and resumed, and send lost events again', async () => {
    trustLocalhost();
    const receiver = await startReceiver({ tls: localhostCertificate });
    const { body: webhook } = await putWebhook(service.api, 'Dune', 'shop', { url: receiver.url });
    receiver.secret = webhook.secret;
    const event = {
      message_id: 'msg_lost',
      event_type: 'job.failed',
      happened_at: new Date(),
      content: '{}',
    };
    await service.db('webhook_outcomes').insert({
      ...event,
      webhook_endpoint_id: webhook.webhook_id,
      attempts: 9,
      finished_at: new Date(),
      status: 'discarded',
      last_result: 'HTTP 500',
    });
    const { page, complaints } = await open(`/webhooks/${webhook.webhook_id}`);
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const dialog = page.getByRole('dialog');
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await button('Send a test').click();
    await page.getByText('The receiver accepted the test message (HTTP 204).').waitFor();
    expect(receiver.events()).toMatchObject([{ type: 'webhook.ping' }]);
    receiver.answer = () => ({ status: 410 });
    await button('Send a test').click();
    await page.getByText('The receiver refused the test message (HTTP 410).').waitFor();
    expect(await findUnreadable(page)).toEqual([]);

    await button('Pause').click();
    await dialog.getByLabel('Pause for').selectOption('4 hours');
    expect(await findUnreadable(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('The webhook is paused. Events are kept until then.').waitFor();
    await button('Resume now').click();
    await page.getByText('The webhook sends again').waitFor();
    await button('Pause').waitFor();

    await button('Send events again').focus();
    await page.keyboard.press('Enter');
    expect(await findUnreadable(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('1 event will be sent again in a moment.').waitFor();
    expect(await focused()).toBe('Send events again');
    await page.getByRole('row').filter({ hasText: 'msg_lost' }).getByText('Waiting').waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows only its own to the key of a partner', async () => {
    const { key } = await withStoredKey(service, 'Acme', 'webhooks');
    const { page } = await open('/webhooks', {}, service, key);
    await page.getByText('acme.example.org').waitFor();
    expect(await page.locator('tbody tr').count()).toBe(1);

    await page.goto(`${service.url}/console/webhooks/${failingId}`);
    await page.getByText(`There is no webhook ${failingId}`).waitFor();
  });

  it('reports that there is none, and who creates one', async () => {
    const { page } = await open('/webhooks', {}, empty);

    await page.getByText('No webhook yet').waitFor();
    await page.getByText('A developer creates it by the API').waitFor();
  });
});

describe('a service without a feed', () => {
  it('teaches in each view what belongs there and how it comes there, without filters', async () => {
    const { page, complaints } = await open('/', {}, empty);
    const main = page.getByRole('main');
    for (const [path, title, way] of [
      ['/feeds', 'No feed has been sent yet', 'Send a feed'],
      ['/feeds?status=failed', 'No feed has been sent yet', 'Send a feed'],
      ['/catalog?q=tent', 'The catalog is empty', 'Send a feed'],
      ['/orders?period=7', 'No order yet', 'Catalog'],
      ['/sales', 'Nothing has been sold yet', 'Catalog'],
    ] as const) {
      await goToView(page, path);
      await main.getByText(title).waitFor();
      await main.getByRole('link', { name: way, exact: true }).waitFor();
      await page.locator('.filters').waitFor({ state: 'detached' });
      expect({ path, found: await findUnreadable(page) }).toEqual({ path, found: [] });
    }
    expect(complaints).toEqual([]);
  });
});
