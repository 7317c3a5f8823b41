import { LagMeter, positionsMax } from '../../../src/db/lag-meter';

describe('the lag of a replica', () => {
  it('is not known before it has come to where the database was at the first look', () => {
    const lag = new LagMeter();
    expect(lag.freshAt(100)).toBe(-Infinity);
    lag.note(100, 1);
    expect(lag.freshAt(99)).toBe(-Infinity);
    expect(lag.freshAt(100)).toBe(1);
  });

  it('is since the last look at which the database had not written more than the replica has now', () => {
    const lag = new LagMeter();
    lag.note(100, 1);
    lag.note(200, 2);
    lag.note(300, 3);
    expect([150, 199, 200, 299, 300, 1000].map((position) => lag.freshAt(position))).toEqual([
      1, 1, 2, 2, 3, 3,
    ]);
  });

  it('does not grow where nobody writes', () => {
    const lag = new LagMeter();
    lag.note(100, 1);
    lag.note(100, 2);
    expect(lag.freshAt(100)).toBe(2);
    lag.note(100, 500);
    expect(lag.freshAt(100)).toBe(500);
  });

  it('grows with time of a replica that stands still, and is over when that comes on', () => {
    const lag = new LagMeter();
    for (let at = 1; at <= 50; at++) lag.note(100 * at, at);
    expect(lag.freshAt(500)).toBe(5);
    for (let at = 51; at <= 60; at++) lag.note(100 * at, at);
    expect(lag.freshAt(500)).toBe(5);
    expect(lag.freshAt(6000)).toBe(60);
  });

  it('is not known of a database that was restored to an earlier state, until the replica is there', () => {
    const lag = new LagMeter();
    lag.note(1000, 1);
    lag.note(500, 2);
    expect(lag.freshAt(499)).toBe(-Infinity);
    expect(lag.freshAt(600)).toBe(2);
  });

  it('is not known of a replica that is further behind than is remembered', () => {
    const lag = new LagMeter();
    for (let at = 0; at <= positionsMax; at++) lag.note(at, at);
    expect(lag.freshAt(0)).toBe(-Infinity);
    expect(lag.freshAt(1)).toBe(1);
  });
});
