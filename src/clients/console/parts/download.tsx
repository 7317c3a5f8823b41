import { useMutation } from '@tanstack/react-query';
import { saveFile } from '../api';
import { Action } from './action';
import { FailureNotice } from './failure';

interface Options {
  /** What the button says. */
  children: string;
  /** Of the file that is saved. */
  name: string;
  fetchFile: () => Promise<Blob>;
}

/** Downloads what needs the key, because an address of its own could not send it; says why that failed. */
export function Download({ children, name, fetchFile }: Options) {
  const saved = useMutation({ mutationFn: async () => saveFile(await fetchFile(), name) });
  return (
    <>
      <Action onPress={() => saved.mutate()}>{children}</Action>
      {saved.error && <FailureNotice error={saved.error} />}
    </>
  );
}
