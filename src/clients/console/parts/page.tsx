import { Fragment, useEffect, useRef, type ReactNode } from 'react';
import { Link } from 'wouter';
import { texts } from '../texts';
import { focusAwaitedSearch } from './search-key';
import { Value, visible } from './value';

interface Options {
  title: string;
  /** The views above this one, outermost first. */
  trail?: { text: string; href: string }[];
  /** Below the title. */
  lead?: ReactNode;
  /** Beside the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A view: sets the title of the tab, and moves screen readers to its heading. */
export function PageView({ title, trail, lead, actions, children }: Options) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(title)} · ${texts.name}`;
    if (!focusAwaitedSearch()) heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <>
      <div className="page-head">
        <div className="titles">
          {trail && <Trail trail={trail} />}
          <h1 ref={heading} tabIndex={-1}>
            <Value>{title}</Value>
          </h1>
          {lead && <div className="muted">{lead}</div>}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

function Trail({ trail }: Required<Pick<Options, 'trail'>>) {
  return (
    <nav className="trail" aria-label={texts.nav.trail}>
      {trail.map(({ text, href }) => (
        <Fragment key={href}>
          <Link href={href}>
            <Value>{text}</Value>
          </Link>
          <span aria-hidden>/</span>
        </Fragment>
      ))}
    </nav>
  );
}

export function Card({ title, actions, children }: Partial<Pick<Options, 'title' | 'actions' | 'children'>>) {
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
