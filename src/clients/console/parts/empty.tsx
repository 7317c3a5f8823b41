import type { ReactNode } from 'react';

interface Options {
  title: string;
  /** What to do so that there is something. */
  lead?: ReactNode;
  /** Its link or button. */
  action?: ReactNode;
}

/** In place of an empty list: what belongs here, and how it comes here. */
export function Empty({ title, lead, action }: Options) {
  return (
    <div className="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {lead && <p className="muted">{lead}</p>}
      {action}
    </div>
  );
}
