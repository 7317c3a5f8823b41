import { runAdmin } from '../support/commands';
import { databaseUrl } from '../support/databases';
import { eventually } from '../support/harness';
import { startTestService, type TestService } from '../support/service';
import { eventErrors, sendTo, startReceiver } from '../support/webhooks';
import { removeOldOutcomes } from '../../src/webhooks/outcomes.repository';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ webhooks: 'to any address' });
});
afterEach(async () => {
  for (const table of ['webhook_endpoints', 'webhook_deliveries', 'webhook_outcomes']) {
    await service.db(table).delete();
  }
});

const webhooks = (...args: string[]) =>
  runAdmin({ DATABASE_URL: databaseUrl(service.address) }, 'webhooks', ...args);
const outcomes = () => service.db('webhook_outcomes').orderBy('webhook_outcome_id');
const upload = () => service.api.uploadFeed('sku,product_name\nA,A\n', 'Acme');
const cells = (line: string) => line.split(/ {2,}/);

const outcome = {
  event_type: 'webhook.ping',
  happened_at: '2026-11-20T10:00:00Z',
  content: '{}' as unknown,
  attempts: 9,
  last_result: 'HTTP 500',
};

function insertOutcome(id: number, messageId: string, ended: 'delivered' | 'discarded', columns = outcome) {
  return service
    .db('webhook_outcomes')
    .insert({ ...columns, webhook_endpoint_id: id, message_id: messageId, status: ended });
}

describe('npm run admin -- webhooks ping', () => {
  it('delivers a signed test event, for any event types of the webhook, and prints the status', async () => {
    const receiver = await startReceiver();
    const id = await sendTo(service.db, receiver.url, { event_types: ['order.created'] });

    const { code, stdout, stderr } = await webhooks('ping', String(id));

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [message] = receiver.received;
    expect(message!.event).toMatchObject({ type: 'webhook.ping', data: {} });
    expect(eventErrors(message!)).toEqual([]);
    expect(stdout).toBe(
      `Webhook ${id} accepted the test event ${String(message!.headers['webhook-id'])}: HTTP 204.\n`,
    );
  });

  it('exits with 1 and the status when the receiver rejects the event, which is not retried', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);

    const { code, stdout, stderr } = await webhooks('ping', String(id));

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^Webhook ${id} refused the test event msg_\\w+: HTTP 500\\.\n$`));
    expect(await service.db('webhook_deliveries')).toEqual([]);
  });

  it('exits with 1 for a webhook that is unknown, disabled or paused', async () => {
    const id = await sendTo(service.db, 'http://localhost/');
    const change = (columns: object) => service.db('webhook_endpoints').update(columns);

    await change({ paused_until: '2099-01-01T00:00:00Z' });
    expect(await webhooks('ping', String(id))).toMatchObject({
      code: 1,
      stderr: `Webhook ${id} is paused until 2099-01-01T00:00:00.000Z after failures: enable it to end the pause.\n`,
    });
    await change({ disabled_at: '2026-11-20T10:00:00Z' });
    expect(await webhooks('ping', String(id))).toMatchObject({
      code: 1,
      stderr: `Webhook ${id} is disabled: enable it first.\n`,
    });
    expect(await webhooks('ping', '999999')).toMatchObject({
      code: 1,
      stderr: 'There is no webhook 999999.\n',
    });
  });
});

describe('npm run admin -- webhooks deliveries', () => {
  it('lists pending and ended deliveries, the latest event first, as a table or as JSON', async () => {
    const receiver = await startReceiver();
    receiver.answer = (count) => ({ status: count === 1 ? 204 : 503 });
    const id = await sendTo(service.db, receiver.url);
    await insertOutcome(id, 'msg_old', 'discarded');
    await insertOutcome(id + 1, 'msg_of_another', 'discarded');
    await upload();
    await eventually('one is delivered', async () => (await outcomes()).length === 3, 30);
    await upload();
    await eventually('one has failed', async () => {
      const [delivery] = await service.db('webhook_deliveries');
      return (delivery as { last_result: string | null }).last_result !== null;
    });
    // No retry during the test.
    await service.db('webhook_deliveries').update({ next_attempt_at: '2099-01-01T00:00:00Z' });
    const [delivered, failed] = receiver.received.map(({ headers }) => headers['webhook-id']);

    const { code, stdout } = await webhooks('deliveries', String(id));

    expect(code).toBe(0);
    const time = expect.stringMatching(/^20.*Z$/) as unknown;
    expect(stdout.trimEnd().split('\n').map(cells)).toEqual([
      ['MESSAGE', 'EVENT', 'HAPPENED', 'OUTCOME', 'ATTEMPTS', 'LAST RESULT', 'NEXT ATTEMPT', 'ENDED'],
      [failed, 'feed.uploaded', time, 'pending', '1', 'HTTP 503', '2099-01-01T00:00:00.000Z', '(none)'],
      [delivered, 'feed.uploaded', time, 'delivered', '1', 'HTTP 204', '(none)', time],
      ['msg_old', 'webhook.ping', time, 'discarded', '9', 'HTTP 500', '(none)', time],
    ]);
    const json = await webhooks('deliveries', String(id), '--json', '--limit', '1');
    expect(JSON.parse(json.stdout)).toEqual([
      {
        message_id: failed,
        event_type: 'feed.uploaded',
        happened_at: time,
        status: 'pending',
        attempts: 1,
        last_result: 'HTTP 503',
        next_attempt_at: '2099-01-01T00:00:00.000Z',
        finished_at: null,
      },
    ]);
  });

  it('exits with 1 for an unknown webhook', async () => {
    expect(await webhooks('deliveries', '999999')).toMatchObject({
      code: 1,
      stderr: 'There is no webhook 999999.\n',
    });
  });
});

describe('npm run admin -- webhooks replay', () => {
  it('delivers named messages again with the same ids, and is safe to repeat', async () => {
    const receiver = await startReceiver();
    const id = await sendTo(service.db, receiver.url);
    await insertOutcome(id, 'msg_a', 'discarded');
    await insertOutcome(id, 'msg_b', 'delivered');
    await insertOutcome(id, 'msg_c', 'delivered');
    const replay = () => webhooks('replay', String(id), 'msg_a', 'msg_b');
    // Holds the deliveries, so that the second replay finds them in the queue.
    const pause = (until: string | null) => service.db('webhook_endpoints').update({ paused_until: until });
    await pause('2099-01-01T00:00:00Z');
    await service.db('webhook_outcomes').update({ happened_at: service.db.fn.now() });

    const [first, second] = [await replay(), await replay()];
    await pause(null);

    expect(first).toEqual({
      code: 0,
      stdout: '',
      stderr: `Deliveries to webhook ${id} that are due again: 2.\n`,
    });
    expect(second).toMatchObject({
      code: 1,
      stderr: `No such delivery has ended; see deliveries ${id}.\n`,
    });
    await eventually('they are delivered', async () => (await outcomes()).length === 3, 30);
    expect(receiver.received.map(({ headers }) => headers['webhook-id']).sort()).toEqual(['msg_a', 'msg_b']);
  });

  it('delivers the discarded events of a half-open range, with --delivered all of it, but no pings', async () => {
    const receiver = await startReceiver();
    const id = await sendTo(service.db, receiver.url);
    await upload();
    await eventually('it is delivered', async () => (await outcomes()).length === 1, 30);
    const [{ content }] = (await outcomes()) as [{ content: unknown }];
    await service.db('webhook_outcomes').delete();
    receiver.received.length = 0;
    const at = (time: string) => ({
      ...outcome,
      event_type: 'feed.uploaded',
      content: JSON.stringify(content),
      happened_at: time,
    });
    await insertOutcome(id, 'msg_ping', 'discarded');
    await insertOutcome(id, 'msg_before', 'discarded', at('2026-11-19T23:59:59Z'));
    await insertOutcome(id, 'msg_first', 'discarded', at('2026-11-20T00:00:00Z'));
    await insertOutcome(id, 'msg_fine', 'delivered', at('2026-11-20T12:00:00Z'));
    await insertOutcome(id, 'msg_after', 'discarded', at('2026-11-21T00:00:00Z'));
    const range = ['--from', '2026-11-20', '--to', '2026-11-21'];

    expect((await webhooks('replay', String(id), ...range)).stderr).toMatch(/: 1\.\n$/);
    await eventually('it has ended', async () => (await outcomes()).length === 5, 30);
    expect((await webhooks('replay', String(id), ...range, '--delivered')).stderr).toMatch(/: 2\.\n$/);
    await eventually('they have ended', async () => (await outcomes()).length === 5, 30);

    expect(receiver.received.map(({ headers }) => headers['webhook-id']).sort()).toEqual([
      'msg_fine',
      'msg_first',
      'msg_first',
    ]);
  });

  it.each([
    [[], 'Missing argument: MESSAGES, or option --from TIME.'],
    [['msg_a', '--from', '2026-11-20'], 'Only one of MESSAGES and --from TIME can be used.'],
    [['msg_a', '--delivered'], 'Missing option: --from TIME.'],
    [['--from', 'today'], 'Wrong TIME: it must be one such as 2027-01-31 or 2027-01-31T18:00:00Z.'],
  ])('rejects %j with two lines and exit code 2', async (args, problem) => {
    expect(await webhooks('replay', '1', ...args)).toEqual({
      code: 2,
      stdout: '',
      stderr: `${problem}\nHelp: npm run --silent admin -- webhooks replay --help\n`,
    });
  });
});

describe('the outcome of a delivery', () => {
  it('has the last result, and is removed after a week', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 410 });
    await sendTo(service.db, receiver.url);
    await upload();
    await eventually('it is discarded', async () => (await outcomes()).length === 1, 30);
    expect(await outcomes()).toMatchObject([
      { status: 'discarded', last_result: 'HTTP 410', attempts: 1, event_type: 'feed.uploaded' },
    ]);

    const age = (interval: string) =>
      service.db('webhook_outcomes').update({
        finished_at: service.db.raw('now() - cast(? as interval)', [interval]),
      });
    await age('6 days');
    await removeOldOutcomes(service.db);
    expect(await outcomes()).toHaveLength(1);
    await age('8 days');
    await removeOldOutcomes(service.db);
    expect(await outcomes()).toEqual([]);
  });
});
