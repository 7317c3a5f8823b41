import { useQuery } from '@tanstack/react-query';
import { del, get, set } from 'idb-keyval';

/** A file that was chosen but not sent. It stays in the browser, and survives a reload. */
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
