import type { Schemas } from '../api';
import { useProfile } from '../data/queries';
import { Prose } from '../parts/prose';
import { Value } from '../parts/value';
import { texts } from '../texts';

/** Faults of rows, in the words of the issue codes, each with its first row. */
export function Faults({ counts }: { counts: Schemas['RowIssueCount'][] }) {
  const meanings = useProfile().data?.issue_codes ?? [];
  return (
    <ul>
      {counts.map(({ code, count, first_rows: [first] }) => (
        <li key={code}>
          <Prose>{meanings.find((known) => known.code === code)?.description ?? code}</Prose>{' '}
          <span className="muted">
            <code>{code}</code>, {texts.issues.rows(count)}
            {first && `, ${texts.issues.first(first.line)} `}
          </span>
          {first?.value && <Value>{first.value}</Value>}
        </li>
      ))}
    </ul>
  );
}
