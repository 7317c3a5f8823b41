import { useSyncExternalStore } from 'react';

/** Whether the screen matches a media query; renders the component again when that changes. */
export function useMedia(query: string): boolean {
  const media = matchMedia(query);
  return useSyncExternalStore(
    (changed) => {
      media.addEventListener('change', changed);
      return () => media.removeEventListener('change', changed);
    },
    () => media.matches,
  );
}
