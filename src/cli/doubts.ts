import { createInterface } from 'node:readline/promises';
import type { components } from '../../generated/openapi';
import type { FormatDefinition } from '../feed-format/format-definition';
import { applyMergePatch, patchAt } from '../feed-format/merge-patch';
import { UsageFailure } from './failures';
import { printable } from './printable';

type FeedInspection = components['schemas']['FeedInspection'];
type Doubt = components['schemas']['FormatDoubt'];
type Choice = components['schemas']['DoubtChoice'];

/** An answer: the number of a choice, and the value that it wants. */
interface Answer {
  choice: Choice;
  value: string | undefined;
}

/** Answers to doubts, by what they are about. */
export type Answers = Map<string, Answer>;

/**
 * Parses the options `--answer ABOUT=NUMBER[:VALUE]`.
 * @throws UsageFailure for an answer to no doubt of the file, and for one without its value
 */
export function parseAnswers(texts: readonly string[], doubts: readonly Doubt[]): Answers {
  const answers: Answers = new Map();
  for (const text of texts) {
    const [, about, number, value] = /^([a-z_]+)=(\d+)(?::(.+))?$/s.exec(text) ?? [];
    const doubt = doubts.find((each) => each.about === about);
    const choice = doubt?.choices[Number(number) - 1];
    if (!doubt || !choice)
      throw new UsageFailure(
        `Wrong --answer: ${printable(text)}. There is no such choice; inspect lists them.`,
      );
    if (choice.value_pointer !== null && value === undefined)
      throw new UsageFailure(`Wrong --answer: ${printable(text)} needs a value: ${about}=${number}:VALUE.`);
    answers.set(doubt.about, { choice, value });
  }
  return answers;
}

export const openDoubts = ({ doubts }: FeedInspection, answers: Answers): Doubt[] =>
  doubts.filter(({ about }) => !answers.has(about));

/** Returns the format that a file is read by: the suggested one, or the draft with all answers; null while a doubt is open. */
export function answeredFormat(inspection: FeedInspection, answers: Answers): FormatDefinition | null {
  const { suggested_format, draft_format, doubts } = inspection;
  if (suggested_format || !draft_format || openDoubts(inspection, answers).length > 0)
    return suggested_format;
  const changed = doubts.reduce<unknown>((draft, { about }) => {
    const { choice, value } = answers.get(about)!;
    const patched = applyMergePatch(draft, choice.changes);
    return choice.value_pointer === null
      ? patched
      : applyMergePatch(patched, patchAt(choice.value_pointer, value));
  }, draft_format);
  return changed as FormatDefinition;
}

/** Lists doubts with their choices. */
export function doubtLines(doubts: readonly Doubt[]): string[] {
  if (doubts.length === 0) return [];
  return [
    'In doubt: answer with --answer ABOUT=NUMBER for each.',
    ...doubts.flatMap(({ about, message, choices }) => [
      `${about}: ${message}`,
      ...choices.map((choice, index) => `  ${about}=${index + 1}  ${choiceText(choice, about, index)}`),
    ]),
  ];
}

function choiceText({ label, value_pointer, sample }: Choice, about: string, index: number): string {
  const example = sample[0] && ` (${valuesText(sample[0])})`;
  const needed = value_pointer === null ? '' : `: --answer ${about}=${index + 1}:VALUE`;
  return `${label}${needed}${example ?? ''}`;
}

const valuesText = ({ sku, product_name, price, currency }: Choice['sample'][number]) =>
  [sku, product_name, [price, currency].filter(Boolean).join(' ')].filter(Boolean).join('; ');

/** Asks for the answers at a terminal. An empty line leaves a doubt open. */
export async function askFor(doubts: readonly Doubt[], answers: Answers): Promise<void> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    for (const { about, choices } of doubts) {
      const number = Number(await terminal.question(`${about} (1 to ${choices.length}): `));
      const choice = choices[number - 1];
      if (!choice) continue;
      const value = choice.value_pointer === null ? undefined : await terminal.question(`${about}: `);
      if (value !== '') answers.set(about, { choice, value });
    }
  } finally {
    terminal.close();
  }
}
