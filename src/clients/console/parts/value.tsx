import { Fragment } from 'react';
import { texts } from '../texts';

/** Control characters, and those that turn the direction of a text or cannot be seen. */
const invisible = /([\p{Cc}\p{Cf}])/u;

/** Returns a text with its invisible characters named, for where there is no markup. */
export const visible = (text: string) =>
  text
    .split(invisible)
    .map((part, at) => (at % 2 === 0 ? part : nameOf(part)))
    .join('');

const nameOf = (character: string) =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;

/** Shows a text of a feed as it is: apart from its surroundings, and with its invisible characters named. */
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
