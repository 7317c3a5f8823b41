import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useMemo } from 'react';
import { createRoot } from 'react-dom/client';
import { Router, useRouter } from 'wouter';
import { consolePath, RequestError } from './api';
import './console.css';
import { decodingParser, useEncodedLocation } from './data/address';
import { Shell } from './shell';

/** Retries requests that a busy service refused; other refusals are permanent. */
function mayRetry(failures: number, error: Error): boolean {
  const isBusy = error instanceof RequestError ? [429, 503].includes(error.status) : true;
  return isBusy && failures < 2;
}

const queries = new QueryClient({
  defaultOptions: { queries: { retry: mayRetry, refetchOnWindowFocus: false, staleTime: 2_000 } },
});

function Console() {
  const { parser } = useRouter();
  const decoding = useMemo(() => decodingParser(parser), [parser]);
  return (
    <Router base={consolePath} hook={useEncodedLocation} parser={decoding}>
      <Shell />
    </Router>
  );
}

createRoot(document.getElementById('console')!).render(
  <QueryClientProvider client={queries}>
    <Console />
  </QueryClientProvider>,
);
