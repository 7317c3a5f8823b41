import { consolePath } from '../api';
import { texts } from '../texts';

/** The service has another release of the console than the one in this tab. */
export class NewReleaseError extends Error {}

/** Loads code of this release. @throws NewReleaseError if the service no longer has it; Error if it cannot be reached */
export async function loadCode<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load();
  } catch (error) {
    throw (await isReplaced()) ? new NewReleaseError(undefined, { cause: error }) : error;
  }
}

/** Whether the page of the service names another script than the page of this tab. */
async function isReplaced(): Promise<boolean> {
  const script = document.querySelector<HTMLScriptElement>('script[src]')!.src;
  const response = await fetch(consolePath, { cache: 'no-cache' }).catch(() => {
    throw new Error(texts.failure.offline);
  });
  return response.ok && !(await response.text()).includes(script.slice(script.lastIndexOf('/') + 1));
}
