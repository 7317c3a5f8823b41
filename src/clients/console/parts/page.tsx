import { useEffect, useRef, type ReactNode } from 'react';
import { texts } from '../texts';
import { Value, visible } from './value';

interface Options {
  title: string;
  /** Beside the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A view: sets the title of the tab, and moves screen readers to its heading. */
export function PageView({ title, actions, children }: Options) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(title)} · ${texts.name}`;
    heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <>
      <div className="page-head">
        <h1 ref={heading} tabIndex={-1}>
          <Value>{title}</Value>
        </h1>
        {actions && <div className="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

export function Card({ title, actions, children }: Partial<Options>) {
  return (
    <section className="card">
      {title && (
        <div className="card-head">
          <h2>{title}</h2>
          {actions && <div className="actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

export function Loading() {
  return (
    <p role="status" className="muted">
      {texts.loading}
    </p>
  );
}
