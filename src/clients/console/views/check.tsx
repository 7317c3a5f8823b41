import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, Redirect, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { addressOfSheet } from '../data/address';
import { useDraft, type Draft } from '../data/draft';
import { byMapping, proposeReading } from '../data/reading';
import type { SentBytes } from '../data/send-form';
import { requestInspection } from '../data/upload';
import { FailureNotice } from '../parts/failure';
import { Card, Loading, PageView } from '../parts/page';
import { Sending } from '../parts/sending';
import { WorkProgress } from '../parts/work-progress';
import { Action } from '../parts/action';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { FileFacts } from './file-facts';
import { LostFile } from './lost-file';
import { NoTable } from './no-table';
import { ReadingForm } from './reading-form';
import { SendSteps } from './send-steps';

/** Shows the findings of the inspection of a chosen file, before anything is stored. */
export function CheckView() {
  const draft = useDraft();
  if (draft.data?.partner === '') return <Redirect to={routes.send} replace />;
  if (draft.data === null) return <LostFile />;
  if (draft.data?.workbook && !draft.data.sheet) return <Redirect to={routes.workbook} replace />;
  if (!draft.data) return <Loading />;
  const { partner, file, sheet } = draft.data;
  return (
    <PageView
      title={file.name}
      lead={
        <>
          {texts.send.of} <Value>{partner}</Value>
        </>
      }
      actions={
        sheet && (
          <Link href={addressOfSheet(sheet)} className="button">
            {texts.workbook.anotherSheet}
          </Link>
        )
      }
    >
      <SendSteps at="check" partner={partner} />
      <Inspected draft={draft.data} />
    </PageView>
  );
}

/** Inspects the beginning of the file, which can be cancelled. */
function Inspected({ draft }: { draft: Draft }) {
  const { partner, file } = draft;
  const [progress, setProgress] = useState<SentBytes>();
  const inspection = useQuery({
    queryKey: ['inspection', partner, file.name, file.size, file.lastModified],
    queryFn: ({ signal }) => requestInspection(partner, file, {}, { signal, onProgress: setProgress }),
    gcTime: 0,
  });
  const leave = useLeave(partner);
  if (inspection.error)
    return (
      <>
        <FailureNotice error={inspection.error} retry={() => void inspection.refetch()} />
        <Link href={addressOf('send', { partner })} className="button">
          {texts.back}
        </Link>
      </>
    );
  if (!inspection.data)
    return (
      <Card>
        <Sending
          progress={progress}
          labels={{ sending: texts.check.inspecting, sent: texts.check.inspecting }}
          onCancel={leave}
        />
      </Card>
    );
  return <Proposed draft={draft} inspection={inspection.data} />;
}

function Proposed({ draft, inspection }: { draft: Draft; inspection: Schemas['FeedInspection'] }) {
  const { partner, file } = draft;
  const proposal = useQuery({
    queryKey: ['proposal', partner, file.name, file.size, file.lastModified],
    queryFn: ({ signal }) => proposeReading(draft, inspection, { signal }),
    staleTime: Infinity,
    gcTime: 0,
  });
  const leave = useLeave(partner);
  if (proposal.error) return <FailureNotice error={proposal.error} retry={() => void proposal.refetch()} />;
  if (!proposal.data)
    return (
      <Card>
        <WorkProgress label={texts.check.proposing} percent={undefined} />
        <Action onPress={leave}>{texts.cancel}</Action>
      </Card>
    );
  const { hint, refusal, suggested_format, draft_format } = inspection;
  if (proposal.data.reading !== byMapping || suggested_format || draft_format)
    return <ReadingForm draft={draft} inspection={inspection} proposal={proposal.data} />;
  return (
    <>
      <FileFacts inspection={inspection} />
      <NoTable partner={partner} hint={hint} refusal={refusal} />
    </>
  );
}

/** Returns to the choice of a file, which ends the requests of this view. The file stays chosen. */
function useLeave(partner: string) {
  const [, navigate] = useLocation();
  return () => navigate(addressOf('send', { partner }));
}
