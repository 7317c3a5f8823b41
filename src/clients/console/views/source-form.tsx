import { useState } from 'react';
import { Form } from 'react-aria-components/Form';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { addressOfSource, useFilters } from '../data/address';
import { useOnlyPartner } from '../data/queries';
import {
  definitionOf,
  sourceDraftOf,
  faultsByPointer,
  isPercentage,
  pathOf,
  type SourceDraft,
} from '../data/source-draft';
import { useFetchNow, useSaveSource, useSource, useSourceNames, type SourcePath } from '../data/sources';
import { Action } from '../parts/action';
import { Check } from '../parts/check';
import { FailureNotice } from '../parts/failure';
import { Field } from '../parts/field';
import { Card, Loading, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { Query } from '../parts/query';
import { useDeferred } from '../parts/use-deferred';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { LoadFields } from './source-loading';
import { ScheduleFields } from './source-schedule';
import { SecretFields } from './source-secrets';

/** The form of a new source. */
export function NewSourceView() {
  const [read] = useFilters();
  const only = useOnlyPartner();
  return (
    <PageView
      title={texts.sources.addTitle}
      trail={[{ text: texts.sources.title, href: routes.sources }]}
      lead={texts.sources.addLead}
    >
      {only === undefined ? <Loading /> : <SourceForm partner={read('partner') || only} />}
    </PageView>
  );
}

/** The form of a stored source. */
export function EditSourceView({ path }: { path: SourcePath }) {
  const source = useSource(path);
  return (
    <PageView
      title={texts.sources.editTitle(path.source_name)}
      trail={[
        { text: texts.sources.title, href: routes.sources },
        { text: path.partner_name, href: addressOf('partner', { partner: path.partner_name }) },
      ]}
    >
      <Query of={source}>{(data) => <SourceForm partner={path.partner_name} source={data} />}</Query>
    </PageView>
  );
}

interface Options {
  partner: string;
  source?: Schemas['Source'];
}

function SourceForm({ partner: given, source }: Options) {
  const [, navigate] = useLocation();
  const [read] = useFilters();
  const [draft, setDraft] = useState(() => withWishes(sourceDraftOf(given, source), read));
  const change = (changes: Partial<SourceDraft>) => setDraft((before) => ({ ...before, ...changes }));
  const stored = source?.definition;

  const fetchNow = useFetchNow();
  const test = (saved: Schemas['Source']) => {
    const [run, enabled] = [draft.run, draft.isEnabled].map((isWished) => (isWished ? 'yes' : 'no'));
    const address = addressOfSource(saved, 'test', { run, enabled });
    fetchNow.mutate(pathOf(draft), { onSuccess: () => navigate(address) });
  };
  const save = useSaveSource();
  const faults = faultsByPointer(save.error);
  const partner = useDeferred(draft.partner.trim());
  const names = useSourceNames(source ? '' : partner);
  const isTaken = names.data?.includes(draft.name.trim()) ?? false;
  const isIncomplete = !draft.partner.trim() || !draft.name.trim() || !draft.url.trim();
  const isFaulty = isIncomplete || isTaken || (draft.mode === 'replace' && !isPercentage(draft));
  const send = (isTest: boolean) => {
    const definition = definitionOf(draft, stored);
    // A test stores the file, and loads nothing.
    const tested = { ...definition, run_after_fetch: false, is_enabled: false };
    save.mutate(
      { path: pathOf(draft), definition: isTest ? tested : definition },
      {
        onSuccess(saved) {
          if (isTest) test(saved);
          else navigate(addressOfSource(saved));
        },
      },
    );
  };
  return (
    <Form
      className="stack"
      validationBehavior="aria"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isFaulty) send(false);
      }}
    >
      <Card title={texts.sources.where}>
        {!source && <Owner draft={draft} isTaken={isTaken} onChange={change} />}
        <div className="pair">
          <Field
            label={texts.sources.url}
            hint={texts.sources.urlHint}
            error={faults['/url']}
            type="url"
            spellCheck="false"
            value={draft.url}
            onChange={(url) => change({ url })}
          />
        </div>
        <SecretFields draft={draft} stored={stored} faults={faults} onChange={change} />
      </Card>
      <Card title={texts.sources.how}>
        <LoadFields draft={draft} faults={faults} onChange={change} />
      </Card>
      <Card title={texts.sources.when}>
        <ScheduleFields draft={draft} faults={faults} onChange={change} />
        <Check
          label={texts.sources.enabled}
          hint={texts.sources.enabledHint}
          isChecked={draft.isEnabled}
          onChange={(isEnabled) => change({ isEnabled })}
        />
      </Card>
      <Card>
        {save.error && <FailureNotice error={save.error} />}
        {fetchNow.error && <FailureNotice error={fetchNow.error} />}
        {isIncomplete && <p className="muted">{texts.sources.incomplete}</p>}
        <p className="muted">{texts.sources.testLead}</p>
        <div className="actions">
          <Action kind="primary" isDisabled={isFaulty || save.isPending} onPress={() => send(true)}>
            {texts.sources.test}
          </Action>
          <Action type="submit" isDisabled={isFaulty || save.isPending}>
            {texts.sources.save}
          </Action>
          <Link className="button" href={source ? addressOfSource(source) : routes.sources}>
            {texts.cancel}
          </Link>
        </div>
      </Card>
    </Form>
  );
}

/** Restores the form before a test, which disables a source, from the address. */
function withWishes(draft: SourceDraft, read: (name: string) => string): SourceDraft {
  const wish = (name: string, stored: boolean) => (read(name) ? read(name) === 'yes' : stored);
  return { ...draft, run: wish('run', draft.run), isEnabled: wish('enabled', draft.isEnabled) };
}

interface PartOptions {
  draft: SourceDraft;
  onChange: (changes: Partial<SourceDraft>) => void;
}

/** The partner and the name of a source: both are fixed once it is stored. */
function Owner({ draft, isTaken, onChange }: PartOptions & { isTaken: boolean }) {
  return (
    <div className="pair">
      <PartnerField
        label={texts.send.partner}
        hint={texts.send.partnerHint}
        value={draft.partner}
        onChange={(partner) => onChange({ partner })}
      />
      <Field
        label={texts.sources.nameField}
        hint={texts.sources.nameHint}
        error={isTaken ? texts.sources.nameTaken : undefined}
        spellCheck="false"
        value={draft.name}
        onChange={(name) => onChange({ name })}
      />
    </div>
  );
}
