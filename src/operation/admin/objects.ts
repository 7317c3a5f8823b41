import type { Command } from 'commander';
import { cleanObjects } from '../../intake/feeds/clean-objects';
import { holdLease } from '../retention/lease';
import { openObjectStore } from '../../base/storage/open-store';
import { withDatabase, type AdminContext } from './context';
import { printLine } from './output';

/** Maximum age of kept objects without a row: an upload stores its object before its row. */
const orphanAgeMilliseconds = 24 * 3600 * 1000;

export function addObjects(program: Command): void {
  const objects = program.command('objects').description('clean up the object store');
  objects
    .command('clean')
    .description('remove stored files that no feed names, and abort multipart uploads that have stalled')
    .option('--dry-run', 'only show what would be removed')
    .action(({ dryRun = false }: { dryRun?: boolean }) => withDatabase((context) => clean(context, dryRun)));
}

async function clean({ db, config }: AdminContext, dryRun: boolean): Promise<void> {
  const objectStore = await openObjectStore(config);
  try {
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
