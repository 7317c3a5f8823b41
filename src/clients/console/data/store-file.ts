import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { addressOf } from '../routes';
import { removeDraft, type Draft } from './draft';
import { fetchFormats } from './formats';
import type { Definition } from './mapping';
import { isSame } from './reading';
import type { ReadingChoice } from './reading-choice';
import { requestUpload } from './upload';
import { useTransfer } from './use-transfer';

/** Stores a file, and opens its preview. A new definition is saved with it, but replaces a stored one only after a question. */
export function useStoreFile(draft: Draft, { sent, name, definition, isNew }: ReadingChoice) {
  const [, navigate] = useLocation();
  const [replaced, setReplaced] = useState<Definition>();
  const [confirmed, setConfirmed] = useState<{ name: string; stored: Definition }>();
  const transfer = useTransfer();
  const upload = useMutation({
    mutationFn: async (options: ReadingChoice['sent']) => {
      const key = transfer.keyFor([draft.file.lastModified, options]);
      const receipt = await requestUpload({ ...draft, ...options }, key, transfer.begin());
      await removeDraft();
      return receipt;
    },
    onSuccess: ({ feed_id }) => navigate(addressOf('feed', { feed: feed_id, step: 'plan' })),
  });
  const saved = useMutation({ mutationFn: () => fetchFormats(draft.partner) });
  /** Asks once per stored definition. An equal definition is not saved again. */
  const ask = async () => {
    if (!isNew) return upload.mutate(sent);
    const latest = await saved.mutateAsync();
    const stored = latest.find((format) => format.format_name === name)?.definition;
    if (stored && isSame(stored, definition)) {
      // An attempt without a response may have saved it: an identical repetition is stored once.
      const isRepeated = upload.error !== null && isSame(upload.variables, sent);
      return upload.mutate(isRepeated ? sent : { ...sent, definition: undefined });
    }
    if (!stored || isSame(confirmed, { name, stored })) return upload.mutate(sent);
    setReplaced(stored);
  };
  return {
    upload,
    saved,
    progress: transfer.progress,
    cancel: transfer.cancel,
    store: () => void ask().catch(() => undefined),
    /** The stored definition to ask about. */
    replaced,
    keep: () => setReplaced(undefined),
    replace: () => {
      if (replaced) setConfirmed({ name, stored: replaced });
      setReplaced(undefined);
      upload.mutate(sent);
    },
  };
}

export type StoreFile = ReturnType<typeof useStoreFile>;
