import fc from 'fast-check';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestService } from './service';

/**
 * Parameters of property tests. Without FUZZ_SECONDS a property is tried a few times with a fixed seed, so that a test run
 * depends only on the change. `make fuzz` tries each property for FUZZ_SECONDS, with a new seed; FUZZ_SEED=n repeats a run. A
 * failure is reported with seed and path, minimized; FUZZ_PATH=path repeats exactly that case. Not guided by coverage: Jazzer.js,
 * the only such fuzzer for JavaScript, is a binary for glibc 2.38 or later, or needs a compiler. Inputs are built from pieces of
 * the grammar instead, and then damaged.
 */
const seconds = Number(process.env.FUZZ_SECONDS ?? 0);

/** Parameters that are independent of the type of a property. */
type Tries = Omit<fc.Parameters<unknown>, 'reporter' | 'asyncReporter' | 'examples'>;

/** The parameters of a property: the number of tries, unless FUZZ_SECONDS sets the time. */
export function casesFor(what: string, numRuns: number): Tries {
  const { FUZZ_SEED, FUZZ_PATH } = process.env;
  const seed = Number(FUZZ_SEED ?? (seconds > 0 ? Date.now() % 2 ** 31 : 20261125));
  // A path without its rest selects the input before minimization.
  const path = FUZZ_PATH && { path: FUZZ_PATH, endOnFailure: true };
  if (seconds === 0) return { seed, ...path, numRuns };
  process.stdout.write(`fuzzing ${what} for ${seconds} s: FUZZ_SEED=${seed}\n`);
  const plugins = [fc.interruptAfterTimeLimit(seconds * 1000, { failOnInterrupt: false })];
  return { seed, ...path, numRuns: Number.MAX_SAFE_INTEGER, plugins };
}

/** Removes all stored data of uploads and runs. */
export async function forgetAll({ db, dataDir, objectStore }: TestService): Promise<void> {
  await db.raw('truncate partners, feeds, products cascade');
  await rm(join(dataDir, 'objects', objectStore.bucket, 'raw'), { recursive: true, force: true });
}
