import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { consolePath, RequestError } from './api';
import './console.css';
import { Shell } from './shell';

/** Repeats what a busy service refused; other refusals stay the same. */
function mayRetry(failures: number, error: Error): boolean {
  const isBusy = error instanceof RequestError ? [429, 503].includes(error.status) : true;
  return isBusy && failures < 2;
}

const queries = new QueryClient({
  defaultOptions: { queries: { retry: mayRetry, refetchOnWindowFocus: false, staleTime: 2_000 } },
});

createRoot(document.getElementById('console')!).render(
  <QueryClientProvider client={queries}>
    <Router base={consolePath}>
      <Shell />
    </Router>
  </QueryClientProvider>,
);
