import { useState } from 'react';
import { Form } from 'react-aria-components';
import { Action } from '../parts/action';
import { Field } from '../parts/field';
import { Card, Page } from '../parts/page';
import { signIn, wasRefused } from '../session';
import { texts } from '../texts';

export function SignInView() {
  const [key, setKey] = useState('');
  return (
    <main className="narrow">
      <Page title={texts.key.title}>
        <Card>
          <p>{texts.key.lead}</p>
          {wasRefused() && (
            <p role="alert" className="notice bad">
              {texts.key.refused}
            </p>
          )}
          <Form
            onSubmit={(event) => {
              event.preventDefault();
              if (key.trim()) signIn(key.trim());
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
            <Action kind="primary" type="submit">
              {texts.key.enter}
            </Action>
          </Form>
        </Card>
      </Page>
    </main>
  );
}
