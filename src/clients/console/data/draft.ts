import { useQuery } from '@tanstack/react-query';
import { del, get, set } from 'idb-keyval';

/** A file that has been chosen and not been sent. It stays in the browser, so that a reload does not lose it. */
export interface Draft {
  /** Empty: not entered yet. */
  partner: string;
  file: File;
}

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
