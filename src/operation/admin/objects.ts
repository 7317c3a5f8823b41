import { Option, type Command } from 'commander';
import { cleanObjects } from '../../intake/feeds/clean-objects';
import { adoptBucket, findBucketProblem } from '../retention/bucket-owner';
import { holdLease } from '../retention/lease';
import { openObjectStore } from '../../base/storage/open-store';
import { withDatabase, type AdminContext } from './context';
import { printLine, printNote } from './output';

/** Maximum age of kept objects without a row: an upload stores its object before its row. */
const orphanAgeMilliseconds = 24 * 3600 * 1000;

export function addObjects(program: Command): void {
  const objects = program.command('objects').description('clean up the object store');
  objects
    .command('clean')
    .description('remove stored files that no feed names, and abort multipart uploads that have stalled')
    .option('--dry-run', 'only show what would be removed')
    .addOption(
      new Option(
        '--adopt',
        'first make the bucket belong to this database: once, after you have checked that no other database uses it',
      ).conflicts('dryRun'),
    )
    .action((options: CleanOptions) => withDatabase((context) => clean(context, options)));
}

interface CleanOptions {
  dryRun?: boolean;
  adopt?: boolean;
}

async function clean(
  { db, config }: AdminContext,
  { dryRun = false, adopt = false }: CleanOptions,
): Promise<void> {
  const objectStore = await openObjectStore(config);
  try {
    if (adopt) {
      await objectStore.prepare();
      await adoptBucket(db, objectStore);
      printLine(`The bucket ${objectStore.bucket} now belongs to this database.`);
    }
    const problem = await findBucketProblem(db, objectStore);
    if (problem && !dryRun) throw new Error(problem.message);
    if (problem) printNote(problem.message);
    const cleaning = () =>
      cleanObjects(db, objectStore, {
        dryRun,
        before: new Date(Date.now() - orphanAgeMilliseconds),
        report: (line) => printLine(`${dryRun ? 'would remove' : 'removing'} ${line}`),
      });
    const { seen, removed, young, foreign, unfinishedRemoved } = await (dryRun
      ? cleaning()
      : holdLease(db, cleaning));
    const hours = orphanAgeMilliseconds / 3_600_000;
    printLine(
      `Objects: ${seen}. Orphaned: ${removed + young}; ${dryRun ? 'to be removed' : 'removed'}: ${removed}; ` +
        `kept, because younger than ${hours} hours: ${young}. ` +
        `Unfinished uploads ${dryRun ? 'to be removed' : 'removed'}: ${unfinishedRemoved}.`,
    );
    if (foreign > 0) printLine(`Kept, because not of this database: ${foreign} objects.`);
  } finally {
    objectStore.close();
  }
}
