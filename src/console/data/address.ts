import { useSearchParams } from 'wouter';

/** Reads and writes the filters of a view in its address. */
export function useFilters(): [(name: string) => string, (changes: Record<string, string>) => void] {
  const [search, setSearch] = useSearchParams();
  const read = (name: string) => search.get(name) ?? '';
  const write = (changes: Record<string, string>) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          if (value === '') after.delete(name);
          else after.set(name, value);
        }
        return after;
      },
      { replace: true },
    );
  return [read, write];
}
