import { Fragment } from 'react';

/** Shows a text of the document: what stands between backticks is code. */
export function Prose({ children }: { children: string }) {
  return children
    .split('`')
    .map((part, at) => (at % 2 === 0 ? <Fragment key={at}>{part}</Fragment> : <code key={at}>{part}</code>));
}
