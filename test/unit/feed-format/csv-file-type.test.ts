import { isCsvFile } from '../../../src/feed-format/csv-file-type';

describe('isCsvFile with a format', () => {
  it.each([
    ['a.csv', 'text/csv'],
    ['a.csv.gz', 'application/gzip'],
    ['a.CSV.GZ', 'application/x-gzip'],
    ['a.csv.gz', 'application/octet-stream'],
    ['a.csv.gz', 'text/csv'],
    ['a.tsv', 'text/tab-separated-values'],
    ['a.tsv', undefined],
    ['a.tsv.gz', undefined],
    ['a.txt', 'text/plain'],
    ['a.txt', undefined],
    ['a', 'text/csv'],
  ])('accepts %s of type %s', (name, type) => {
    expect(isCsvFile(name, type, true)).toBe(true);
  });

  it.each([
    ['a.csv', 'application/gzip'],
    ['a.tsv', 'application/zip'],
    ['a.txt', 'application/pdf'],
    ['a.csv.gz', 'application/zip'],
    ['a.txt.gz', 'application/gzip'],
    ['a.gz', 'application/gzip'],
    ['a.tsv.bak', 'text/csv'],
    ['a.xlsx', 'text/csv'],
    ['a', 'text/plain'],
    ['a', undefined],
  ])('rejects %s of type %s', (name, type) => {
    expect(isCsvFile(name, type, true)).toBe(false);
  });

  it.each(['a.tsv', 'a.csv.gz', 'a.tsv.gz'])('rejects %s without a format', (name) => {
    expect(isCsvFile(name, 'text/csv')).toBe(false);
  });
});
