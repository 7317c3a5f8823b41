import { rmSync } from 'node:fs';
import { collectCoverage, reportCoverage } from './coverage';
import type { Global } from './global-setup';

export default async function tearDown(): Promise<void> {
  const { folder, postgres, pooler, s3 } = (globalThis as unknown as { catalogTest: Global }).catalogTest;
  const { text, neverSeen, undocumented } = reportCoverage(
    collectCoverage(process.env.CATALOG_TEST_COVERAGE!),
  );
  await s3.stop();
  await pooler?.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });

  // Set by `make test`: a run of a few files cannot cover everything.
  if (process.env.CONTRACT_COVERAGE) console.log(`\n${text}`);
  if (process.env.CONTRACT_COVERAGE === 'complete' && neverSeen.length + undocumented.length > 0) {
    throw new Error('The tests have not seen exactly what the document has; the table says where.');
  }
}
