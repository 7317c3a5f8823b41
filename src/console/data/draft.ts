import { del, get, set } from 'idb-keyval';

/** A file that has been chosen and not been sent. It stays in the browser, so that a reload does not lose it. */
export interface Draft {
  partner: string;
  file: File;
}

export const saveDraft = (draft: Draft) => set('draft', draft);
export const readDraft = async (): Promise<Draft | null> => (await get<Draft>('draft')) ?? null;
export const removeDraft = () => del('draft');
