import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Form } from 'react-aria-components/Form';
import { RequestError } from '../api';
import { askScope } from '../data/queries';
import { Action } from '../parts/action';
import { FailureNotice } from '../parts/failure';
import { Field } from '../parts/field';
import { Card, PageView } from '../parts/page';
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
      <PageView title={texts.key.title}>
        <Card>
          <p>{texts.key.lead}</p>
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
              hint={texts.key.where}
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
      </PageView>
    </main>
  );
}
