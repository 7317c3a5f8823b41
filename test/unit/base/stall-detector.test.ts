import { setTimeout as sleep } from 'node:timers/promises';
import { detectStall, type Peer } from '../../../src/base/concurrency/stall-detector';
import { eventually } from '../../support/harness';

const pace = { bytesMin: 10, milliseconds: 100 };

/** A simulated peer, with counts of readings and aborts. */
function watch(other: Partial<Peer>) {
  const seen = { looks: 0, givenUp: 0 };
  const end = detectStall(
    {
      bytes: () => 0,
      isAwaited: () => true,
      ...other,
      isGone: () => {
        seen.looks++;
        return other.isGone?.() ?? false;
      },
    },
    pace,
    () => seen.givenUp++,
  );
  return { seen, end };
}

describe('the stall detector', () => {
  it('reports a peer below the minimum throughput, once', async () => {
    let bytes = 0;
    const { seen } = watch({ bytes: () => bytes++ / 2 });
    await eventually('it is given up', () => seen.givenUp === 1);

    await sleep(2 * pace.milliseconds);

    expect(seen.givenUp).toBe(1);
  });

  it.each<[string, () => Partial<Peer>]>([
    [
      'that moves enough',
      () => {
        let bytes = 0;
        return { bytes: () => (bytes += pace.bytesMin) };
      },
    ],
    ['that waits for us', () => ({ isAwaited: () => false })],
  ])('does not report a peer %s', async (_what, other) => {
    const { seen, end } = watch(other());

    await eventually('it was looked at often', () => seen.looks > 25);

    end();
    expect(seen.givenUp).toBe(0);
  });

  it.each<[string, Partial<Peer>, boolean]>([
    ['when the other side is gone', { isGone: () => true }, false],
    ['when it is told to', {}, true],
  ])('stops %s', async (_when, other, isTold) => {
    const { seen, end } = watch(other);
    await eventually('it was looked at', () => seen.looks > 0);
    if (isTold) end();
    const { looks } = seen;

    await sleep(pace.milliseconds);

    expect(seen).toEqual({ looks, givenUp: 0 });
  });
});
