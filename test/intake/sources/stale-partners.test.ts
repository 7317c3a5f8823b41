import { openDatabase } from '../../../src/base/db/database';
import {
  countStalePartners,
  noticeStalePartners,
} from '../../../src/intake/sources/stale-partners.repository';
import { csv, putSource } from '../../support/source-requests';
import { afterFile, eventually } from '../../support/harness';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { bodyErrors, eventErrors, sendTo, startReceiver } from '../../support/webhooks';

const url = 'https://feeds.acme.example/products.csv';

let service: TestService;
let published: () => Promise<string[]>;
beforeEach(async () => {
  service = await startTestService();
  await sendTo(service.db, 'http://127.0.0.1:1/');
  published = async () => {
    const rows = await service
      .db('webhook_deliveries')
      .where('event_type', 'partner.stale')
      .orderBy('webhook_delivery_id');
    return rows.map(({ content }: { content: { partner_name: string } }) => content.partner_name);
  };
});

async function age(partner: string, days: number): Promise<void> {
  for (const [table, column] of [
    ['partner_counts', 'last_completed_at'],
    ['feeds', 'uploaded_at'],
    ['sources', 'created_at'],
  ] as const) {
    await service.db.raw(
      `update ${table} set ${column} = ${column} - interval '${days} days'
       where partner_id = (select partner_id from partners where partner_name = ?)`,
      [partner],
    );
  }
}

const notice = (days?: number) => noticeStalePartners(service.db, days);
const gauge = () => countStalePartners(service.db);

describe('a partner without a completed feed', () => {
  it('is never stale without a setting and without a source with a number of days', async () => {
    await putSource(service.api, 'Acme', 'daily', { url });
    await service.api.loadFeed(csv, 'Acme');
    await age('Acme', 1_000);

    expect([await notice(), await published(), await gauge()]).toEqual([0, [], 0]);
  });

  it("is stale independently of another partner's source", async () => {
    await service.api.loadFeed(csv, 'Acme');
    await putSource(service.api, 'Restored', 'daily', { url, stale_after_days: 7 });
    await service.db.raw(
      `update sources set definition = cast(replace(cast(definition as text), '7', '"x"') as json)`,
    );
    await age('Acme', 8);

    expect([await notice(7), await published()]).toEqual([1, ['Acme']]);
  });

  it('is stale once, until another feed has completed and has aged too', async () => {
    await service.api.loadFeed(csv, 'Acme');
    await age('Acme', 6);
    expect(await notice(7)).toBe(0);

    await age('Acme', 1);
    expect([await notice(7), await notice(7), await gauge()]).toEqual([1, 0, 1]);
    await age('Acme', 100);
    expect([await notice(7), await published()]).toEqual([0, ['Acme']]);

    await service.api.loadFeed(csv, 'Acme');
    expect([await notice(7), await gauge()]).toEqual([0, 0]);
    await age('Acme', 7);
    expect([await notice(7), await gauge(), await published()]).toEqual([1, 1, ['Acme', 'Acme']]);
  });

  it('is not announced again when the number of days is changed and changed back', async () => {
    await service.api.loadFeed(csv, 'Acme');
    await age('Acme', 10);
    await notice(7);

    await notice(30);
    expect(await gauge()).toBe(0);
    expect([await notice(7), await gauge(), await published()]).toEqual([0, 1, ['Acme']]);
    await notice();
    expect(await gauge()).toBe(0);
  });

  it('uses the fewest days of its enabled sources, which override the setting', async () => {
    const definitions = [
      { url, stale_after_days: 20 },
      { url, stale_after_days: 10 },
      { url, stale_after_days: 1, is_enabled: false },
      { url },
    ];
    for (const [at, definition] of definitions.entries())
      expect((await putSource(service.api, 'Acme', `source-${at}`, definition)).status).toBe(200);
    await service.api.loadFeed(csv, 'Acme');
    await service.api.loadFeed(csv, 'Birch');

    for (const partner of ['Acme', 'Birch']) await age(partner, 9);
    expect([await notice(3), await published()]).toEqual([1, ['Birch']]);
    await age('Acme', 1);
    expect([await notice(3), await published()]).toEqual([1, ['Birch', 'Acme']]);
  });

  it('counts from its first feed or source before the first run, and is not stale as a mere name', async () => {
    await service.api.uploadFeed(csv, 'Uploaded');
    await putSource(service.api, 'Fetched', 'daily', { url });
    await service.db('partners').insert({ partner_name: 'Named' });
    for (const partner of ['Uploaded', 'Fetched', 'Named']) await age(partner, 6);
    expect(await notice(7)).toBe(0);

    for (const partner of ['Uploaded', 'Fetched', 'Named']) await age(partner, 1);
    expect([await notice(7), await notice(7)]).toEqual([2, 0]);
    expect((await published()).sort()).toEqual(['Fetched', 'Uploaded']);
  });

  it('is announced once by several processes, for any number of partners', async () => {
    await service.db.raw(
      `with named as (
         insert into partners (partner_name) select 'Partner ' || number from generate_series(1, 1200) as number
         returning partner_id
       )
       insert into partner_counts (partner_id, last_completed_at) select partner_id, now() - interval '8 days' from named`,
    );
    const other = openDatabase(service.address, { applicationName: 'test', connectionsMax: 4 });
    afterFile(() => other.destroy());

    // A process that finds another one at work leaves the rest to it.
    await Promise.all([service.db, other, other].map((db) => noticeStalePartners(db, 7)));
    await notice(7);

    const names = await published();
    expect([names.length, new Set(names).size, await gauge()]).toEqual([1200, 1200, 1200]);
  });

  it('locks the reasons of few partners at a time, also of partners that are no longer stale', async () => {
    await service.db.raw(
      `with named as (
         insert into partners (partner_name) select 'Partner ' || number from generate_series(1, 1100) as number
         returning partner_id
       )
       insert into stale_partners (partner_id, completed_at, is_stale) select partner_id, '-infinity', true from named`,
    );
    const partners: number[] = [];
    service.pool.on('query', ({ sql, bindings }: { sql: string; bindings: [number[]] }) => {
      if (sql.includes('insert into partner_attention')) partners.push(bindings[0].length);
    });

    expect([await notice(7), await gauge()]).toEqual([0, 0]);
    expect(partners).toEqual([500, 500, 100]);
  });

  it('is removed with the partner', async () => {
    await putSource(service.api, 'Acme', 'daily', { url });
    await age('Acme', 8);
    expect(await notice(7)).toBe(1);

    await service.db('partners').delete();

    expect(await gauge()).toBe(0);
  });
});

describe('partner.stale', () => {
  it('contains the partner as the API returns it, and goes to endpoints of the partner only', async () => {
    const running = await startTestService({
      sources: { privateAddresses: true, partnerStaleDays: 7 },
      webhooks: 'to any address',
    });
    await running.api.loadFeed(csv, 'Acme');
    await running.api.loadFeed(csv, 'Birch');
    await running.db.raw(`update partner_counts set last_completed_at = now() - interval '8 days'`);
    const receiver = await startReceiver();
    await sendTo(running.db, receiver.url, { partner_name: 'Acme', event_types: ['partner.stale'] });

    await noticeStalePartners(running.db, 7);

    const [sent] = await eventually('it is sent', () => receiver.received.length > 0 && receiver.received);
    expect(receiver.received).toHaveLength(1);
    expect(eventErrors(sent!)).toEqual([]);
    expect(bodyErrors('partner.stale', sent!.event)).toEqual([]);
    const bound = await withStoredKey(running, 'Acme');
    expect(sent!.event.data).toEqual((await bound.get('/partners/Acme')).body);
  });
});
