import * as nameWebhooks from '../../../migrations/20261127050000_name_webhooks';
import { createTestDatabase } from '../../support/databases';

it('keeps webhooks and outcomes, accepts webhooks of release 1.2.0, and can be repeated and rolled back', async () => {
  const { db } = await createTestDatabase();
  await nameWebhooks.down(db);
  // As release 1.2.0 does it.
  const insertEndpoint = (url: string) =>
    db('webhook_endpoints').insert({ url, partner_name: 'Acme', secret: 'whsec_a' });
  await insertEndpoint('https://a.example/');
  await db('webhook_outcomes').insert({
    ...{ webhook_endpoint_id: 1, message_id: 'msg_1', event_type: 'job.failed', happened_at: new Date() },
    ...{ content: '{}', attempts: 9, outcome: 'discarded', ended_at: '2026-11-20T10:00:00Z' },
  });

  await nameWebhooks.up(db);
  await nameWebhooks.up(db);
  await insertEndpoint('https://b.example/');

  expect(await db('webhook_outcomes').first('status', 'finished_at')).toEqual({
    status: 'discarded',
    finished_at: new Date('2026-11-20T10:00:00Z'),
  });
  const named = {
    url: 'https://c.example/',
    partner_name: 'Acme',
    webhook_name: 'a',
    sealed_secret: Buffer.alloc(1),
  };
  await db('webhook_endpoints').insert(named);
  for (const [wrong, constraint] of [
    [named, 'webhook_endpoints_named'],
    [{ ...named, webhook_name: 'b', partner_name: null }, 'webhook_endpoints_name_of_partner'],
    [{ ...named, webhook_name: null }, 'webhook_endpoints_name_of_partner'],
    [{ ...named, webhook_name: 'b', secret: 'whsec_a' }, 'webhook_endpoints_one_secret'],
    [{ url: named.url }, 'webhook_endpoints_one_secret'],
  ] as const)
    await expect(db('webhook_endpoints').insert(wrong)).rejects.toMatchObject({ constraint });
  await nameWebhooks.down(db);
  expect(await db('webhook_endpoints').orderBy('url').pluck('url')).toEqual([
    'https://a.example/',
    'https://b.example/',
  ]);
  expect(await db('webhook_outcomes').pluck('outcome')).toEqual(['discarded']);
  await nameWebhooks.up(db);
  expect(await db('webhook_outcomes').pluck('status')).toEqual(['discarded']);
});
