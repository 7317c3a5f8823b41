import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Form } from 'react-aria-components/Form';
import { RequestError } from '../api';
import { askScope } from '../data/queries';
import { Action } from '../parts/action';
import { FailureNotice } from '../parts/failure';
import { Field } from '../parts/field';
import { Card, PageView } from '../parts/page';
import { Prose } from '../parts/prose';
import { signIn, wasRefused } from '../session';
import { texts } from '../texts';

export function SignInView() {
  const [key, setKey] = useState('');
  const enter = useMutation({
    mutationFn: (entered: string) => askScope(entered),
    onSuccess: (seesAll, entered) => signIn(entered, seesAll),
  });
  const isRefused = enter.error instanceof RequestError && enter.error.status === 401;
  return (
    <main className="narrow">
      <p className="brand">{texts.name}</p>
      <PageView title={texts.key.title} lead={texts.key.lead}>
        <Card>
          {wasRefused() && (
            <p role="alert" className="notice bad">
              {texts.key.refused}
            </p>
          )}
          {enter.error && !isRefused && <FailureNotice error={enter.error} />}
          <Form
            onSubmit={(event) => {
              event.preventDefault();
              if (key.trim()) enter.mutate(key.trim());
            }}
          >
            <Field
              label={texts.key.field}
              hint={texts.key.hint}
              type="password"
              autoComplete="off"
              value={key}
              onChange={setKey}
            />
            <Action kind="primary" type="submit" isDisabled={enter.isPending}>
              {texts.key.enter}
            </Action>
          </Form>
        </Card>
        <div>
          <Help question={texts.key.none} answer={texts.key.noneWay} />
          <Help question={texts.key.operator} answer={texts.key.operatorWay} />
        </div>
      </PageView>
    </main>
  );
}

const Help = ({ question, answer }: Record<'question' | 'answer', string>) => (
  <details>
    <summary>{question}</summary>
    <p className="muted">
      <Prose>{answer}</Prose>
    </p>
  </details>
);
