import { LagMeter, positionsMax } from '../../../src/db/lag-meter';

describe('the lag of a replica', () => {
  it('is unknown until the replica reaches the first recorded position', () => {
    const lag = new LagMeter();
    expect(lag.freshAt(100)).toBe(-Infinity);
    lag.note(100, 1);
    expect(lag.freshAt(99)).toBe(-Infinity);
    expect(lag.freshAt(100)).toBe(1);
  });

  it('is the time since the primary last had the position of the replica', () => {
    const lag = new LagMeter();
    lag.note(100, 1);
    lag.note(200, 2);
    lag.note(300, 3);
    expect([150, 199, 200, 299, 300, 1000].map((position) => lag.freshAt(position))).toEqual([
      1, 1, 2, 2, 3, 3,
    ]);
  });

  it('does not grow without writes', () => {
    const lag = new LagMeter();
    lag.note(100, 1);
    lag.note(100, 2);
    expect(lag.freshAt(100)).toBe(2);
    lag.note(100, 500);
    expect(lag.freshAt(100)).toBe(500);
  });

  it('grows while the replica is stalled, and resets when it catches up', () => {
    const lag = new LagMeter();
    for (let at = 1; at <= 50; at++) lag.note(100 * at, at);
    expect(lag.freshAt(500)).toBe(5);
    for (let at = 51; at <= 60; at++) lag.note(100 * at, at);
    expect(lag.freshAt(500)).toBe(5);
    expect(lag.freshAt(6000)).toBe(60);
  });

  it('is unknown after a restore of the primary until the replica reaches its position', () => {
    const lag = new LagMeter();
    lag.note(1000, 1);
    lag.note(500, 2);
    expect(lag.freshAt(499)).toBe(-Infinity);
    expect(lag.freshAt(600)).toBe(2);
  });

  it('is unknown beyond the recorded positions', () => {
    const lag = new LagMeter();
    for (let at = 0; at <= positionsMax; at++) lag.note(at, at);
    expect(lag.freshAt(0)).toBe(-Infinity);
    expect(lag.freshAt(1)).toBe(1);
  });
});
