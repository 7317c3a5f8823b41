import { texts } from '../texts';

/** What to do with a file of another kind, in words of menus; nothing for an unknown kind. */
export function FileSteps({ kind }: { kind: string | undefined }) {
  const steps = kind && texts.otherFiles[kind];
  if (!steps) return null;
  return (
    <>
      <h3>{texts.check.steps}</h3>
      {steps.length === 1 ? (
        <p>{steps[0]}</p>
      ) : (
        <ol>
          {steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      )}
    </>
  );
}
