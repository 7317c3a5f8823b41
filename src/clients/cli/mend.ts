import { exitCodes } from './failures';
import { parseRules, type CellChange, type MendOptions } from './mend-rules';
import { countText, printable, printableJson } from './printable';
import { linesText } from './report';
import type { LocalWork } from './session';
import { textTable } from './table';
import { openUploadedFile, type WorkbookOptions } from './workbook-file';
import { writeNew } from './write-new';

interface MendResult {
  /** The new file; null: none was requested. */
  output: string | null;
  /** Number of changes per rule, as declared. */
  rules: { rule: string; changes: number }[];
  /** The first changes. */
  changes: CellChange[];
}

/** Applies rules to a file, shows the changes, and writes a new file. Never overwrites a file. */
export function mend(
  path: string,
  options: MendOptions &
    WorkbookOptions & { output?: string; delimiter?: string; encoding: string; changes: number },
): LocalWork {
  return async (session) => {
    const { view, json } = session;
    const { output, changes: shown } = options;
    const rules = parseRules(options);
    const counts = new Map(rules.map(({ name }) => [name, 0]));
    const first: CellChange[] = [];
    const note = (changes: CellChange[]) => {
      for (const change of changes) {
        counts.set(change.rule, counts.get(change.rule)! + 1);
        if (first.length < shown) first.push(change);
      }
    };
    const file = await openUploadedFile(session, path, options);
    try {
      // Loaded here: other commands start without these packages.
      const { mendFile } = await import('./mend-file.js');
      const mended = mendFile(ownPieces(file.read()!), options, rules, note);
      if (output === undefined) for await (const _ of mended);
      else await writeNew(output, mended);
    } finally {
      await file.close();
    }
    const result: MendResult = {
      output: output ?? null,
      rules: [...counts].map(([rule, changes]) => ({ rule, changes })),
      changes: first,
    };
    view.clear();
    process.stdout.write(json ? `${printableJson(result)}\n` : mendReport(result));
    return exitCodes.done;
  };
}

/** Copies the chunks of a file: the source reuses its buffer. */
export async function* ownPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) yield Buffer.from(piece);
}

function mendReport({ output, rules, changes }: MendResult): string {
  const total = rules.reduce((sum, each) => sum + each.changes, 0);
  const lines = rules.map(({ rule, changes }) => `${countText(changes).padStart(9)}  ${rule}`);
  const first =
    changes.length < total ? `The first ${changes.length} of ${countText(total)} changes:` : 'Changes:';
  const written =
    output === null ? 'Nothing is written: --output names the new file.' : `Written to ${output}.`;
  const table = changes.length > 0 ? `\n${first}\n${changeTable(changes)}` : '';
  return `${linesText(lines)}${table}\n${printable(written)}\n`;
}

function changeTable(changes: readonly CellChange[]): string {
  return textTable(
    [
      ['line', 11],
      ['column', 20],
      ['before', 30],
      ['after', 30],
    ],
    'rule',
    changes.map(({ line, column, before, after, rule }) => [String(line), column, before, after, rule]),
  );
}
