import { checkedFacts, loadedFacts } from '../../support/checks';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const words = ['in stock', 'ask us', 'sold out'];

/** A file of 50,000 rows: each third repeats a sku, and most of the others have a fault. */
function dirtyFile(): Buffer {
  const lines = ['sku,product_name,price,currency,availability,colour'];
  for (let row = 0; row < 50_000; row++) {
    const sku = row % 3 === 0 ? `R-${row % 7_000}` : row % 50 === 1 ? '' : `S-${row}`;
    const price = row % 5 === 0 ? '"1.299,00"' : row % 11 === 0 ? '0' : '24.50';
    const name = row % 13 === 0 ? '"Two\nlines"' : row % 17 === 0 ? '' : 'Lamp';
    lines.push([sku, name, price, row % 19 === 0 ? 'Euro' : 'EUR', words[row % 3]!, 'red'].join(','));
  }
  return Buffer.from(lines.join('\n'));
}

test.each([null, 10])(
  'a check of 50,000 dirty rows agrees with the run in each of the issues that a job keeps, with max_skipped_percent %s',
  async (maxSkippedPercent) => {
    const file = { bytes: dirtyFile(), mode: 'upsert' as const, format: null, maxSkippedPercent };

    const loaded = await loadedFacts(service, `Partner ${maxSkippedPercent}`, file);

    expect(loaded.issues).toHaveLength(10_000);
    expect(await checkedFacts(file, 1 << 16)).toEqual(loaded);
  },
);
