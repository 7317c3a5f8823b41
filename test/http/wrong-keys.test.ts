import { delayWrongKeys } from '../../src/http/keys/wrong-keys';
import { eventually } from '../support/harness';
import { startTestService } from '../support/service';

const forever = 2 ** 31 - 1;

/** Whether the promise is settled without advancing the time. */
function isImmediate(promise: Promise<void>): Promise<boolean> {
  const later = new Promise<false>((resolve) => setImmediate(() => resolve(false)));
  return Promise.race([promise.then(() => true), later]);
}

/** Counts the wrong keys of these addresses, one after the other, that are not delayed. */
async function countImmediate(addresses: string[], delay = delayWrongKeys(forever)): Promise<number> {
  let count = 0;
  for (const address of addresses) if (await isImmediate(delay(address))) count++;
  return count;
}
const times = (count: number, address: string) => Array.from({ length: count }, () => address);

afterEach(() => void jest.useRealTimers());

describe('wrong API keys', () => {
  it('of one address are delayed from the 21st within a minute', async () => {
    expect(await countImmediate(times(25, '192.0.2.1'))).toBe(20);
  });

  it('of another address are not delayed', async () => {
    const delay = delayWrongKeys(forever);
    await countImmediate(times(25, '192.0.2.1'), delay);

    expect(await countImmediate(times(20, '192.0.2.2'), delay)).toBe(20);
  });

  it('of one IPv6 network count together, and so do both forms of an IPv4 address', async () => {
    const ofNetwork = Array.from({ length: 25 }, (_, at) => `2001:db8:0:1::${at}`);

    expect(await countImmediate(ofNetwork)).toBe(20);
    expect(await countImmediate([...times(15, '192.0.2.1'), ...times(15, '::ffff:192.0.2.1')])).toBe(20);
  });

  it('are delayed for at most a hundred concurrent requests; further ones get 401 at once', async () => {
    expect(await countImmediate(times(125, '192.0.2.1'))).toBe(25);
  });

  it('are counted for the latest 10,000 addresses', async () => {
    const delay = delayWrongKeys(forever);
    await countImmediate(times(20, '192.0.2.1'), delay);
    for (let at = 0; at < 10_000; at++) await delay(`10.0.${at >> 8}.${at & 255}`);

    expect(await isImmediate(delay('192.0.2.1'))).toBe(true);
  });

  it('are forgotten after a minute', async () => {
    jest.useFakeTimers({ doNotFake: ['performance', 'setImmediate', 'nextTick'] });
    const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);
    const delay = delayWrongKeys(forever);
    expect(await countImmediate(times(21, '192.0.2.1'), delay)).toBe(20);

    clock.mockReturnValue(61_001);
    // The cache reads the clock at most once a millisecond.
    jest.runAllTimers();

    expect(await isImmediate(delay('192.0.2.1'))).toBe(true);
  });
});

describe('while the response to a wrong key is delayed, the service', () => {
  it('serves a valid key of the same address, and then rejects the wrong one with 401', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const addresses: unknown[] = [];
    const service = await startTestService({
      delayWrongKey: (address) => {
        addresses.push(address);
        return released;
      },
    });
    const refused = service.api.withKey('wrong').get('/orders');
    await eventually('the refusal is delayed', () => addresses.length > 0);

    expect((await service.api.get('/orders')).status).toBe(200);
    expect((await service.api.withKey(undefined).get('/orders')).status).toBe(401);

    release();
    expect((await refused).status).toBe(401);
    expect(addresses).toEqual(['127.0.0.1']);
  });
});
