import { Throughput } from '../../../src/shared/throughput';
import { eventually } from '../../support/harness';

describe('Throughput', () => {
  /** Measures a counter that gives each of these readings once. */
  function measure(readings: number[]) {
    let reads = 0;
    const read = () => {
      if (reads === readings.length) throw new Error('Every reading was taken.');
      return readings[reads++]!;
    };
    const throughput = new Throughput(read, 1);
    return { throughput, allRead: () => eventually('all are read', () => reads >= readings.length) };
  }

  it('is unknown, which is faster than any other, before the second reading', () => {
    const { throughput } = measure([5]);

    expect(throughput.bytesPerSecond()).toBe(Infinity);
    throughput.stop();
  });

  it('is what the readings gained on average', async () => {
    const { throughput, allRead } = measure([0, 0, 4, 6]);
    await allRead();
    throughput.stop();

    expect(throughput.bytesPerSecond()).toBe(2_000);
  });

  it('forgets what was more than ten readings ago', async () => {
    const { throughput, allRead } = measure([0, 1_000, ...Array.from({ length: 11 }, () => 2_000)]);
    await allRead();
    throughput.stop();

    expect(throughput.bytesPerSecond()).toBe(0);
  });

  it('is faster than any other when all bytes have been transferred', async () => {
    const { throughput, allRead } = measure([0, Infinity, Infinity]);
    await allRead();
    throughput.stop();

    expect(throughput.bytesPerSecond()).toBe(Infinity);
  });
});
