import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { allItems, usePages } from './queries';

/** A source by its path in the API. */
export interface SourcePath {
  partner_name: string;
  source_name: string;
}

const keyOf = ({ partner_name, source_name }: SourcePath) => [partner_name, source_name];

/** @param partner - empty: the sources of all partners */
export const useSources = (partner: string) =>
  usePages(['sources', partner], (cursor) =>
    bodyOf(client.GET('/sources', { params: { query: { partner_name: partner || undefined, cursor } } })),
  );

/** The names of the partner's sources: no more than 100. */
export const useSourceNames = (partner: string) =>
  useQuery({
    queryKey: ['sources', partner, 'names'],
    queryFn: async () => {
      const items = await allItems((cursor) =>
        bodyOf(client.GET('/sources', { params: { query: { partner_name: partner, limit: 100, cursor } } })),
      );
      return items.map(({ source_name }) => source_name);
    },
    enabled: partner !== '',
  });

export const useSource = (path: SourcePath) =>
  useQuery({
    queryKey: ['source', ...keyOf(path)],
    queryFn: () => bodyOf(client.GET('/partners/{partner_name}/sources/{source_name}', { params: { path } })),
  });

export const isInProgress = (fetch: Schemas['SourceFetch'] | null | undefined) =>
  fetch?.status === 'queued' || fetch?.status === 'running';

const fetchesOf = (path: SourcePath, query: { limit?: number; cursor?: string }) =>
  bodyOf(client.GET('/partners/{partner_name}/sources/{source_name}/fetches', { params: { path, query } }));

const idleMilliseconds = 15_000;

/**
 * Follows the last fetch of a source: asks each second while it is queued or running. null: there is none yet.
 * @param isWatched - whether to notice a later one
 */
export const useLastFetch = (path: SourcePath, isWatched = true) =>
  useQuery({
    queryKey: ['fetches', ...keyOf(path), 'last'],
    queryFn: async () => (await fetchesOf(path, { limit: 1 })).items[0] ?? null,
    refetchInterval: ({ state }) => (isInProgress(state.data) ? 1_000 : isWatched && idleMilliseconds),
  });

/** Every fetch of a source, newest first. They are read again when the last one changes. */
export function useFetches(path: SourcePath, last: Schemas['SourceFetch'] | null | undefined) {
  const queries = useQueryClient();
  const key = ['fetches', ...keyOf(path), 'all'];
  const state = last && `${last.fetch}/${last.status}/${last.attempts}`;
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: key });
    void queries.invalidateQueries({ queryKey: ['source', ...keyOf(path)] });
    // The key follows from the names.
  }, [queries, state, path.partner_name, path.source_name]);
  return usePages(key, (cursor) => fetchesOf(path, { cursor }));
}

/** Queues a fetch; a fetch that is queued or running starts now. */
export function useFetchNow() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (path: SourcePath) =>
      bodyOf(client.POST('/partners/{partner_name}/sources/{source_name}/fetch', { params: { path } })),
    onSuccess: (_, path) => queries.invalidateQueries({ queryKey: ['fetches', ...keyOf(path)] }),
  });
}

/** Stores a source under its name. */
export function useSaveSource() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ path, definition }: { path: SourcePath; definition: Schemas['SourceDefinition'] }) =>
      bodyOf(
        client.PUT('/partners/{partner_name}/sources/{source_name}', {
          params: { path },
          body: definition,
        }),
      ),
    onSuccess: async (source) => {
      queries.setQueryData(['source', source.partner_name, source.source_name], source);
      await queries.invalidateQueries({ queryKey: ['sources'] });
    },
  });
}
