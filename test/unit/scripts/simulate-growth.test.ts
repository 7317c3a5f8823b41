import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import costs from '../../../scripts/growth-costs.json';
import {
  demandOf,
  firstToSaturate,
  pageWithTable,
  sizes,
  tableOf,
  use,
} from '../../../scripts/simulate-growth';

const page = readFileSync(join(__dirname, '..', '..', '..', 'docs', 'explanation', 'growing.md'), 'utf8');

describe('requirements of larger catalogs', () => {
  it('are in docs/explanation/growing.md as computed from the measured costs; npx tsx scripts/simulate-growth.ts updates it', () => {
    expect(pageWithTable(page, costs)).toBe(page);
    expect(tableOf(costs)).toContain('1,000,000,000');
  });

  it('differ with other costs', () => {
    const dearer = { ...costs, indexBytesPerProduct: 2 * costs.indexBytesPerProduct };

    expect(pageWithTable(page, dearer)).not.toBe(page);
  });

  it('cannot be written into a page without a marker', () => {
    expect(() => pageWithTable('# Growing', costs)).toThrow('has no');
  });

  it.each(sizes)('of %d products scale with rows, bytes and requests', (products) => {
    const demand = demandOf(products, costs);

    const bytes =
      costs.tableBytesPerProduct +
      costs.indexBytesPerProduct +
      costs.digestBytesPerProduct +
      costs.wordBytesPerProduct;
    expect(demand.databaseGigabytes).toBeCloseTo((products * bytes) / 1e9, 6);
    const historyBytes = use.changedShare * use.historyDays * costs.historyBytesPerChangedRow;
    expect(demand.historyGigabytes).toBeCloseTo((products * historyBytes) / 1e9, 6);
    const seconds =
      use.partners * costs.secondsPerRun +
      products / costs.readRowsPerSecond +
      (products * use.changedShare) / costs.changedRowsPerSecond;
    expect(demand.etlHours * 3600).toBeCloseTo(seconds, 3);
    expect(demand.etlMachines * use.etlHours).toBeCloseTo(demand.etlHours, 6);
    expect(demand.pageMachines * costs.pagesPerSecond).toBeCloseTo(demand.pagesPerSecond, 3);
  });

  it('name the resource that one machine exhausts first', () => {
    const enough = { ...costs, pagesPerSecond: 1e9, ordersPerSecond: 1e9, changedRowsPerSecond: 1e9 };

    expect(firstToSaturate(demandOf(1_000_000_000, enough))).toContain('memory for the indexes');
    expect(firstToSaturate(demandOf(1_000_000_000, { ...enough, pagesPerSecond: 1 }))).toContain(
      'requests of the catalog',
    );
  });
});
