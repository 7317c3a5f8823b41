import { PassThrough } from 'node:stream';
import { ProgressView } from '../../../../src/clients/cli/progress-view';

const escape = String.fromCharCode(27);

/** Opens a view on a terminal, or on another stream, and collects its output. */
function openView(isTTY: boolean): { view: ProgressView; written: () => string } {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 80 });
  let text = '';
  stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  return { view: new ProgressView(stream), written: () => text };
}

describe('progress in a terminal', () => {
  const terminal = process.env.TERM;
  beforeEach(() => (process.env.TERM = 'xterm'));
  afterAll(() => {
    if (terminal === undefined) delete process.env.TERM;
    else process.env.TERM = terminal;
  });

  it('is a bar, which is removed before other output', () => {
    const { view, written } = openView(true);

    view.show({ name: 'uploading', bytes: { done: 0, total: 4_000_000 }, detail: 'a.csv' });
    expect(written()).toContain(`uploading [${' '.repeat(20)}] 0% 0 B of 4.0 MB, a.csv`);
    view.show({ name: 'uploading', bytes: { done: 2_000_000, total: 4_000_000 } });
    view.note('Stored.');

    expect(written()).toContain(`uploading [${'='.repeat(10)}${' '.repeat(10)}] 50% 2.0 MB of 4.0 MB`);
    // The whole line is cleared, the cursor shown, and lines wrap again.
    expect(written().split('50%')[1]!.endsWith(`${escape}[1G${escape}[2KStored.\n`)).toBe(true);
    expect(written().lastIndexOf(`${escape}[?25h`)).toBeGreaterThan(written().lastIndexOf(`${escape}[?25l`));
    expect(written().lastIndexOf(`${escape}[?7h`)).toBeGreaterThan(written().lastIndexOf(`${escape}[?7l`));
  });

  it('is the elapsed time when the total is unknown', () => {
    const { view, written } = openView(true);

    view.show({ name: 'uploading', bytes: { done: 1500, total: undefined } });
    view.show({ name: 'loading', detail: '1,000 rows' });
    view.clear();

    expect(written()).toContain('uploading (0s) 1.5 kB');
    expect(written()).toContain('loading (0s) 1,000 rows');
    expect(written()).not.toContain('%');
  });

  it('can be cleared twice, and before it is shown', () => {
    const { view, written } = openView(true);

    view.clear();
    expect(written()).toBe('');
    view.show({ name: 'running' });
    view.clear();
    const before = written();
    view.clear();

    expect(written()).toBe(before);
  });

  it('is a line in a dumb terminal', () => {
    process.env.TERM = 'dumb';
    const { view, written } = openView(true);

    view.show({ name: 'running' });

    expect(written()).toBe('running\n');
  });
});

describe('progress without a terminal', () => {
  it('is a line for each stage and every ten seconds, with throughput and remaining time', () => {
    const { view, written } = openView(false);
    const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);

    view.show({ name: 'uploading', bytes: { done: 1_000_000, total: 5_000_000 } });
    for (const [now, done] of [
      [6_000, 2_000_000],
      [11_000, 3_000_000],
      [12_000, 4_000_000],
    ] as const) {
      clock.mockReturnValue(now);
      view.show({ name: 'uploading', bytes: { done, total: 5_000_000 } });
    }
    view.show({ name: 'waiting', detail: 'The run is queued.' });
    view.note('Done.');

    expect(written().split('\n')).toEqual([
      'uploading: 20% 1.0 MB of 5.0 MB',
      'uploading: 60% 3.0 MB of 5.0 MB, 200.0 kB/s, 10 s left',
      'waiting: The run is queued.',
      'Done.',
      '',
    ]);
  });
});
