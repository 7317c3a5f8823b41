const { relative } = require('node:path');

const slowest = 30;
const seconds = (milliseconds) => (milliseconds / 1000).toFixed(1).padStart(9);

/** Prints the times of a run: the slowest files, and the totals of each folder and tier. `make test TIMES=1` */
class Times {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_contexts, { testResults }) {
    const files = testResults.map((result) => {
      const inTests = result.testResults.reduce((sum, { duration }) => sum + (duration ?? 0), 0);
      const name = relative(this.rootDir, result.testFilePath);
      return {
        name,
        tier: result.displayName?.name ?? '',
        folder: name.split('/').slice(0, 3).join('/'),
        tests: result.testResults.length,
        total: result.perfStats.runtime,
        // Time to load, set up and tear down the file.
        around: Math.max(0, result.perfStats.runtime - inTests),
      };
    });
    const bySize = files.toSorted((one, other) => other.total - one.total);
    const lines = [
      `The slowest ${slowest} files: seconds, of them outside of tests, tests`,
      ...bySize.slice(0, slowest).map((file) => `${rowOf([file])}  ${file.name}`),
      'Folders: seconds, of them outside of tests, tests, files',
      ...totalsBy(files, ({ tier, folder }) => `${tier} ${folder.replace(/\/[^/]+\.test\.ts$/, '')}`),
      'Tiers: seconds, of them outside of tests, tests, files',
      ...totalsBy(files, ({ tier }) => tier),
    ];
    process.stderr.write(`\n${lines.join('\n')}\n`);
  }
}

function totalsBy(files, kindOf) {
  const kinds = new Map();
  for (const file of files) kinds.set(kindOf(file), [...(kinds.get(kindOf(file)) ?? []), file]);
  return [...kinds]
    .map(([kind, members]) => ({ kind, members, total: sumOf(members, 'total') }))
    .sort((one, other) => other.total - one.total)
    .map(({ kind, members }) => `${rowOf(members)} ${String(members.length).padStart(5)}  ${kind}`);
}

const sumOf = (files, field) => files.reduce((sum, file) => sum + file[field], 0);

const rowOf = (files) =>
  `${seconds(sumOf(files, 'total'))} ${seconds(sumOf(files, 'around'))} ${String(sumOf(files, 'tests')).padStart(6)}`;

module.exports = Times;
