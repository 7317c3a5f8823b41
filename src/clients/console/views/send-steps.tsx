import { Steps } from '../parts/steps';
import { addressOf } from '../routes';
import { texts } from '../texts';

const names = ['file', 'check', 'preview'] as const;

/** Where the walk from a file to its products is. The last step is the preview of the feed's run. */
export function SendSteps({ at, partner }: { at: 'file' | 'check'; partner?: string }) {
  const { steps, step } = texts.send;
  const hrefs = { file: addressOf('send', { partner }), check: undefined, preview: undefined };
  return (
    <Steps
      label={steps}
      current={names.indexOf(at)}
      steps={names.map((name) => ({ text: step[name], href: hrefs[name] }))}
    />
  );
}
