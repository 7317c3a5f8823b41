import type { components } from '../../../generated/openapi';
import type { FormatDefinition } from '../format-definition';
import { applyMergePatch, patchAt } from './merge-patch';

type Inspection = components['schemas']['FeedInspection'];
type Doubt = components['schemas']['FormatDoubt'];

/** Answers to doubts by topic: the index of a choice, from 0, and the value if the choice needs one. */
export type Answers = ReadonlyMap<string, { choice: number; value: string }>;

/** Returns the format that results from a draft and answers; null without a draft, and while a doubt is open. */
export function applyAnswers(
  { draft_format, doubts }: Pick<Inspection, 'draft_format' | 'doubts'>,
  answers: Answers,
): FormatDefinition | null {
  if (!draft_format || doubts.some((doubt) => isOpen(doubt, answers))) return null;
  const changes = doubts.flatMap(({ about, choices }) => {
    const { choice, value } = answers.get(about)!;
    const { changes: fixed, value_pointer: pointer } = choices[choice]!;
    return pointer === null ? [fixed] : [fixed, patchAt(pointer, value)];
  });
  return changes.reduce<unknown>(applyMergePatch, draft_format) as FormatDefinition;
}

/** Tells whether a doubt has no answer, or an answer without its value. */
export function isOpen({ about, choices }: Doubt, answers: Answers): boolean {
  const answer = answers.get(about);
  const choice = answer && choices[answer.choice];
  return !choice || (choice.value_pointer !== null && answer.value.trim() === '');
}
