import { useQuery } from '@tanstack/react-query';
import { del, get, set } from 'idb-keyval';
import type { SheetOptions } from '../../workbook/sheet-table';
import { routes } from '../routes';

/** A file that was chosen but not sent. It stays in the browser, and survives a reload. */
export interface Draft {
  /** Empty: not entered yet. */
  partner: string;
  /** What is checked and sent; the workbook itself until a sheet is chosen. */
  file: File;
  /** The workbook that the file is made of. */
  workbook?: File;
  /** How the file is made of the workbook; absent: not chosen yet. */
  sheet?: SheetOptions;
}

/** Returns the address of the step after the choice of a file. */
export const nextStep = ({ workbook, sheet }: Draft) => (workbook && !sheet ? routes.workbook : routes.check);

export const saveDraft = (draft: Draft) => set('draft', draft);
export const removeDraft = () => del('draft');

/** The draft; null without one. */
export const useDraft = () =>
  useQuery({
    queryKey: ['draft'],
    queryFn: async () => (await get<Draft>('draft')) ?? null,
    staleTime: 0,
    gcTime: 0,
  });
