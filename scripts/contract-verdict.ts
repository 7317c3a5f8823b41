import type { Change } from './contract-rules';

interface Entry {
  version: string;
  date: string;
  /** Text by section heading. */
  sections: Record<string, string>;
}

export interface Contract {
  released: string;
  version: string;
  changelog: string;
  /** Changes from the released document to this one. */
  changes: readonly Change[];
}

/** Lists the required corrections before a release, one instruction per line. */
export function judge({ released, version, changelog, changes }: Contract): string[] {
  const entries = readChangelog(changelog);
  const newest = entries[0];
  if (!newest) return ['spec/CHANGELOG.md has no entry of the form "## [1.0.0] - 2026-01-31".'];

  const problems = orderProblems(entries);
  if (newest.version !== version) {
    problems.push(`info.version is ${version}, the newest entry of spec/CHANGELOG.md ${newest.version}.`);
  }
  if (!entries.some((entry) => entry.version === released)) {
    problems.push(`spec/CHANGELOG.md has no entry for the released version ${released}.`);
  }
  const breaking = changes.filter(({ impact }) => impact === 'breaking');
  const needed = neededVersion(released, breaking.length > 0, changes.length > 0);
  if (compare(newest.version, needed) < 0) {
    problems.push(
      `The changes need version ${needed} at least: set info.version, and add "## [${needed}] - <date>" on top of spec/CHANGELOG.md.`,
    );
  }
  if (breaking.length > 0) problems.push(...sectionProblems(newest, breaking));
  return problems;
}

function sectionProblems({ version, sections }: Entry, breaking: readonly Change[]): string[] {
  const section = sections.Breaking;
  if (section === undefined) {
    return [`The entry ${version} of spec/CHANGELOG.md has no section "### Breaking".`];
  }
  return [...new Set(breaking.map(({ subject }) => subject))]
    .filter((subject) => !names(section, subject))
    .map((subject) => `"### Breaking" of ${version} in spec/CHANGELOG.md does not name \`${subject}\`.`);
}

/** Matches whole subjects: `GET /orders/{order_id}` does not name `GET /orders`. */
function names(text: string, subject: string): boolean {
  const literal = subject.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![\\w/])${literal}(?![\\w/{-])`).test(text);
}

function neededVersion(released: string, breaks: boolean, changes: boolean): string {
  const [major, minor] = numbers(released);
  if (breaks) return `${major + 1}.0.0`;
  return changes ? `${major}.${minor + 1}.0` : released;
}

function orderProblems(entries: readonly Entry[]): string[] {
  return entries.slice(1).flatMap((older, index) => {
    const newer = entries[index]!;
    return compare(newer.version, older.version) > 0 && newer.date >= older.date
      ? []
      : [
          `In spec/CHANGELOG.md, ${newer.version} stands before ${older.version}: newest first, with later dates.`,
        ];
  });
}

/** Reads the entries of a changelog, the newest first. Ignores headings of another form. */
export function readChangelog(text: string): Entry[] {
  const [, ...parts] = text.split(/^## /m);
  return parts.flatMap((part) => {
    const heading = /^\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$/m.exec(part.split('\n')[0]!);
    if (!heading) return [];
    const [, ...sections] = part.split(/^### /m);
    return {
      version: heading[1]!,
      date: heading[2]!,
      sections: Object.fromEntries(
        sections.map((section) => {
          const [title, ...lines] = section.split('\n');
          return [title!.trim(), lines.join('\n')];
        }),
      ),
    };
  });
}

function compare(a: string, b: string): number {
  const [left, right] = [numbers(a), numbers(b)];
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}

function numbers(version: string): [number, number, number] {
  const match = /^(\d+)\.(\d+)\.(\d+)$/.exec(version);
  if (!match) throw new Error(`${version} is not a version of the form 1.0.0.`);
  return [Number(match[1]), Number(match[2]), Number(match[3])];
}
