import type { Schemas } from '../api';
import { useProfile } from '../data/queries';
import { Prose } from '../parts/prose';
import { Value } from '../parts/value';
import { texts } from '../texts';

/** Faults of rows as sentences, each with the number of its rows and the lines of the first ones. */
export function Faults({ counts }: { counts: Schemas['RowIssueCount'][] }) {
  const profile = useProfile();
  if (profile.isPending) return null;
  const meanings = profile.data?.issue_codes ?? [];
  return (
    <ul className="faults">
      {counts.map(({ code, severity, count, first_rows: rows }) => (
        <li key={code}>
          <span className={`badge ${severity === 'error' ? 'bad' : 'watch'}`}>{texts.issues[severity]}</span>
          <div>
            <Prose>
              {meanings.find((known) => known.code === code)?.description ?? texts.faults.unknown}
            </Prose>
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
