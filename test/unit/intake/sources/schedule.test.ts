import { nextSlot, scheduleFaults } from '../../../../src/intake/sources/schedule';

/** The slots of a schedule after an instant. */
function slotsAfter(cron: string, time_zone: string, after: string, count: number): string[] {
  const slots: string[] = [];
  for (let slot: Date | null = new Date(after); slots.length < count; slots.push(slot.toISOString())) {
    slot = nextSlot({ cron, time_zone }, slot);
    if (!slot) break;
  }
  return slots.map((slot) => slot.replace(':00.000Z', 'Z'));
}

describe('the next slot of a schedule', () => {
  it('is a local time of the time zone', () => {
    expect(slotsAfter('30 5 * * mon-fri', 'Europe/Berlin', '2026-03-06T05:00:00Z', 2)).toEqual([
      '2026-03-09T04:30Z',
      '2026-03-10T04:30Z',
    ]);
    expect(slotsAfter('0 0 1 * *', 'Asia/Kathmandu', '2026-03-06T05:00:00Z', 1)).toEqual([
      '2026-03-31T18:15Z',
    ]);
  });

  it('is the next existing minute for a local time that clocks skip', () => {
    expect(slotsAfter('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:30Z',
    ]);
    expect(slotsAfter('15,45 1-3 * * *', 'Europe/Berlin', '2026-03-29T00:20:00Z', 4)).toEqual([
      '2026-03-29T00:45Z',
      '2026-03-29T01:00Z',
      '2026-03-29T01:15Z',
      '2026-03-29T01:45Z',
    ]);
    expect(slotsAfter('*/20 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
    ]);
    expect(slotsAfter('30 0-4/2 * * *', 'Europe/Berlin', '2026-03-28T23:00:00Z', 3)).toEqual([
      '2026-03-28T23:30Z',
      '2026-03-29T01:00Z',
      '2026-03-29T02:30Z',
    ]);
    // Clocks skip the last hour of the day.
    expect(slotsAfter('30 23 * * sat,sun', 'america/nuuk', '2026-03-28T12:00:00Z', 2)).toEqual([
      '2026-03-29T01:00Z',
      '2026-03-30T00:30Z',
    ]);
    expect(slotsAfter('30 0 * * *', 'America/Santiago', '2026-09-05T12:00:00Z', 2)).toEqual([
      '2026-09-06T04:00Z',
      '2026-09-07T03:30Z',
    ]);
    expect(slotsAfter('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00:00Z', 1)).toEqual([
      '2026-10-03T15:30Z',
    ]);
  });

  it('occurs once for a local time that occurs twice', () => {
    expect(slotsAfter('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-26T01:30Z',
    ]);
    expect(slotsAfter('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:40:00Z', 4)).toEqual([
      '2026-10-25T00:00Z',
      '2026-10-25T00:30Z',
      '2026-10-25T02:00Z',
      '2026-10-25T02:30Z',
    ]);
    expect(slotsAfter('*/30 * * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1)).toEqual([
      '2026-10-25T02:00Z',
    ]);
    expect(slotsAfter('30 23 * * *', 'America/Nuuk', '2026-10-25T01:10:00Z', 1)).toEqual([
      '2026-10-26T01:30Z',
    ]);
  });

  it('is independent of the seconds of the previous instant', () => {
    expect(slotsAfter('0 6 * * *', 'UTC', '2026-03-06T05:59:59.999Z', 1)).toEqual(['2026-03-06T06:00Z']);
    expect(slotsAfter('0 6 * * *', 'UTC', '2026-03-06T06:00:00.000Z', 1)).toEqual(['2026-03-07T06:00Z']);
  });
});

describe('the errors of a schedule', () => {
  it.each([
    ['*/15 * * * *', 'UTC', []],
    ['0,15 0 29 2 *', 'America/New_York', []],
    ['0 0 * * mon#2', 'Etc/GMT+3', []],
    ['*/14 * * * *', 'UTC', ['schedule_too_frequent']],
    ['50 23,0 * * *', 'UTC', []],
    ['0,50 0,23 * * *', 'UTC', ['schedule_too_frequent']],
    ['0 0 31 2 *', 'UTC', ['schedule_never']],
    ['@daily', 'UTC', ['schedule_cron']],
    ['0 0 0 * * *', 'UTC', ['schedule_cron']],
    ['60 * * * *', 'UTC', ['schedule_cron']],
    ['0 6 * * *', 'Mars/Olympus', ['schedule_time_zone']],
    ['0 6 * * *', '+02:00', ['schedule_time_zone']],
    ['x', '', ['schedule_cron', 'schedule_time_zone']],
  ])('of %j in %j are %j', (cron, time_zone, faults) => {
    expect(scheduleFaults({ cron, time_zone })).toEqual(faults);
  });
});
