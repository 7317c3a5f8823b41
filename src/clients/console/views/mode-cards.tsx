import type { Schemas } from '../api';
import { ChoiceCards } from '../parts/choice-cards';
import { texts } from '../texts';

const loadModes = ['upsert', 'replace', 'update'] as const;

interface Options {
  value: Schemas['LoadMode'];
  onChange: (mode: Schemas['LoadMode']) => void;
}

/** Chooses how a file is loaded, with what each choice does. */
export function ModeCards({ value, onChange }: Options) {
  const { modes, modeNotes, mode: legend } = texts.check;
  return (
    <ChoiceCards
      legend={legend}
      value={value}
      onChange={onChange}
      cards={loadModes.map((mode) => ({ value: mode, title: modes[mode], note: modeNotes[mode] }))}
    />
  );
}
