import type { ReactNode } from 'react';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  /** Of the workbook. */
  name: string;
  error: Error;
  /** Ways to continue. */
  children?: ReactNode;
}

/** Shows why a workbook, or a sheet of it, cannot be read. */
export function WorkbookProblem({ name, error, children }: Options) {
  return (
    <div role="alert" className="notice bad">
      <h2>{texts.workbook.fault}</h2>
      <p className="muted">
        <Value>{name}</Value>
      </p>
      <p>
        <Value>{error.message}</Value>
      </p>
      {children}
    </div>
  );
}
