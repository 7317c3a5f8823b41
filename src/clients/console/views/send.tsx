import { useState } from 'react';
import type { FileDropItem } from 'react-aria-components';
import { DropZone } from 'react-aria-components/DropZone';
import { FileTrigger } from 'react-aria-components/FileTrigger';
import { Label, Text, TextArea, TextField } from 'react-aria-components/TextField';
import { useLocation } from 'wouter';
import { useFilters } from '../data/address';
import { nextStep, saveDraft, useDraft, type Draft } from '../data/draft';
import { useOnlyPartner } from '../data/queries';
import { isWorkbook } from '../data/workbook';
import { Action } from '../parts/action';
import { Card, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { SendSteps } from './send-steps';

/** Takes a file or rows, and opens their inspection. */
export function SendView() {
  const [, navigate] = useLocation();
  const [read, write] = useFilters();
  const [pasted, setPasted] = useState('');
  const [fault, setFault] = useState<'partner' | 'rows'>();
  const draft = useDraft();
  const only = useOnlyPartner();
  const [typed, setTyped] = useState<string>();
  const partner = typed ?? (read('partner') || draft.data?.partner || only || '');

  const proceed = async (chosen: Draft) => {
    await saveDraft(chosen);
    await draft.refetch();
    if (chosen.partner) navigate(nextStep(chosen));
    else setFault('partner');
  };
  const take = async (file: File) =>
    proceed({ partner: partner.trim(), file, workbook: (await isWorkbook(file)) ? file : undefined });
  const takePasted = () =>
    pasted.trim()
      ? take(new File([pasted], texts.file.pasted, { type: 'text/csv' }))
      : Promise.resolve(setFault('rows'));
  return (
    <PageView title={texts.send.title} lead={texts.send.lead}>
      <SendSteps at="file" />
      <Card>
        <PartnerField
          label={texts.send.partner}
          hint={texts.send.partnerHint}
          error={fault === 'partner' ? texts.send.partnerMissing : undefined}
          value={partner}
          // A name that becomes known later must not mix with the entered one.
          onFocus={() => setTyped(partner)}
          onChange={(name) => {
            setFault(undefined);
            setTyped(name);
            write({ partner: name });
          }}
        />
        {draft.data && (
          <div className="actions">
            <span>
              {texts.send.chosen} <Value>{draft.data.file.name}</Value>
            </span>
            <Action kind="primary" onPress={() => void proceed({ ...draft.data!, partner: partner.trim() })}>
              {texts.send.check}
            </Action>
          </div>
        )}
        <DropZone
          className="drop"
          onDrop={(event) => {
            const dropped = event.items.find((item): item is FileDropItem => item.kind === 'file');
            if (dropped) void dropped.getFile().then(take);
          }}
        >
          <Text slot="label">{texts.send.drop}</Text>
          <span className="muted">{texts.send.or}</span>
          <FileTrigger onSelect={(files) => files?.[0] && void take(files[0])}>
            <Action kind={draft.data ? undefined : 'primary'}>{texts.send.choose}</Action>
          </FileTrigger>
        </DropZone>
      </Card>
      <Card title={texts.send.rows}>
        <TextField className="field" value={pasted} onChange={setPasted}>
          <Label>{texts.send.paste}</Label>
          <TextArea rows={5} placeholder={texts.send.pasteExample} spellCheck="false" />
        </TextField>
        {fault === 'rows' && (
          <p role="alert" className="field-error">
            {texts.send.nothingPasted}
          </p>
        )}
        <Action onPress={() => void takePasted()}>{texts.send.pasted}</Action>
      </Card>
    </PageView>
  );
}
