import type { ReactNode } from 'react';
import { WorkbookFault } from '../../workbook/workbook-fault';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { FileSteps } from './file-steps';

interface Options {
  /** Of the workbook. */
  name: string;
  error: Error;
  /** Ways to continue. */
  children?: ReactNode;
}

/** Shows why a workbook, or a sheet of it, cannot be read, and the remedy. */
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
      <FileSteps kind={error instanceof WorkbookFault ? error.fileKind : undefined} />
      {children}
    </div>
  );
}
