import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { casesFor } from '../../support/fuzz';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Few skus, so that they repeat; a row without a name is invalid. */
const anyRows = fc.array(
  fc.record({ sku: fc.constantFrom('A', 'B', 'C'), name: fc.constantFrom('Tent', 'Lamp', '') }),
  { minLength: 1, maxLength: 12 },
);

interface Issue {
  line: number;
  code: string;
}
const duplicatesOf = (issues: Issue[]) =>
  issues.filter(({ code }) => code === 'duplicate_sku').map(({ line }) => line);

describe('the last valid row of a sku', () => {
  it('wins in an inspection, a plan, a first run, a repeated run and the rejects', async () => {
    let partners = 0;
    await fc.assert(
      fc.asyncProperty(anyRows, anyRows, async (earlierRows, rows) => {
        const partner = `Partner ${++partners}`;
        const feedOf = (feedRows: typeof rows) =>
          `sku,product_name\n${feedRows.map(({ sku, name }) => `${sku},${name}\n`).join('')}`;
        const lastValid = new Map(rows.flatMap(({ sku, name }, at) => (name ? [[sku, at]] : [])));
        const expected = rows.flatMap(({ sku, name }, at) =>
          name && lastValid.get(sku) !== at ? [at + 2] : [],
        );
        const csv = feedOf(rows);

        const { body: inspection } = await service.api.inspect({ csv, partnerName: partner });
        expect(duplicatesOf(inspection.issues as Issue[])).toEqual(expected);

        await service.api.loadFeed(feedOf(earlierRows), partner);
        const { jobId } = await service.api.uploadFeed(csv, partner);
        const { body: plan } = await service.api.post(`/jobs/${jobId}/plan`);
        for (const _ of ['first run', 'repeated run']) {
          const { body: job } = await service.api.post(`/jobs/${jobId}/run`);
          expect(job.issue_counts).toEqual(plan.issue_counts);
          const { body: issues } = await service.api.get(`/jobs/${jobId}/issues`);
          expect(duplicatesOf(issues.items as Issue[])).toEqual(expected);
        }

        const { body: rejects } = await service.api.get(`/jobs/${jobId}/rejects.csv`);
        const reported = parse<Record<string, string>>(rejects as string, { columns: true });
        expect(
          duplicatesOf(reported.map(({ _line, _codes }) => ({ line: Number(_line), code: _codes! }))),
        ).toEqual(expected);
      }),
      casesFor('repeated skus', 8),
    );
  });
});
