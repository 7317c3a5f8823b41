import type { Command } from 'commander';
import { planPrune, prune, type PruneResult, type RetentionRules } from '../retention/prune';
import { openObjectStore } from '../../base/storage/open-store';
import { withDatabase } from './context';
import { printLine, printTable } from './output';

export function addPrune(program: Command): void {
  program
    .command('prune')
    .description('remove data that is older than the retention settings allow; the service does so daily')
    .option('--dry-run', 'only show what would be removed')
    .action(({ dryRun = false }: { dryRun?: boolean }) =>
      withDatabase(async ({ db, config }) => {
        const rules = config.retention;
        if (dryRun) {
          printResult(await planPrune({ db, rules }), rules);
          printLine('Nothing was removed: this was a dry run.');
          return;
        }
        const objectStore = await openObjectStore(config);
        try {
          printResult(await prune({ db, objectStore, rules }), rules);
        } finally {
          objectStore.close();
        }
      }),
    );
}

function printResult({ issues, files, versions }: PruneResult, rules: RetentionRules): void {
  printTable([
    ['WHAT', 'KEPT FOR', 'FEEDS', 'NUMBER', 'BYTES'],
    [
      'row issues',
      daysText(rules.rowIssueDays),
      String(issues.jobs),
      String(issues.rows),
      String(issues.bytes),
    ],
    ['raw files', daysText(rules.rawFileDays), String(files.files), String(files.files), String(files.bytes)],
    ['versions of products', daysText(rules.historyDays), '', String(versions.rows), String(versions.bytes)],
  ]);
}

const daysText = (days?: number) => (days === undefined ? 'ever' : `${days} days`);
