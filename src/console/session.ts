import { useSyncExternalStore } from 'react';

const name = 'api-key';
const listeners = new Set<() => void>();
let isRefused = false;

/** The API key, in the session storage of this tab only. */
export const apiKey = () => sessionStorage.getItem(name);

export function signIn(key: string): void {
  isRefused = false;
  sessionStorage.setItem(name, key);
  listeners.forEach((listener) => listener());
}

/** Forgets the key, and all that was begun with it. */
export function signOut(): void {
  sessionStorage.clear();
  listeners.forEach((listener) => listener());
}

/** Forgets a key that the service refuses; what was begun can be continued with another. */
export function refuseKey(): void {
  isRefused = true;
  sessionStorage.removeItem(name);
  listeners.forEach((listener) => listener());
}

export const wasRefused = () => isRefused;

/** Returns the key; the component is rendered again when it changes. */
export function useApiKey(): string | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, apiKey);
}
