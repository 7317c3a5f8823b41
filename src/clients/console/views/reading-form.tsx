import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { applyAnswers, type Answers } from '../../../feed-format/detect/apply-answers';
import type { Schemas } from '../api';
import { removeDraft, type Draft } from '../data/draft';
import { fetchFormats } from '../data/formats';
import type { Definition } from '../data/mapping';
import {
  asItIs,
  byMapping,
  changesBetween,
  formatNameFault,
  freeName,
  isSame,
  modeFor,
  sentFormat,
  type Proposal,
} from '../data/reading';
import { Cancelled } from '../data/send-form';
import { requestInspection, requestUpload } from '../data/upload';
import { useTransfer } from '../data/use-transfer';
import { Action } from '../parts/action';
import { FailureNotice } from '../parts/failure';
import { Choice, Field } from '../parts/field';
import { Card, Loading } from '../parts/page';
import { Sending } from '../parts/sending';
import { useDeferred } from '../parts/use-deferred';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Doubts } from './doubts';
import { Faults } from './faults';
import { FileFacts } from './file-facts';
import { Mapping } from './mapping-table';
import { NoTable } from './no-table';
import { ReplaceFormat } from './replace-format';
import { Sample, sampleRows } from './sample-table';

interface Options {
  draft: Draft;
  /** Inspection of the file without a format. */
  inspection: Schemas['FeedInspection'];
  proposal: Proposal;
}

/** Options for sending the file. */
type Sent = Pick<Parameters<typeof requestUpload>[0], 'mode' | 'format' | 'definition'>;

/** Chooses how to read the file, and stores it; saves a new definition with it. */
export function ReadingForm({ draft, inspection, proposal }: Options) {
  const [, navigate] = useLocation();
  const [reading, setReading] = useState(proposal.reading);
  const [edited, setEdited] = useState<Definition | null>(null);
  const [answers, setAnswers] = useState<Answers>(new Map());
  const [typedName, setName] = useState<string>();
  const [chosenMode, setMode] = useState<Schemas['LoadMode']>();
  const [replaced, setReplaced] = useState<Definition>();
  const [confirmed, setConfirmed] = useState<{ name: string; stored: Definition }>();
  const { formats } = proposal;
  const chosen = formats.find(({ format_name }) => format_name === reading);
  const suggested =
    reading === byMapping
      ? (inspection.suggested_format ?? applyAnswers(inspection, answers))
      : (chosen?.definition ?? null);
  const definition = edited ?? suggested;
  const mode = chosenMode ?? (reading === proposal.reading ? proposal.mode : modeFor(suggested));
  const isNew = definition !== null && !isSame(chosen?.definition, definition);
  const ownName = chosen?.partner_name ? chosen.format_name : undefined;
  const name = typedName ?? ownName ?? freeName(formats);
  const nameFault = isNew ? formatNameFault(name, formats) : undefined;

  const isComplete =
    reading === asItIs ||
    Boolean(definition?.columns.sku && (mode === 'update' || definition.columns.product_name));
  // A saved format is sent by its name: rules for new ones may be stricter.
  const isByName = reading !== byMapping && !edited;
  const by = isByName ? { format: sentFormat(reading) } : { definition: definition ?? undefined };
  const wanted = JSON.stringify({ ...by, mode });
  const settled = useDeferred(wanted);
  const read = useQuery({
    queryKey: ['inspection', draft.partner, draft.file.name, draft.file.lastModified, settled],
    queryFn: () =>
      requestInspection(
        draft.partner,
        draft.file,
        JSON.parse(settled) as Parameters<typeof requestInspection>[2],
      ),
    enabled: isComplete && settled === wanted,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  const outcome = isComplete ? read.data : undefined;
  const problem = outcome?.refusal ?? outcome?.run_failure;
  // While there are doubts, the known values of the products are shown.
  const products = outcome ? sampleRows(outcome) : definition ? [] : inspection.sample;

  const transfer = useTransfer();
  const upload = useMutation({
    mutationFn: async (sent: Sent) => {
      const key = transfer.keyFor([draft.file.lastModified, sent]);
      const receipt = await requestUpload({ ...draft, ...sent }, key, transfer.begin());
      await removeDraft();
      return receipt;
    },
    onSuccess: ({ feed_id }) => navigate(addressOf('feed', { feed: feed_id, step: 'plan' })),
  });
  const sent: Sent = {
    mode,
    format: isNew ? name : sentFormat(reading),
    definition: isNew ? definition : undefined,
  };
  const saved = useMutation({ mutationFn: () => fetchFormats(draft.partner) });
  /** Asks before a format is replaced, once per stored definition. An equal definition is not saved again. */
  const store = async () => {
    if (!isNew) return upload.mutate(sent);
    const latest = await saved.mutateAsync();
    const stored = latest.find((format) => format.format_name === name)?.definition;
    if (stored && isSame(stored, definition)) {
      // An attempt without a response may have saved it: an identical repetition is stored once.
      const isRepeated = upload.error !== null && isSame(upload.variables, sent);
      return upload.mutate(isRepeated ? sent : { ...sent, definition: undefined });
    }
    if (!stored || isSame(confirmed, { name, stored })) return upload.mutate(sent);
    setReplaced(stored);
  };
  const choose = (changed: string) => {
    setReading(changed);
    setEdited(null);
    setName(undefined);
  };
  const readings: [string, string][] = [
    ...(inspection.accepted || proposal.reading === asItIs
      ? ([[asItIs, texts.check.standard]] as [string, string][])
      : []),
    ...(inspection.suggested_format || inspection.draft_format
      ? ([[byMapping, texts.check.own]] as [string, string][])
      : []),
    ...formats.map(({ format_name, partner_name }): [string, string] => [
      format_name,
      partner_name === null ? `${format_name} (${texts.check.builtIn})` : format_name,
    ]),
  ];
  const modes = Object.entries(texts.check.modes);
  return (
    <>
      <FileFacts draft={draft} inspection={outcome ?? inspection} />
      <Card title={texts.check.how}>
        <Choice label={texts.check.how} isLabelHidden value={reading} options={readings} onChange={choose} />
        {reading === byMapping && inspection.doubts.length > 0 && (
          <Doubts
            inspection={inspection}
            answers={answers}
            onChange={(changed) => {
              setAnswers(changed);
              setEdited(null);
            }}
          />
        )}
        {definition && (
          <Mapping
            headers={outcome?.headers.length ? outcome.headers : inspection.headers}
            suggested={suggested ?? definition}
            definition={definition}
            onChange={setEdited}
          />
        )}
      </Card>
      {problem &&
        (outcome?.hint ? (
          <NoTable partner={draft.partner} reason={outcome.hint.message} />
        ) : (
          <p role="alert" className="notice bad">
            <Value>{problem}</Value>
          </p>
        ))}
      {chosen && outcome?.accepted && outcome.rows.length === 0 && inspection.rows.length > 0 && (
        <p role="status" className="notice">
          {texts.check.readsOtherwise}
        </p>
      )}
      {read.error ? (
        <p role="alert" className="notice bad">
          <Value>{read.error.message}</Value>
        </p>
      ) : isComplete && !outcome ? (
        <Loading />
      ) : (
        <Sample rows={products} />
      )}
      {outcome && outcome.issue_counts.length > 0 && <Faults counts={outcome.issue_counts} />}
      <Card>
        {isNew && (
          <Field
            label={texts.check.name}
            hint={texts.check.nameHint}
            error={nameFault && texts.check.nameFaults[nameFault]}
            value={name}
            onChange={setName}
          />
        )}
        <Choice
          label={texts.check.mode}
          value={mode}
          options={modes}
          onChange={(value) => setMode(value as Schemas['LoadMode'])}
        />
        {saved.error && <FailureNotice error={saved.error} />}
        {upload.error instanceof Cancelled ? (
          <p role="status">{texts.transfer.cancelled}</p>
        ) : (
          upload.error && <FailureNotice error={upload.error} />
        )}
        {!isComplete && (
          <p className="field-error">{definition ? texts.check.needsSku : texts.check.needsAnswers}</p>
        )}
        {upload.isPending ? (
          <Sending progress={transfer.progress} onCancel={transfer.cancel} />
        ) : (
          <Action
            kind="primary"
            isDisabled={!isComplete || nameFault !== undefined}
            isPending={saved.isPending}
            onPress={() => void store().catch(() => undefined)}
          >
            {upload.error ? texts.again : texts.check.upload}
          </Action>
        )}
      </Card>
      {replaced && definition && (
        <ReplaceFormat
          name={name}
          changes={changesBetween(replaced, definition)}
          onClose={() => setReplaced(undefined)}
          onReplace={() => {
            setConfirmed({ name, stored: replaced });
            setReplaced(undefined);
            upload.mutate(sent);
          }}
        />
      )}
    </>
  );
}
