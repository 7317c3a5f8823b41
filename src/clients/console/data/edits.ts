import { useEffect, useState } from 'react';
import { unsent } from '../session';
import { startMending, type Mending, type RowEdits } from './mending';

interface StoredEdits {
  run: number;
  rows: RowEdits;
}

/** The changes of a run's skipped rows, whether those of another run were discarded, and the setter. */
export interface KeptEdits {
  mending: Mending;
  areDiscarded: boolean;
  /** Whether they survive a reload: a browser stores some megabytes. */
  areStored: boolean;
  keep: (change: (mending: Mending) => Mending) => void;
}

const warn = (event: BeforeUnloadEvent) => {
  if (unsent.size > 0) event.preventDefault();
};

/** The changes of a feed's skipped rows, which survive a reload. They belong to a run: another run discards them. */
export function useEdits(feedId: string, run: number): KeptEdits {
  const name = `mended-${feedId}`;
  const [stored] = useState(() => readEdits(name));
  const isOld = stored.run !== run;
  const [state, setState] = useState({ mending: startMending(isOld ? {} : stored.rows), areStored: true });
  const { mending } = state;
  const isChanged = Object.keys(mending.edits).length > 0;
  useEffect(() => {
    if (isOld) sessionStorage.removeItem(name);
  }, [isOld, name]);
  useEffect(() => {
    if (isChanged) unsent.add(feedId);
    else unsent.delete(feedId);
    // Also in other views of this tab: closing it loses the changes.
    window.addEventListener('beforeunload', warn);
  }, [isChanged, feedId]);
  const keep = (change: (before: Mending) => Mending) =>
    setState((before) => {
      const next = change(before.mending);
      return { mending: next, areStored: storeEdits(name, { run, rows: next.edits }) };
    });
  const areDiscarded = isOld && Object.keys(stored.rows).length > 0 && !isChanged;
  return { ...state, areDiscarded, keep };
}

function readEdits(name: string): StoredEdits {
  const kept = JSON.parse(sessionStorage.getItem(name) ?? '{}') as Partial<StoredEdits>;
  return { run: kept.run ?? 0, rows: kept.rows ?? {} };
}

/** Stores the changes for a reload. @returns whether the browser has space for them */
function storeEdits(name: string, edits: StoredEdits): boolean {
  try {
    sessionStorage.setItem(name, JSON.stringify(edits));
    return true;
  } catch {
    sessionStorage.removeItem(name);
    return false;
  }
}
