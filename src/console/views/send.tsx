import { useState } from 'react';
import {
  DropZone,
  FileTrigger,
  Label,
  Text,
  TextArea,
  TextField,
  type FileDropItem,
} from 'react-aria-components';
import { useLocation } from 'wouter';
import { useFilters } from '../data/address';
import { saveDraft } from '../data/draft';
import { usePartners } from '../data/queries';
import { Action } from '../parts/action';
import { Field } from '../parts/field';
import { Card, Page } from '../parts/page';
import { texts } from '../texts';

/** Takes a file or rows, and leads to what they are. */
export function SendView() {
  const [, navigate] = useLocation();
  const [read, write] = useFilters();
  const [pasted, setPasted] = useState('');
  const [fault, setFault] = useState<'partner' | 'rows'>();
  const known = usePartners('').data?.pages[0]?.items.map(({ partner_name }) => partner_name) ?? [];
  // A key that is bound to a partner sees only this one.
  const [typed, setTyped] = useState<string>();
  const partner = typed ?? (read('partner') || (known.length === 1 ? known[0]! : ''));

  const take = async (file: File) => {
    if (!partner.trim()) return setFault('partner');
    await saveDraft({ partner: partner.trim(), file });
    navigate('/send/check');
  };
  const takePasted = () =>
    pasted.trim()
      ? take(new File([pasted], texts.file.pasted, { type: 'text/csv' }))
      : Promise.resolve(setFault('rows'));
  return (
    <Page title={texts.send.title}>
      <p className="muted">{texts.send.lead}</p>
      <Card>
        <Field
          label={texts.send.partner}
          hint={texts.send.partnerHint}
          error={fault === 'partner' ? texts.send.partnerMissing : undefined}
          suggestions={known}
          value={partner}
          onChange={(name) => {
            setFault(undefined);
            setTyped(name);
            write({ partner: name });
          }}
        />
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
            <Action kind="primary">{texts.send.choose}</Action>
          </FileTrigger>
        </DropZone>
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
    </Page>
  );
}
