import { useMutation } from '@tanstack/react-query';
import { saveFile } from '../api';
import { Action } from './action';
import { FailureNotice } from './failure';

interface Options {
  /** Text of the button. */
  children: string;
  /** Name of the saved file. */
  name: string;
  fetchFile: () => Promise<Blob>;
}

/** Downloads a file that needs the key, which a link could not send; shows the reason of a failure. */
export function Download({ children, name, fetchFile }: Options) {
  const saved = useMutation({ mutationFn: async () => saveFile(await fetchFile(), name) });
  return (
    <>
      <Action onPress={() => saved.mutate()}>{children}</Action>
      {saved.error && <FailureNotice error={saved.error} />}
    </>
  );
}
