import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { bodyOf, client, RequestError, type Schemas } from '../api';
import { usePages } from '../data/queries';
import { count, time } from '../locale';
import { Action } from '../parts/action';
import { Confirm } from '../parts/confirm';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Loading } from '../parts/page';
import { ScrollTable } from '../parts/scroll-table';
import { addressOf } from '../routes';
import { texts } from '../texts';

/** A partner's own formats. */
export function FormatList({ partner }: { partner: string }) {
  const [removed, setRemoved] = useState<string>();
  const list = usePages(['formats', partner, 'own'], (cursor) =>
    bodyOf(client.GET('/formats', { params: { query: { partner_name: partner, cursor } } })),
  );
  if (list.isLoadingError) return <FailureNotice error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Loading />;
  const formats = list.data.pages.flatMap(({ items }) => items);
  if (formats.length === 0)
    return (
      <div className="empty">
        <p>
          <strong>{texts.formats.none}</strong>
        </p>
        <p>{texts.formats.noneLead}</p>
        <Link className="button" href={addressOf('send', { partner })}>
          {texts.send.title}
        </Link>
      </div>
    );
  const { name, columns, changed, remove } = texts.formats;
  const { delimiter, encoding, decimal } = texts.check;
  return (
    <>
      <ScrollTable
        label={texts.formats.title}
        columns={[
          ...[name, delimiter, encoding, decimal].map((title) => ({ title })),
          { title: columns, isNumber: true },
          ...[changed, remove].map((title) => ({ title })),
        ]}
      >
        {formats.map((format) => (
          <FormatRow
            key={format.format_name}
            partner={partner}
            format={format}
            onRemove={() => setRemoved(format.format_name)}
          />
        ))}
      </ScrollTable>
      <More list={list} />
      {removed !== undefined && (
        <RemoveDialog partner={partner} name={removed} onClose={() => setRemoved(undefined)} />
      )}
    </>
  );
}

interface RowOptions {
  partner: string;
  format: Schemas['Format'];
  onRemove: () => void;
}

function FormatRow({ partner, format, onRemove }: RowOptions) {
  const { format_name, definition, updated_at } = format;
  const { delimiter, encoding = 'utf-8', decimal_separator = '.' } = definition;
  return (
    <tr>
      <th scope="row">
        <Link href={addressOf('format', { partner, format: format_name })}>{format_name}</Link>
        {format_name === 'default' && (
          <div className="muted">
            <span className="badge good">{texts.formats.isDefault}</span> {texts.formats.isDefaultLead}
          </div>
        )}
      </th>
      <td>{delimiter ? texts.check.delimiters[delimiter] : texts.formats.automatic}</td>
      <td>{encoding}</td>
      <td>{texts.check.decimals[decimal_separator]}</td>
      <td className="number">{count(Object.keys(definition.columns).length)}</td>
      <td>{time(updated_at)}</td>
      <td>
        <Action kind="danger" aria-label={texts.formats.removeOf(format_name)} onPress={onRemove}>
          {texts.formats.remove}
        </Action>
      </td>
    </tr>
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
