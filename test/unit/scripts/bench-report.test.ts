import { evaluate, formatTable, type Measurement, type Setting } from '../../../scripts/bench/report';

const reRun: Measurement = {
  part: 'etl',
  name: 'unchanged re-run',
  unit: 's',
  values: [4, 6, 3],
  limit: { name: '\\copy', values: [2, 2, 2.5] },
  target: { kind: 'at most', value: 2 },
};
const throughput: Measurement = {
  part: 'requests',
  name: 'order of three',
  unit: 'requests/s',
  values: [900, 800, 1200],
  processor: { node: [300, 310, 320], postgres: [100, 90, 80] },
  limit: {
    name: 'fastify',
    values: [1000, 1000, 1000],
    processor: { node: [500, 500, 500], postgres: [300, 300, 300] },
  },
  setting: 'PostgreSQL 15.18, external',
  target: { kind: 'at least', value: 0.8 },
};
const health: Measurement = {
  part: 'etl',
  name: 'slowest GET /health',
  unit: 'ms',
  values: [40, 60, 49],
  target: { kind: 'at most', value: 50 },
};
const setting: Setting = {
  date: '2026-11-26',
  commit: 'fda9602',
  machine: '2 x AMD EPYC, 24 GiB',
  node: '20.20.2',
  postgres: 'PostgreSQL 18.4',
  quick: false,
  rounds: 3,
};

describe('a measurement beside a limit', () => {
  it('is judged by the median of the ratios per round, not by the ratio of the medians', () => {
    const skewed = { ...reRun, values: [2, 4, 6], limit: { name: 'limit', values: [4, 1, 3] } };

    expect(evaluate(skewed).ratio).toEqual({ median: 2, min: 0.5, max: 4 });
  });

  it('meets its target with an equal ratio', () => {
    expect(evaluate(reRun)).toMatchObject({
      value: { median: 4, min: 3, max: 6 },
      ratio: { median: 2, min: 1.2, max: 3 },
      met: true,
    });
  });

  it('misses its target with a larger ratio', () => {
    expect(evaluate({ ...reRun, target: { kind: 'at most', value: 1.9 } }).met).toBe(false);
  });

  it('with a lower bound is judged in reverse', () => {
    expect(evaluate(throughput).met).toBe(true);
    expect(evaluate({ ...throughput, target: { kind: 'at least', value: 1 } }).met).toBe(false);
  });

  it('requires a limit for each round', () => {
    expect(() => evaluate({ ...reRun, limit: { name: '\\copy', values: [2, 2] } })).toThrow(
      'unchanged re-run: 3 values and 2 limits',
    );
  });
});

describe('a measurement without a limit', () => {
  it('is judged by its own median', () => {
    const result = evaluate(health);

    expect(result.ratio).toBeUndefined();
    expect(result.met).toBe(true);
    expect(evaluate({ ...health, values: [40, 60, 51] }).met).toBe(false);
  });

  it('and without a target is not judged', () => {
    expect(evaluate({ ...health, target: undefined }).met).toBeUndefined();
  });

  it('and without values is an error', () => {
    expect(() => evaluate({ ...health, values: [] })).toThrow('there are no values');
  });
});

describe('the table', () => {
  it('is Markdown, and shows missed targets and processor time per request', () => {
    const missed = { ...health, values: [55.55] };
    const results = [reRun, missed, { ...throughput, target: undefined }].map(evaluate);
    const table = formatTable(results, setting);

    const where = '2026-11-26 | fda9602 | 2 x AMD EPYC, 24 GiB | 3 rounds, Node.js 20.20.2,';
    expect(table.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
      '| what | figure (min–max) | limit or peer | its figure | ratio (min–max) | target | date | commit | machine | settings |',
      expect.stringMatching(/^\| -+ \| -+: \| -+ \| -+: \| -+: \| -+ \| -+ \| -+ \| -+ \| -+ \|$/),
      `| etl: unchanged re-run | 4 s (3–6) | \\copy | 2 s | 2 (1.2–3) | at most 2, met | ${where} PostgreSQL 18.4, embedded |`,
      `| etl: slowest GET /health | 55.5 ms (55.5–55.5) | | | | at most 50 ms, NOT MET | ${where} PostgreSQL 18.4, embedded |`,
      `| requests: order of three | 900 requests/s (800–1,200); 310 + 90 µs | fastify | 1,000 requests/s; 500 + 300 µs | 0.9 (0.8–1.2); µs 0.5 | | ${where} PostgreSQL 15.18, external |`,
    ]);
    expect(new Set(table.split('\n').map((line) => line.length)).size).toBe(1);
  });
});
