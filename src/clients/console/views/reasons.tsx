import type { Schemas } from '../api';
import { useRemedies } from '../data/queries';
import { issueName } from '../data/reasons';
import { count } from '../locale';
import { Card } from '../parts/page';
import { Prose } from '../parts/prose';
import { texts } from '../texts';

interface ReasonsOptions {
  counts: Schemas['RowIssueCount'][];
  /** The selected reason; empty: all. */
  code: string;
  onChoose: (code: string) => void;
}

/** The reasons of the issues in words, with their number and what to do; one of them can be selected. */
export function Reasons({ counts, code, onChoose }: ReasonsOptions) {
  const remedyOf = useRemedies();
  return (
    <Card title={texts.issues.reasons}>
      <ul className="reasons">
        {counts.map(({ code: reason, count: rows, severity }) => {
          const remedy = remedyOf(reason);
          const isChosen = reason === code;
          return (
            <li key={reason}>
              <button type="button" aria-pressed={isChosen} onClick={() => onChoose(isChosen ? '' : reason)}>
                <strong>{issueName(reason)}</strong>
                <span className={`badge ${severity === 'error' ? 'bad' : 'watch'}`}>
                  {texts.issues[severity]}: {count(rows)}
                </span>
              </button>
              {remedy && (
                <p>
                  <Prose>{remedy}</Prose>
                </p>
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
