import { Fragment } from 'react';
import { texts } from '../texts';

/** Control characters, and characters that change the direction of a text or are invisible. */
const invisible = /([\p{Cc}\p{Cf}])/u;

/** Replaces invisible characters of a text by their names, for places without markup. */
export const visible = (text: string) =>
  text
    .split(invisible)
    .map((part, at) => (at % 2 === 0 ? part : nameOf(part)))
    .join('');

const nameOf = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;

/** Shows an unchanged text of a feed: isolated from its surroundings, with names of its invisible characters. */
export function Value({ children }: { children: string | null | undefined }) {
  if (children === null || children === undefined || children === '')
    return <span className="muted">{texts.none}</span>;
  return (
    <bdi className="value">
      {children.split(invisible).map((part, at) =>
        at % 2 === 0 || part === '\n' ? (
          <Fragment key={at}>{part}</Fragment>
        ) : (
          <span key={at} className="invisible">
            {nameOf(part)}
          </span>
        ),
      )}
    </bdi>
  );
}
