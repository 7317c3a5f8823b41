import { useEffect, useState } from 'react';
import type { Schemas } from '../api';
import { useJob } from '../data/queries';
import { duration, fileSize } from '../locale';
import { Action } from '../parts/action';
import { WorkProgress } from '../parts/work-progress';
import { texts } from '../texts';

interface Options {
  feed: Schemas['Feed'];
  onCancel: () => void;
}

/** Shows that a plan is in progress, and for how long. The number of rows is known once the feed was run. */
export function PlanProgress({ feed, onCancel }: Options) {
  const rows = useJob(feed.validation_job_id).data?.summary?.processed;
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((passed) => passed + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <WorkProgress
        label={rows ? texts.plan.comparingRows(rows) : texts.plan.comparing(fileSize(feed.size_bytes))}
        percent={undefined}
      />
      <p className="muted">{texts.plan.elapsed(duration(1_000 * seconds))}</p>
      <div className="actions">
        <Action onPress={onCancel}>{texts.plan.cancel}</Action>
      </div>
    </>
  );
}
