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

  it('is Infinity before the second sample', () => {
    const { throughput } = measure([5]);

    expect(throughput.bytesPerSecond()).toBe(Infinity);
    throughput.stop();
  });

  it('is the average of the samples', async () => {
    const { throughput, allRead } = measure([0, 0, 4, 6]);
    await allRead();
    throughput.stop();

    expect(throughput.bytesPerSecond()).toBe(2_000);
  });

  it('covers the last ten samples', async () => {
    const { throughput, allRead } = measure([0, 1_000, ...Array.from({ length: 11 }, () => 2_000)]);
    await allRead();
    throughput.stop();

    expect(throughput.bytesPerSecond()).toBe(0);
  });

  it('is Infinity when all bytes have been transferred', async () => {
    const { throughput, allRead } = measure([0, Infinity, Infinity]);
    await allRead();
    throughput.stop();

    expect(throughput.bytesPerSecond()).toBe(Infinity);
  });
});
