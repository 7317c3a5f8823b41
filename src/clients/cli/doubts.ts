import { createInterface } from 'node:readline/promises';
import type { components } from '../../../generated/openapi';
import { isOpen, type Answers } from '../../feed-format/detect/apply-answers';
import { UsageFailure } from './failures';
import { printable } from './printable';

type Doubt = components['schemas']['FormatDoubt'];
type Choice = components['schemas']['DoubtChoice'];

/**
 * Parses the options `--answer ABOUT=NUMBER[:VALUE]`.
 * @throws UsageFailure for an answer to no doubt of the file, or without the value that it needs
 */
export function parseAnswers(texts: readonly string[], doubts: readonly Doubt[]): Answers {
  const answers = new Map<string, { choice: number; value: string }>();
  for (const text of texts) {
    const [, about, number, value = ''] = /^([a-z_]+)=(\d+)(?::(.+))?$/s.exec(text) ?? [];
    const doubt = doubts.find((each) => each.about === about);
    const choice = Number(number) - 1;
    if (!doubt?.choices[choice])
      throw new UsageFailure(
        `Wrong --answer: ${printable(text)}. There is no such choice. Run inspect without --answer to list the choices.`,
      );
    answers.set(doubt.about, { choice, value });
    if (isOpen(doubt, answers))
      throw new UsageFailure(`Wrong --answer: ${printable(text)} needs a value: ${about}=${number}:VALUE.`);
  }
  return answers;
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

/** Asks for the answers at a terminal, and adds them to the known ones. An empty line leaves a doubt open. */
export async function askFor(doubts: readonly Doubt[], known: Answers): Promise<Answers> {
  const answers = new Map(known);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    for (const { about, choices } of doubts) {
      const choice = Number(await terminal.question(`${about} (1 to ${choices.length}): `)) - 1;
      const wantsValue = choices[choice] && choices[choice].value_pointer !== null;
      answers.set(about, { choice, value: wantsValue ? await terminal.question(`${about}: `) : '' });
    }
    return answers;
  } finally {
    terminal.close();
  }
}
