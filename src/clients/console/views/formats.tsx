import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { bodyOf, client, RequestError, type Schemas } from '../api';
import { usePages } from '../data/queries';
import { count } from '../locale';
import { Action } from '../parts/action';
import { Confirm } from '../parts/confirm';
import { Empty } from '../parts/empty';
import { FailureNotice } from '../parts/failure';
import { List } from '../parts/query';
import { DataTable } from '../parts/table';
import { Time } from '../parts/time';
import { addressOf } from '../routes';
import { texts } from '../texts';

/** A partner's own formats. */
export function FormatList({ partner }: { partner: string }) {
  const [removed, setRemoved] = useState<string>();
  const list = usePages(['formats', partner, 'own'], (cursor) =>
    bodyOf(client.GET('/formats', { params: { query: { partner_name: partner, cursor } } })),
  );
  const { title, none, noneLead, name, columns, changed, remove } = texts.formats;
  const { delimiter, encoding, decimal } = texts.check;
  return (
    <>
      <List
        of={list}
        empty={
          <Empty
            title={none}
            lead={noneLead}
            action={
              <Link className="button" href={addressOf('send', { partner })}>
                {texts.send.title}
              </Link>
            }
          />
        }
      >
        {(formats) => (
          <DataTable
            label={title}
            rows={formats}
            keyOf={({ format_name }) => format_name}
            columns={[
              { title: name, kind: 'name', cell: (format) => <Name partner={partner} format={format} /> },
              { title: delimiter, cell: delimiterOf },
              { title: encoding, cell: ({ definition }) => encodings[definition.encoding ?? 'utf-8'] },
              { title: decimal, cell: ({ definition }) => decimals[definition.decimal_separator ?? '.'] },
              {
                title: columns,
                kind: 'number',
                cell: ({ definition }) => count(Object.keys(definition.columns).length),
              },
              { title: changed, kind: 'tight', cell: ({ updated_at }) => <Time at={updated_at} /> },
              {
                title: remove,
                kind: 'tight',
                cell: ({ format_name }) => (
                  <Action
                    kind="danger"
                    aria-label={texts.formats.removeOf(format_name)}
                    onPress={() => setRemoved(format_name)}
                  >
                    {remove}
                  </Action>
                ),
              },
            ]}
          />
        )}
      </List>
      {removed !== undefined && (
        <RemoveDialog partner={partner} name={removed} onClose={() => setRemoved(undefined)} />
      )}
    </>
  );
}

const { encodings, decimals, delimiters } = texts.check;

const delimiterOf = ({ definition: { delimiter } }: Schemas['Format']) =>
  delimiter ? delimiters[delimiter] : texts.formats.automatic;

function Name({ partner, format: { format_name } }: { partner: string; format: Schemas['Format'] }) {
  return (
    <>
      <Link href={addressOf('format', { partner, format: format_name })}>{format_name}</Link>
      {format_name === 'default' && (
        <div className="muted small">
          <span className="badge good">{texts.formats.isDefault}</span> {texts.formats.isDefaultLead}
        </div>
      )}
    </>
  );
}

interface DialogOptions {
  partner: string;
  name: string;
  onClose: () => void;
}

function RemoveDialog({ partner, name, onClose }: DialogOptions) {
  const queries = useQueryClient();
  const path = { partner_name: partner, format_name: name };
  const remove = useMutation({
    mutationFn: () =>
      bodyOf(client.DELETE('/partners/{partner_name}/formats/{format_name}', { params: { path } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['formats', partner] });
      onClose();
    },
  });
  // A source names it.
  const isUsed = remove.error instanceof RequestError && remove.error.status === 409;
  return (
    <Confirm
      title={texts.formats.removeTitle(name)}
      isOpen
      onClose={onClose}
      actions={
        <Action kind="danger" isDisabled={remove.isPending} onPress={() => remove.mutate()}>
          {texts.formats.remove}
        </Action>
      }
    >
      <p>{texts.formats.removeLead}</p>
      {remove.error && <FailureNotice error={remove.error} />}
      {isUsed && (
        <Link className="button" href={addressOf('sources', { partner })}>
          {texts.formats.toSources}
        </Link>
      )}
    </Confirm>
  );
}
