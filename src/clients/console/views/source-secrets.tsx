import { losesSecrets, secretMask, type SourceDraft } from '../data/source-draft';
import type { Schemas } from '../api';
import { Action } from '../parts/action';
import { Field } from '../parts/field';
import { texts } from '../texts';

interface Options {
  draft: SourceDraft;
  stored: Schemas['SourceDefinition'] | undefined;
  /** Faults by JSON pointers into the definition. */
  faults: Record<string, string>;
  onChange: (changes: Partial<SourceDraft>) => void;
}

/** Credentials for the server of the file: user name and password, and headers. Stored values are masked. */
export function SecretFields({ draft, stored, faults, onChange }: Options) {
  const { headers, username, password } = draft;
  const { secrets } = texts;
  const change = (at: number, changes: Partial<SourceDraft['headers'][number]>) =>
    onChange({
      headers: headers.map((header, other) => (other === at ? { ...header, ...changes } : header)),
    });
  const hintOf = (value: string) => (value === secretMask ? secrets.stored : undefined);
  return (
    <fieldset className="group">
      <legend>{secrets.title}</legend>
      <p className="muted">{secrets.lead}</p>
      {losesSecrets(draft, stored) && (
        <p role="status" className="notice">
          {secrets.lost}
        </p>
      )}
      <div className="pair">
        <Field
          label={secrets.username}
          error={faults['/basic_auth/username']}
          autoComplete="off"
          value={username}
          onChange={(value) => onChange({ username: value })}
        />
        <Field
          label={secrets.password}
          hint={hintOf(password)}
          error={faults['/basic_auth/password']}
          type="password"
          autoComplete="new-password"
          value={password}
          onChange={(value) => onChange({ password: value })}
        />
      </div>
      {headers.map(({ name, value }, at) => (
        <div key={at} className="pair">
          <Field
            label={secrets.header(at + 1)}
            error={faults[`/headers/${name}`]}
            spellCheck="false"
            value={name}
            onChange={(text) => change(at, { name: text })}
          />
          <Field
            label={secrets.value(at + 1)}
            hint={hintOf(value)}
            type="password"
            autoComplete="new-password"
            value={value}
            onChange={(text) => change(at, { value: text })}
          />
          <Action
            aria-label={secrets.removeHeader(at + 1)}
            onPress={() => onChange({ headers: headers.filter((_, other) => other !== at) })}
          >
            {secrets.remove}
          </Action>
        </div>
      ))}
      <Action onPress={() => onChange({ headers: [...headers, { name: '', value: '' }] })}>
        {secrets.addHeader}
      </Action>
    </fieldset>
  );
}
