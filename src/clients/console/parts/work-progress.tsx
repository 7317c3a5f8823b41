import { Label } from 'react-aria-components/Label';
import { ProgressBar } from 'react-aria-components/ProgressBar';

interface Options {
  label: string;
  /** Part that is done; undefined: unknown. */
  percent: number | undefined;
  /** Whether the rest takes an unknown time, although the bar is full. */
  isWaiting?: boolean;
}

/** Shows how much of some work is done. */
export function WorkProgress({ label, percent, isWaiting = false }: Options) {
  return (
    <ProgressBar
      className="progress"
      value={percent ?? 0}
      isIndeterminate={isWaiting || percent === undefined}
    >
      {({ valueText, isIndeterminate }) => (
        <>
          <Label>{label}</Label>
          <span>{!isIndeterminate && valueText}</span>
          <progress aria-hidden max={100} value={percent} />
        </>
      )}
    </ProgressBar>
  );
}
