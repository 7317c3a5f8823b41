import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { applyAnswers, type Answers } from '../../feed-format/apply-answers';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { addressOf } from '../data/address';
import { removeDraft, type Draft } from '../data/draft';
import { fetchFormats } from '../data/formats';
import type { Definition } from '../data/mapping';
import { Cancelled } from '../data/send-form';
import { uploadFeed } from '../data/upload';
import { useTransfer } from '../data/use-transfer';
import { Action } from '../parts/action';
import { Failure } from '../parts/failure';
import { Choice, Field } from '../parts/field';
import { Card } from '../parts/page';
import { Sending } from '../parts/sending';
import { texts } from '../texts';
import { Doubts } from './doubts';
import { Faults } from './faults';
import { Mapping } from './mapping-table';
import { Sample } from './sample-table';

/** How the file is read: as it is, by the mapping of this view, or by a known format. */
const asItIs = '';
const byMapping = '*';

interface Options {
  draft: Draft;
  inspection: Schemas['FeedInspection'];
}

/** Chooses how to read the file, saves that as a format, and stores the file. */
export function ReadingForm({ draft, inspection }: Options) {
  const [, navigate] = useLocation();
  const [reading, setReading] = useState(inspection.accepted ? asItIs : byMapping);
  const [definition, setDefinition] = useState<Definition | null>(inspection.suggested_format);
  const [answers, setAnswers] = useState<Answers>(new Map());
  const [name, setName] = useState('default');
  const [mode, setMode] = useState<Schemas['LoadMode']>('upsert');
  const formats = useQuery({
    queryKey: ['formats', draft.partner],
    queryFn: () => fetchFormats(draft.partner),
  });
  const known = formats.data ?? [];
  const transfer = useTransfer();
  const upload = useMutation({
    mutationFn: async () => {
      if (reading === byMapping && definition) {
        const path = { partner_name: draft.partner, format_name: name };
        await bodyOf(
          client.PUT('/partners/{partner_name}/formats/{format_name}', {
            params: { path },
            body: definition,
          }),
        );
      }
      // Without a format, the default one of the partner would apply.
      const standard = known.some(({ format_name }) => format_name === 'default') ? 'standard' : '';
      const format = reading === byMapping ? name : reading || standard;
      const feed = { ...draft, mode, format: format || undefined };
      const key = transfer.keyFor([
        draft.file.lastModified,
        mode,
        format,
        reading === byMapping && definition,
      ]);
      const receipt = await uploadFeed(feed, key, transfer.begin());
      await removeDraft();
      return receipt;
    },
    onSuccess: ({ feed_id }) => navigate(addressOf('feed', { feed: feed_id, step: 'plan' })),
  });
  const readings: [string, string][] = [
    ...(inspection.accepted ? ([[asItIs, texts.check.standard]] as [string, string][]) : []),
    ...(definition || inspection.draft_format ? ([[byMapping, texts.check.own]] as [string, string][]) : []),
    ...known.map(({ format_name, partner_name }): [string, string] => [
      format_name,
      partner_name === null ? `${format_name} (${texts.check.builtIn})` : format_name,
    ]),
  ];
  const modes = Object.entries(texts.check.modes);
  const isIncomplete = reading === byMapping && !definition?.columns.sku;
  return (
    <>
      <Card title={texts.check.how}>
        <Choice
          label={texts.check.how}
          isLabelHidden
          value={reading}
          options={readings}
          onChange={setReading}
        />
        {reading === byMapping && inspection.doubts.length > 0 && (
          <Doubts
            inspection={inspection}
            answers={answers}
            onChange={(changed) => {
              setAnswers(changed);
              setDefinition(applyAnswers(inspection, changed));
            }}
          />
        )}
        {reading === byMapping && definition && (
          <Mapping inspection={inspection} definition={definition} onChange={setDefinition} />
        )}
      </Card>
      {[asItIs, byMapping].includes(reading) && (
        <Sample
          partner={draft.partner}
          file={draft.file}
          inspection={inspection}
          definition={reading === byMapping ? definition : null}
        />
      )}
      {inspection.accepted && inspection.issue_counts.length > 0 && (
        <Faults counts={inspection.issue_counts} />
      )}
      <Card>
        {reading === byMapping && (
          <Field label={texts.check.name} hint={texts.check.nameHint} value={name} onChange={setName} />
        )}
        <Choice
          label={texts.check.mode}
          value={mode}
          options={modes}
          onChange={(value) => setMode(value as Schemas['LoadMode'])}
        />
        {upload.error instanceof Cancelled ? (
          <p role="status">{texts.transfer.cancelled}</p>
        ) : (
          upload.error && <Failure error={upload.error} />
        )}
        {isIncomplete && (
          <p className="field-error">{definition ? texts.check.needsSku : texts.check.needsAnswers}</p>
        )}
        {upload.isPending ? (
          <Sending progress={transfer.progress} onCancel={transfer.cancel} />
        ) : (
          <Action kind="primary" isDisabled={isIncomplete} onPress={() => upload.mutate()}>
            {upload.error ? texts.again : texts.check.upload}
          </Action>
        )}
      </Card>
    </>
  );
}
