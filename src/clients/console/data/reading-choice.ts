import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { applyAnswers, type Answers } from '../../../feed-format/detect/apply-answers';
import type { Schemas } from '../api';
import { useDeferred } from '../parts/use-deferred';
import type { Draft } from './draft';
import type { Definition } from './mapping';
import {
  asItIs,
  byMapping,
  formatNameFault,
  freeName,
  isSame,
  modeFor,
  sentFormat,
  type Proposal,
} from './reading';
import { requestInspection } from './upload';

/** A chosen file, its inspection without a format, and the proposed reading. */
export interface FileToRead {
  draft: Draft;
  inspection: Schemas['FeedInspection'];
  proposal: Proposal;
}

/** The choices about how a file is read and loaded, first as proposed, and what follows from them. */
export function useReadingChoice({ draft, inspection, proposal }: FileToRead) {
  const [reading, setReading] = useState(proposal.reading);
  const [edited, setEdited] = useState<Definition | null>(null);
  const [answers, setAnswers] = useState<Answers>(new Map());
  const [typedName, setName] = useState<string>();
  const [chosenMode, setMode] = useState<Schemas['LoadMode']>();
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
  const isComplete =
    reading === asItIs ||
    Boolean(definition?.columns.sku && (mode === 'update' || definition.columns.product_name));
  // A saved format is sent by its name: rules for new ones may be stricter.
  const isByName = reading !== byMapping && !edited;
  const by = isByName ? { format: sentFormat(reading) } : { definition: definition ?? undefined };
  const read = useOutcome(draft, { ...by, mode }, isComplete);
  return {
    reading,
    answers,
    suggested,
    definition,
    mode,
    name,
    isNew,
    nameFault: isNew ? formatNameFault(name, formats) : undefined,
    isComplete,
    isSaved: chosen !== undefined,
    /** What the service reads by these choices; undefined until it is known, and while they are incomplete. */
    outcome: isComplete ? read.data : undefined,
    readError: read.error,
    sent: { mode, format: isNew ? name : sentFormat(reading), definition: isNew ? definition : undefined },
    chooseReading: (changed: string) => {
      setReading(changed);
      setEdited(null);
      setName(undefined);
    },
    edit: setEdited,
    answer: setAnswers,
    setName,
    setMode,
  };
}

type Reading = NonNullable<Parameters<typeof requestInspection>[2]>;

/** Inspects the file by a reading, once it has not changed for a moment. */
function useOutcome({ partner, file }: Draft, reading: Reading, isEnabled: boolean) {
  const wanted = JSON.stringify(reading);
  const settled = useDeferred(wanted);
  return useQuery({
    queryKey: ['inspection', partner, file.name, file.lastModified, settled],
    queryFn: ({ signal }) => requestInspection(partner, file, JSON.parse(settled) as Reading, { signal }),
    enabled: isEnabled && settled === wanted,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
}

export type ReadingChoice = ReturnType<typeof useReadingChoice>;
