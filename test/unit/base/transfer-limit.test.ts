import { Readable } from 'node:stream';
import { unauthorized } from '../../../src/base/errors';
import { TransferEvicted, TransferLimit, transferRules } from '../../../src/base/concurrency/transfer-limit';

const limit = (capacity: number, maxPerHolder?: number) =>
  new TransferLimit({ capacity, maxPerHolder, what: 'downloads' });
/** A client that is awaited, but neither sends nor reads anything. */
const client = { bytes: () => 0, isAwaited: () => true, isGone: () => false };
const of = (holder: string) => ({ holder, client });
const openStream = () => Promise.resolve(new Readable({ read: () => undefined }));
const unavailable = { code: 'unavailable' };

describe('TransferLimit', () => {
  const normal = { ...transferRules };
  beforeEach(() => void Object.assign(transferRules, { lookMilliseconds: 2, patienceMilliseconds: 4 }));
  afterEach(() => void Object.assign(transferRules, normal));

  it('makes a stream wait until another one is closed', async () => {
    const downloads = limit(1);
    const stream = await downloads.open(of('a'), openStream);
    const next = downloads.open(of('a'), openStream);

    stream.destroy();

    expect((await next).destroyed).toBe(false);
  });

  it('rejects requests that have waited for too long', async () => {
    transferRules.waitMilliseconds = 20;
    const downloads = limit(1);
    await downloads.open(of('a'), openStream);

    await expect(downloads.open(of('a'), openStream)).rejects.toMatchObject(unavailable);
    await expect(downloads.run(of('b'), () => undefined, openStream)).rejects.toMatchObject(unavailable);
  });

  it('ends a wait with the reason of the caller', async () => {
    const downloads = limit(1);
    await downloads.open(of('a'), openStream);

    const gone = downloads.open({ ...of('b'), refusal: unauthorized }, openStream);

    await expect(gone).rejects.toMatchObject({ code: 'unauthorized' });
  });

  it('releases the permit when the stream cannot be opened', async () => {
    const downloads = limit(1);

    await expect(downloads.open(of('a'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');

    await downloads.open(of('a'), openStream);
  });

  it('destroys an evicted stream with an error that reports the eviction', async () => {
    const downloads = limit(2, 2);
    const [evicted, other] = [
      await downloads.open(of('a'), openStream),
      await downloads.open(of('a'), openStream),
    ];
    const error = new Promise((resolve) => evicted.once('error', resolve));

    await downloads.open(of('b'), openStream);

    expect(await error).toBeInstanceOf(TransferEvicted);
    expect(other.destroyed).toBe(false);
  });

  it('rejects a stream that is evicted before it is open, and destroys it then', async () => {
    const downloads = limit(2, 2);
    const opening: ((stream: Readable) => void)[] = [];
    const openLate = () => new Promise<Readable>((resolve) => opening.push(resolve));
    const [first, second] = [downloads.open(of('a'), openLate), downloads.open(of('a'), openLate)];
    await downloads.open(of('b'), openStream);

    const streams = [await openStream(), await openStream()];
    opening.forEach((open, at) => open(streams[at]!));

    await expect(first).rejects.toMatchObject(unavailable);
    expect(await second).toBe(streams[1]);
    expect(streams.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  });
});
