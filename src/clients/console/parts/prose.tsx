import { Fragment } from 'react';

/** Shows a text of the document, with code between backticks. */
export function Prose({ children }: { children: string }) {
  return children
    .split('`')
    .map((part, at) => (at % 2 === 0 ? <Fragment key={at}>{part}</Fragment> : <code key={at}>{part}</code>));
}
