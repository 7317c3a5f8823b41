import { useSyncExternalStore } from 'react';

const name = 'api-key';
const scopeName = 'sees-all-partners';
const listeners = new Set<() => void>();
/** Feeds with changes that were not sent. */
export const unsent = new Set<string>();
let isRefused = false;

/** The API key, in the session storage of this tab only. */
export const apiKey = () => sessionStorage.getItem(name);

/** @param seesAll - whether the key is not limited to a partner */
export function signIn(key: string, seesAll: boolean): void {
  isRefused = false;
  sessionStorage.setItem(name, key);
  keepScope(seesAll);
  listeners.forEach((listener) => listener());
}

export const keepScope = (seesAll: boolean) => sessionStorage.setItem(scopeName, String(seesAll));

/** Returns whether the key is not limited to a partner; undefined until it is known. */
export function keptScope(): boolean | undefined {
  const kept = sessionStorage.getItem(scopeName);
  return kept === null ? undefined : kept === 'true';
}

/** Removes the key, and all unfinished work. */
export function signOut(): void {
  sessionStorage.clear();
  unsent.clear();
  listeners.forEach((listener) => listener());
}

/** Removes a key that the service refuses; unfinished work can be continued with another. */
export function refuseKey(): void {
  isRefused = true;
  sessionStorage.removeItem(name);
  sessionStorage.removeItem(scopeName);
  listeners.forEach((listener) => listener());
}

export const wasRefused = () => isRefused;

/** Returns the key; its changes render the component again. */
export function useApiKey(): string | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, apiKey);
}
