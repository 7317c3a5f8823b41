import { LagMeter } from '../../../../src/base/db/lag-meter';

function meterOf(...marks: [position: number, at: number][]): LagMeter {
  const lag = new LagMeter();
  for (const [position, at] of marks) lag.note(position, at);
  return lag;
}

describe('the lag of a replica', () => {
  it('is unknown until the replica reaches the first recorded position', () => {
    expect(meterOf().freshAt(100)).toBe(-Infinity);
    expect(meterOf([100, 1]).freshAt(99)).toBe(-Infinity);
    expect(meterOf([100, 1]).freshAt(100)).toBe(1);
  });

  it('is the time since the primary last had the position of the replica', () => {
    const lag = meterOf([100, 1], [200, 2], [300, 3]);
    expect([150, 199, 200, 299, 300, 1000].map((position) => lag.freshAt(position))).toEqual([
      1, 1, 2, 2, 3, 3,
    ]);
  });

  it('does not grow without writes', () => {
    expect(meterOf([100, 1], [100, 2], [100, 500]).freshAt(100)).toBe(500);
  });

  it('is unknown after a restore of the primary until the replica reaches its position', () => {
    const lag = meterOf([1000, 1], [500, 2]);
    expect(lag.freshAt(499)).toBe(-Infinity);
    expect(lag.freshAt(600)).toBe(2);
  });
});
