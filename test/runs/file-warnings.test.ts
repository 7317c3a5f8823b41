import type { FormatDefinition } from '../../src/feed-format/format-definition';
import { fieldPart, filePart, formBody, formType } from '../support/requests';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const priced: FormatDefinition = {
  columns: { sku: { from: ['Nr'] }, product_name: { from: ['Titel'] }, price: { from: ['Preis'] } },
};

type Issue = { code: string; row: number; line: number; column_number: number | null; value: string | null };

/** Inspects, plans and runs a file twice; expects the same issue counts each time. @returns the issues of the run */
async function issuesOf(csv: string, definition: FormatDefinition, mode = 'upsert') {
  const fields = { format_definition: JSON.stringify(definition), format: 'own', mode };
  const parts = [
    fieldPart('partner_name', 'Warned'),
    ...Object.entries(fields).map(([name, value]) => fieldPart(name, value)),
    filePart(csv),
  ];
  const request = { headers: { 'content-type': formType }, body: formBody(parts) };
  const { body: inspection } = await service.api.send('POST', '/feeds/inspect', request);
  const { body: feed } = await service.api.upload({ csv, partnerName: 'Warned', fields });
  const job = `/jobs/${feed.validation_job_id}`;
  const { body: plan } = await service.api.post(`${job}/plan`);
  const { body: run } = await service.api.post(`${job}/run`);
  const { body: again } = await service.api.post(`${job}/run`);
  expect(plan.issue_counts).toEqual(inspection.issue_counts);
  expect(run.issue_counts).toEqual(inspection.issue_counts);
  expect(again.issue_counts).toEqual(inspection.issue_counts);
  const { body } = await service.api.get(`${job}/issues`);
  return (body.items as Issue[]).map(({ code, row, line, column_number, value }) => [
    code,
    row,
    line,
    column_number,
    value,
  ]);
}

it('warns once of columns that could be fields which the format lacks', async () => {
  const csv = 'Nr;Titel;Preis;Marke;Farbe\nA;a;5 EUR;x;y\nB;b;6 EUR;x;y\n';
  expect(await issuesOf(csv, priced)).toEqual([['unmapped_column', 0, 1, 4, 'Marke']]);
});

it('warns once of a file whose rows have no prices', async () => {
  expect(await issuesOf('Nr;Titel;Preis\nA;a;\nB;b;\n', priced)).toEqual([['no_prices', 0, 1, 3, null]]);
});

it('warns once of prices without a currency', async () => {
  expect(await issuesOf('Nr;Titel;Preis\nA;a;5\nB;b;\n', priced)).toEqual([
    ['no_currency', 0, 1, null, null],
  ]);
});

it('does not warn where a constant, a code in a price or a column names a currency', async () => {
  const withCurrency = (currency: FormatDefinition['columns']['currency']) => ({
    columns: { ...priced.columns, currency },
  });
  expect(await issuesOf('Nr;Titel;Preis\nA;a;5\n', withCurrency({ value: 'EUR' }))).toEqual([]);
  expect(await issuesOf('Nr;Titel;Preis\nA;a;5\nB;b;6 EUR\n', priced)).toEqual([]);
  expect(await issuesOf('Nr;Titel;Preis;W\nA;a;5;EUR\n', withCurrency({ from: ['W'] }))).toEqual([]);
});

it('does not warn of prices and currencies that empty cells keep', async () => {
  const kept = (...keep: NonNullable<FormatDefinition['keep_when_empty']>) => ({
    columns: { ...priced.columns, currency: { from: ['W'] } },
    keep_when_empty: keep,
  });
  const empty = 'Nr;Titel;Preis;W\nA;a;;\n';
  expect(await issuesOf(empty, kept('currency'))).toEqual([['no_prices', 0, 1, 3, null]]);
  expect(await issuesOf(empty, kept('price', 'currency'))).toEqual([]);
  expect(await issuesOf('Nr;Titel;Preis;W\nA;a;5;\n', kept('currency'))).toEqual([]);
});

it('does not warn of an update without a column for prices', async () => {
  await issuesOf('Nr;Titel;Preis\nA;a;5 EUR\n', priced);
  expect(await issuesOf('Nr;Marke\nA;x\n', priced, 'update')).toEqual([]);
});
