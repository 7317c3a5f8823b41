import { relative } from 'node:path';
import { project } from './harness';

/** Returns `it` or `describe`, skipped with a reason if products are distributed (`make test-citus DISTRIBUTED=1`). */
export function onLocalProducts<T extends jest.It | jest.Describe>(test: T, reason: string): T {
  if (!process.env.TEST_SHARDS) return test;
  process.stderr.write(`LEFT OUT in ${relative(project, expect.getState().testPath!)}: ${reason}.\n`);
  return test.skip as T;
}
