import type { Schemas } from '../api';
import { useRemedies } from '../data/queries';
import { issueName } from '../data/reasons';
import { Prose } from '../parts/prose';
import { Value } from '../parts/value';
import { texts } from '../texts';

/** Faults of rows, each with what to do, the number of its rows and the lines of the first ones. */
export function Faults({ counts }: { counts: Schemas['RowIssueCount'][] }) {
  const remedyOf = useRemedies();
  return (
    <ul className="faults">
      {counts.map(({ code, severity, count, first_rows: rows }) => (
        <li key={code}>
          <span className={`badge ${severity === 'error' ? 'bad' : 'watch'}`}>{texts.issues[severity]}</span>
          <div>
            <p>
              <strong>{issueName(code)}</strong>
            </p>
            <Prose>{remedyOf(code) ?? ''}</Prose>
            <p className="muted small">
              {texts.faults.rows(
                count,
                rows.map(({ line }) => line),
              )}
              {rows[0]?.value && (
                <>
                  {' '}
                  <mark>
                    <Value>{rows[0].value}</Value>
                  </mark>
                </>
              )}
            </p>
          </div>
        </li>
      ))}
    </ul>
  );
}
