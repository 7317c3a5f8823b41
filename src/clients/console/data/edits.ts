import { useEffect, useState } from 'react';

/** Changed cells by line of the feed and column of the rejects: `7/5`. */
export type Edits = Record<string, string>;

interface StoredEdits {
  run: number;
  cells: Edits;
}

/** The changed cells of a run, whether cells of another run were discarded, and the setter. */
export interface KeptEdits {
  edits: Edits;
  areDiscarded: boolean;
  keepEdits: (edits: Edits) => void;
}

/** The changed cells of a feed, which survive a reload. They belong to the skipped rows of a run: another run discards them. */
export function useEdits(feedId: string, run: number): KeptEdits {
  const name = `mended-${feedId}`;
  const [kept, setKept] = useState(() => readEdits(name));
  const isOld = kept.run !== run;
  useEffect(() => {
    if (isOld) sessionStorage.removeItem(name);
  }, [isOld, name]);
  const keepEdits = (cells: Edits) => {
    sessionStorage.setItem(name, JSON.stringify({ run, cells }));
    setKept({ run, cells });
  };
  const areDiscarded = isOld && Object.keys(kept.cells).length > 0;
  return { edits: isOld ? {} : kept.cells, areDiscarded, keepEdits };
}

function readEdits(name: string): StoredEdits {
  const kept = JSON.parse(sessionStorage.getItem(name) ?? '{}') as Partial<StoredEdits>;
  return { run: kept.run ?? 0, cells: kept.cells ?? {} };
}
