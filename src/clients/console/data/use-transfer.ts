import { useEffect, useRef, useState } from 'react';
import type { SentBytes, Transfer } from './send-form';

/** A transfer of this view: its progress, and its cancellation by the user, or when the view is closed. */
export function useTransfer() {
  const [progress, setProgress] = useState<SentBytes>();
  const running = useRef<AbortController>(null);
  const attempt = useRef({ content: '', key: '' });
  useEffect(() => () => running.current?.abort(), []);
  return {
    progress,
    begin(): Transfer {
      setProgress(undefined);
      running.current = new AbortController();
      return { onProgress: setProgress, signal: running.current.signal };
    },
    cancel: () => running.current?.abort(),
    /** Returns the idempotency key of a request: another attempt has no further effect. @param content - of the request */
    keyFor(content: unknown): string {
      const text = JSON.stringify(content);
      if (text !== attempt.current.content) attempt.current = { content: text, key: randomKey() };
      return attempt.current.key;
    },
  };
}

/** Returns 128 random bits. `crypto.randomUUID` exists only on HTTPS pages. */
const randomKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );
