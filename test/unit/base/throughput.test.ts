import { Throughput } from '../../../src/base/concurrency/throughput';
import { eventually } from '../../support/harness';

describe('Throughput', () => {
  /** Measures a peer with these readings, one per sample; null: not awaited. */
  function measure(readings: (number | null)[]) {
    let reads = 0;
    const peer = {
      isAwaited: () => readings[reads] !== null,
      bytes: () => {
        if (reads === readings.length) throw new Error('Every reading was taken.');
        return readings[reads++] ?? 0;
      },
      isGone: () => false,
    };
    const throughput = new Throughput(peer, 1);
    throughput.start();
    return { throughput, allRead: () => eventually('all are read', () => reads >= readings.length) };
  }

  async function measured(readings: (number | null)[]): Promise<number> {
    const { throughput, allRead } = measure(readings);
    await allRead();
    throughput.stop();
    return throughput.bytesPerSecond();
  }

  it('is the average of the samples', async () => {
    expect(await measured([0, 0, 0, 4, 6, 10])).toBe(2_000);
  });

  it('covers the last ten seconds', async () => {
    expect(await measured([0, 1_000, ...Array.from({ length: 11 }, () => 2_000)])).toBe(0);
  });

  it('is Infinity before the sixth sample', async () => {
    expect(await measured([0, 0, 0, 0, 0])).toBe(Infinity);
  });

  it('counts only time in which the peer is awaited', async () => {
    expect(await measured([0, 0, 0, 0, 0, 0, null, 0, 0])).toBe(Infinity);
    expect(await measured([null, 0, 0, 0, 0, 5, 10])).toBeCloseTo(10_000 / 6);
  });
});
