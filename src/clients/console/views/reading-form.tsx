import type { Schemas } from '../api';
import { asItIs, byMapping, changesBetween } from '../data/reading';
import { useReadingChoice, type FileToRead, type ReadingChoice } from '../data/reading-choice';
import { useStoreFile } from '../data/store-file';
import { Choice, Field } from '../parts/field';
import { Card, Loading } from '../parts/page';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { Doubts } from './doubts';
import { Faults } from './faults';
import { FileFacts } from './file-facts';
import { Mapping } from './mapping-table';
import { ModeCards } from './mode-cards';
import { NoTable } from './no-table';
import { ReplaceFormat } from './replace-format';
import { Sample, sampleRows } from './sample-table';
import { StoreBar } from './store-bar';

/** Chooses how to read the file, and stores it; saves a new definition with it. */
export function ReadingForm(checked: FileToRead) {
  const { draft, inspection } = checked;
  const choice = useReadingChoice(checked);
  const storing = useStoreFile(draft, choice);
  const { reading, definition, outcome, name } = choice;
  const isAsked = reading === byMapping && inspection.draft_format && inspection.doubts.length > 0;
  // While there are doubts, the known values of the products are shown.
  const products = outcome ? sampleRows(outcome) : definition ? [] : inspection.sample;
  return (
    <>
      <FileFacts inspection={outcome ?? inspection} />
      {isAsked && <Doubts doubts={inspection.doubts} answers={choice.answers} onChange={choice.answer} />}
      <StoreBar choice={choice} storing={storing} />
      <Problem {...checked} choice={choice} />
      <HowToRead {...checked} choice={choice} products={products} />
      {!choice.readError && (choice.isComplete && !outcome ? <Loading /> : <Sample rows={products} />)}
      {outcome && outcome.issue_counts.length > 0 && (
        <Card title={texts.check.faults}>
          <Faults counts={outcome.issue_counts} />
        </Card>
      )}
      <Card>
        <ModeCards value={choice.mode} onChange={choice.setMode} />
      </Card>
      {choice.isNew && <SaveFormat choice={choice} />}
      {storing.replaced && definition && (
        <ReplaceFormat
          name={name}
          changes={changesBetween(storing.replaced, definition)}
          onClose={storing.keep}
          onReplace={storing.replace}
        />
      )}
    </>
  );
}

type PartOptions = FileToRead & { choice: ReadingChoice };

/** Why the file cannot be read so, if it cannot. */
function Problem({ draft, inspection, choice: { outcome, readError, isSaved } }: PartOptions) {
  const problem = readError?.message ?? outcome?.refusal ?? outcome?.run_failure;
  if (!readError && outcome?.hint)
    return <NoTable partner={draft.partner} hint={outcome.hint} refusal={outcome.refusal} />;
  if (problem)
    return (
      <p role="alert" className="notice bad">
        <Value>{problem}</Value>
      </p>
    );
  if (!isSaved || !outcome?.accepted || outcome.rows.length > 0 || inspection.rows.length === 0) return null;
  return (
    <p role="status" className="notice">
      {texts.check.readsOtherwise}
    </p>
  );
}

function HowToRead({
  inspection,
  proposal,
  choice,
  products,
}: PartOptions & { products: Schemas['CleanedValues'][] }) {
  const { reading, definition, suggested, outcome } = choice;
  const decimal = definition?.decimal_separator ?? '.';
  return (
    <Card title={texts.check.mapping}>
      <div className="pair">
        <Choice
          label={texts.check.how}
          value={reading}
          options={readingsOf(inspection, proposal)}
          onChange={choice.chooseReading}
        />
        {definition && (
          <Choice
            label={texts.check.decimal}
            value={decimal}
            options={Object.entries(texts.check.decimalExamples)}
            onChange={(separator) => choice.edit({ ...definition, decimal_separator: separator })}
          />
        )}
      </div>
      {definition && (
        <Mapping
          headers={outcome?.headers.length ? outcome.headers : inspection.headers}
          suggested={suggested ?? definition}
          definition={definition}
          products={products}
          onChange={choice.edit}
        />
      )}
    </Card>
  );
}

/** The ways to read the file, by value and words. */
function readingsOf(
  inspection: FileToRead['inspection'],
  proposal: FileToRead['proposal'],
): [value: string, text: string][] {
  const { standard, own, byFormat, byBuiltIn } = texts.check;
  const readings: [string, string][] = [];
  if (inspection.accepted || proposal.reading === asItIs) readings.push([asItIs, standard]);
  if (inspection.suggested_format || inspection.draft_format) readings.push([byMapping, own]);
  for (const { format_name, partner_name } of proposal.formats)
    readings.push([format_name, (partner_name === null ? byBuiltIn : byFormat)(format_name)]);
  return readings;
}

function SaveFormat({ choice: { name, nameFault, setName } }: { choice: ReadingChoice }) {
  return (
    <Card title={texts.check.save}>
      <p>{texts.check.saveLead}</p>
      <Field
        label={texts.check.name}
        hint={texts.check.nameHint}
        error={nameFault && texts.check.nameFaults[nameFault]}
        spellCheck="false"
        value={name}
        onChange={setName}
      />
      {name === 'default' && <p className="muted">{texts.check.saveDefault}</p>}
    </Card>
  );
}
