import { createLog } from '../../src/base/log';
import { queryRows } from '../../src/base/db/database';
import { sql } from '../../src/base/db/sql';
import { publishEventsSql } from '../../src/base/db/outbox';
import { eventually } from '../support/harness';
import { startTestService } from '../support/service';
import { sendTo, startReceiver } from '../support/webhooks';

it('an order.created event whose order was deleted is discarded and logged, and nothing is sent', async () => {
  const logged: string[] = [];
  const { db } = await startTestService({
    webhooks: 'to any address',
    log: createLog('info', { write: (line) => void logged.push(line) }),
  });
  const receiver = await startReceiver();
  const endpointId = await sendTo(db, receiver.url);

  await queryRows(
    db,
    publishEventsSql(
      sql`select 'order.created' as event_type, 'Acme' as partner_name, json_build_object('order_id', 4711) as content`,
    ),
  );

  await eventually('nothing is pending', async () => {
    return (await db('webhook_deliveries').first('webhook_delivery_id')) === undefined;
  });
  expect(receiver.received).toEqual([]);
  const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter(({ level }) => level !== 30)).toEqual([]);
  expect(lines).toContainEqual(
    expect.objectContaining({
      msg: 'webhook discarded: its order no longer exists',
      endpoint_id: endpointId,
      event: 'order.created',
    }),
  );
});
