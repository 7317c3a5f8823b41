import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Form } from 'react-aria-components/Form';
import { Link } from 'wouter';
import { productColumns } from '../../../feed-format/columns';
import { bodyOf, client } from '../api';
import { membersInWords } from '../data/definition-words';
import {
  columnDraftOf,
  columnSourceOf,
  encodings,
  isEditable,
  otherMembers,
  type ColumnDraft,
} from '../data/format-draft';
import { withSource, type ColumnName, type Definition } from '../data/mapping';
import { faultsByPointer } from '../data/source-draft';
import { Action } from '../parts/action';
import { FailureNotice } from '../parts/failure';
import { Choice, Field } from '../parts/field';
import { Facts } from '../parts/facts';
import { Card, PageView } from '../parts/page';
import { Query } from '../parts/query';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';

/** A partner's format, which can be changed without a file. */
export function FormatView({ partner, name }: { partner: string; name: string }) {
  const path = { partner_name: partner, format_name: name };
  const format = useQuery({
    queryKey: ['format', partner, name],
    queryFn: () => bodyOf(client.GET('/partners/{partner_name}/formats/{format_name}', { params: { path } })),
  });
  return (
    <PageView
      title={texts.formats.view(name)}
      trail={[
        { text: texts.nav.partners, href: routes.partners },
        { text: partner, href: addressOf('partner', { partner }) },
      ]}
      actions={
        <Link className="button" href={addressOf('send', { partner })}>
          {texts.formats.byFile}
        </Link>
      }
    >
      <Query of={format}>{({ definition }) => <FormatForm path={path} stored={definition} />}</Query>
    </PageView>
  );
}

interface FormOptions {
  path: { partner_name: string; format_name: string };
  stored: Definition;
}

function FormatForm({ path, stored }: FormOptions) {
  const queries = useQueryClient();
  const [definition, setDefinition] = useState(stored);
  const save = useMutation({
    mutationFn: () =>
      bodyOf(
        client.PUT('/partners/{partner_name}/formats/{format_name}', { params: { path }, body: definition }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['formats', path.partner_name] }),
  });
  const change = (changed: Definition) => {
    save.reset();
    setDefinition(changed);
  };
  const others = otherMembers(definition);
  return (
    <Form
      className="stack"
      validationBehavior="aria"
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Reading definition={definition} onChange={change} />
      <Columns definition={definition} faults={faultsByPointer(save.error)} onChange={change} />
      <Card>
        {Object.keys(others).length > 0 && (
          <details>
            <summary>{texts.formats.other}</summary>
            <Facts facts={membersInWords(others)} />
          </details>
        )}
        {save.error && <FailureNotice error={save.error} />}
        {save.isSuccess && (
          <p role="status" className="notice good">
            {texts.formats.saved}
          </p>
        )}
        <Action kind="primary" type="submit" isDisabled={save.isPending}>
          {texts.formats.save}
        </Action>
      </Card>
    </Form>
  );
}

interface PartOptions {
  definition: Definition;
  onChange: (definition: Definition) => void;
}

function Reading({ definition, onChange }: PartOptions) {
  const { delimiter = '', encoding = 'utf-8', decimal_separator: decimal = '.' } = definition;
  const { skip_lines = 0, header = true } = definition;
  return (
    <Card title={texts.formats.how}>
      <div className="mapping">
        <Choice
          label={texts.check.delimiter}
          value={delimiter}
          options={[['', texts.formats.automatic], ...Object.entries(texts.check.delimiters)]}
          onChange={(value) => onChange({ ...definition, delimiter: value || undefined })}
        />
        <Choice
          label={texts.check.encoding}
          value={encoding}
          options={encodings.map((name) => [name, texts.check.encodings[name]!])}
          onChange={(value) => onChange({ ...definition, encoding: value as Definition['encoding'] })}
        />
        <Choice
          label={texts.check.decimal}
          value={decimal}
          options={Object.entries(texts.check.decimalExamples)}
          onChange={(value) => onChange({ ...definition, decimal_separator: value })}
        />
        <Field
          label={texts.check.skipped}
          inputMode="numeric"
          value={String(skip_lines)}
          onChange={(value) => onChange({ ...definition, skip_lines: Number(value.replace(/\D/g, '')) })}
        />
        <Choice
          label={texts.formats.header}
          value={header ? 'yes' : 'no'}
          options={[
            ['yes', texts.formats.hasHeader],
            ['no', texts.formats.noHeader],
          ]}
          onChange={(value) => onChange({ ...definition, header: value === 'yes' })}
        />
      </div>
    </Card>
  );
}

/** Only the stock status can come from a number. */
const kindsOf = (column: ColumnName) =>
  Object.entries(texts.formats.kinds).filter(([kind]) => kind !== 'quantity' || column === 'availability');

function Columns({ definition, faults, onChange }: PartOptions & { faults: Record<string, string> }) {
  const [drafts, setDrafts] = useState(
    () =>
      Object.fromEntries(
        productColumns.map((column) => [column, columnDraftOf(definition.columns[column])]),
      ) as Record<ColumnName, ColumnDraft>,
  );
  const change = (column: ColumnName, changes: Partial<ColumnDraft>) => {
    const draft = { ...drafts[column], ...changes };
    setDrafts({ ...drafts, [column]: draft });
    onChange(withSource(definition, column, columnSourceOf(draft)));
  };
  return (
    <Card title={texts.formats.columns}>
      <fieldset className="mapping">
        <legend>{texts.formats.columnsLead}</legend>
        {productColumns.map((column) => {
          const { kind, argument, between, unless } = drafts[column];
          const field = texts.fields[column]!;
          const fault = Object.keys(faults).find((pointer) => pointer.startsWith(`/columns/${column}`));
          return (
            <div key={column} className="mapped">
              <Choice
                label={field}
                value={kind}
                options={kindsOf(column)}
                onChange={(chosen) => change(column, { kind: chosen as ColumnDraft['kind'], argument: '' })}
              />
              {kind !== '' && (
                <Field
                  label={texts.formats.arguments[kind](field)}
                  error={fault && faults[fault]}
                  isReadOnly={!isEditable(definition.columns[column])}
                  spellCheck="false"
                  value={argument}
                  onChange={(text) => change(column, { argument: text })}
                />
              )}
              {kind === 'quantity' && unless && <p>{texts.check.unless(unless)}</p>}
              {kind === 'join' && (
                <Field
                  label={texts.formats.between(field)}
                  value={between}
                  onChange={(text) => change(column, { between: text })}
                />
              )}
            </div>
          );
        })}
      </fieldset>
    </Card>
  );
}
