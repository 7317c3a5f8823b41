/** A violation, and the only finding expected at its location. */
interface Break {
  rule: string;
  at: (string | number)[];
  message: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a tree of anything, to be broken anywhere
  apply?: (document: any) => void;
  /** Changes the text, for what a parsed document does not show. */
  applyToSource?: (text: string) => string;
}

const ok = ['responses', '200', 'content', 'application/json'];

export const breaks: Break[] = [
  {
    rule: 'operation-id-verb-noun',
    at: ['paths', '/feeds/{feed_id}', 'get', 'operationId'],
    message:
      'operationId "feedById" is no verb and noun in camelCase. Name it like listProducts or getOrder; the verbs are those of the rule.',
    apply: ({ paths }) => (paths['/feeds/{feed_id}'].get.operationId = 'feedById'),
  },
  {
    rule: 'operation-401',
    at: ['paths', '/orders', 'get', 'responses'],
    message:
      "401 is missing. Add `'401': { $ref: '#/components/responses/Unauthorized' }`, or `security: []` if no key is needed.",
    apply: ({ paths }) => delete paths['/orders'].get.responses['401'],
  },
  {
    rule: 'operation-400',
    at: ['paths', '/products/{product_id}', 'get', 'responses'],
    message:
      "400 is missing, though the path has a parameter. Add `'400': { $ref: '#/components/responses/MalformedPath' }`, or declare it with an example.",
    apply: ({ paths }) => delete paths['/products/{product_id}'].get.responses['400'],
  },
  {
    rule: 'operation-404',
    at: ['paths', '/orders/{order_id}', 'get', 'responses'],
    message: '404 is missing, though the path has an id. Declare it with an example of its text.',
    apply: ({ paths }) => delete paths['/orders/{order_id}'].get.responses['404'],
  },
  {
    rule: 'operation-422',
    at: ['paths', '/analytics/sales-over-time', 'get', 'responses'],
    message:
      '422 is missing, though there is input (the query parameter grain, the query parameter currency). Declare it with the schema ValidationErrorBody and an example.',
    apply: ({ paths }) => delete paths['/analytics/sales-over-time'].get.responses['422'],
  },
  {
    rule: 'operation-422',
    at: ['paths', '/feeds/inspect', 'post', 'responses'],
    message:
      '422 is missing, though there is input (a body). Declare it with the schema ValidationErrorBody and an example.',
    apply: ({ paths }) => delete paths['/feeds/inspect'].post.responses['422'],
  },
  {
    rule: 'operation-429',
    at: ['paths', '/products', 'get', 'responses'],
    message: "429 is missing. Add `'429': { $ref: '#/components/responses/TooManyRequests' }`.",
    apply: ({ paths }) => delete paths['/products'].get.responses['429'],
  },
  {
    rule: 'operation-500',
    at: ['paths', '/feeds/profile', 'get', 'responses'],
    message: "500 is missing. Add `'500': { $ref: '#/components/responses/InternalError' }`.",
    apply: ({ paths }) => delete paths['/feeds/profile'].get.responses['500'],
  },
  {
    rule: 'operation-503',
    at: ['paths', '/feeds/template.csv', 'get', 'responses'],
    message: "503 is missing. Add `'503': { $ref: '#/components/responses/ServiceUnavailable' }`.",
    apply: ({ paths }) => delete paths['/feeds/template.csv'].get.responses['503'],
  },
  {
    rule: 'response-request-id',
    at: ['paths', '/health', 'get', 'responses', '200', 'headers'],
    message:
      "The header x-request-id is missing. Add `x-request-id: { $ref: '#/components/headers/RequestId' }` to the response's headers.",
    apply: ({ paths }) => (paths['/health'].get.responses['200'].headers = {}),
  },
  {
    rule: 'parameter-example',
    at: ['paths', '/products', 'get', 'parameters', 6],
    message: 'The parameter has no example. Add `example:` with a value that a partner would send.',
    apply: ({ paths }) => delete paths['/products'].get.parameters[6].example,
  },
  {
    rule: 'parameter-description',
    at: ['paths', '/products/{product_id}/prices', 'get', 'parameters', 1],
    message:
      'The parameter has no description. Add `description:`: what it does, and what its absence means.',
    apply: ({ paths }) => delete paths['/products/{product_id}/prices'].get.parameters[1].description,
  },
  {
    rule: 'body-example',
    at: ['paths', '/orders', 'post', 'requestBody', 'content', 'application/json'],
    message:
      'The body has no example. Add `example:`, or named `examples:` with a summary each, of what is really sent.',
    apply: ({ paths }) => delete paths['/orders'].post.requestBody.content['application/json'].example,
  },
  {
    rule: 'body-example',
    at: ['paths', '/analytics/revenue-share', 'get', ...ok],
    message:
      'The body has no example. Add `example:`, or named `examples:` with a summary each, of what is really sent.',
    apply: ({ paths }) =>
      delete paths['/analytics/revenue-share'].get.responses['200'].content['application/json'].example,
  },
  {
    rule: 'body-schema-named',
    at: ['paths', '/analytics/sales-by-partner', 'get', ...ok, 'schema'],
    message:
      "The body's schema has no name. Move it to components/schemas under the name that a client's code should read, and refer to it.",
    apply: ({ paths, components }) => {
      const body = paths['/analytics/sales-by-partner'].get.responses['200'].content['application/json'];
      body.schema = { type: 'object' };
      // Nothing else refers to these.
      delete components.schemas.SalesByPartner;
      delete components.schemas.PartnerSales;
    },
  },
  {
    rule: 'header-example',
    at: ['components', 'headers', 'RetryAfter'],
    message: 'The header has no example. Add `example:` with a value that is really sent.',
    apply: ({ components }) => delete components.headers.RetryAfter.example,
  },
  {
    rule: 'property-example',
    at: ['components', 'schemas', 'Order', 'properties', 'created_at'],
    message: 'The property created_at has no example. Add `example:` with a value as it is really sent.',
    apply: ({ components }) => delete components.schemas.Order.properties.created_at.example,
  },
  {
    rule: 'property-description',
    at: ['components', 'schemas', 'Order', 'properties', 'total_amount'],
    message:
      'The property total_amount has no description. Add `description:`: what it is, its unit, and what null means.',
    apply: ({ components }) => delete components.schemas.Order.properties.total_amount.description,
  },
  {
    rule: 'schema-example',
    at: ['components', 'schemas', 'DecimalAmount'],
    message: 'The schema DecimalAmount has no example. Add `example:` with a value as it is really sent.',
    apply: ({ components }) => delete components.schemas.DecimalAmount.example,
  },
  {
    rule: 'schema-description',
    at: ['components', 'schemas', 'OrderItem'],
    message: 'The schema OrderItem has no description. Add `description:`: what it is, in one sentence.',
    apply: ({ components }) => delete components.schemas.OrderItem.description,
  },
  {
    rule: 'schema-name',
    at: ['components', 'schemas', 'Inline_response_200'],
    message:
      'The schema name Inline_response_200 is not PascalCase, an invented one, or taken by JavaScript or a generated client. Choose a word of the glossary, for example RowIssue.',
    apply: ({ paths, components }) => {
      components.schemas.Inline_response_200 = components.schemas.Health;
      delete components.schemas.Health;
      const body = paths['/health'].get.responses['200'].content['application/json'];
      body.schema.$ref = '#/components/schemas/Inline_response_200';
    },
  },
  {
    rule: 'enum-description',
    at: ['components', 'schemas', 'JobType'],
    message:
      'The description does not name `validation`. Say what each value means, with the value between backticks.',
    apply: ({ components }) => (components.schemas.JobType.description = 'For example `submission`.'),
  },
  {
    rule: 'enum-named',
    at: ['components', 'schemas', 'Product', 'properties', 'availability'],
    message:
      "The enum has no name. Move it to components/schemas under the name that a client's code should read, and refer to it.",
    apply: ({ components }) => {
      components.schemas.Product.properties.availability = {
        type: 'string',
        nullable: true,
        description: '`in_stock` or `sold_out`',
        enum: ['in_stock', 'sold_out', null],
        example: 'in_stock',
      };
    },
  },
  {
    rule: 'object-schema-named',
    at: ['components', 'schemas', 'FirstRow', 'properties', 'place'],
    message:
      "The object has no name. Move it to components/schemas under the name that a client's code should read, and refer to it.",
    apply: ({ components }) => {
      components.schemas.FirstRow.properties.place = {
        type: 'object',
        description: 'Where it is.',
        properties: { line: { type: 'integer', format: 'int32', description: 'The line.', example: 3 } },
        example: { line: 3 },
      };
    },
  },
  {
    rule: 'no-alias',
    at: [],
    message: 'Line 1 has an anchor. Name the part below components and refer to it, or repeat it.',
    applyToSource: (text) => text.replace('"info":', '"info":&info '),
  },
  {
    rule: 'same-members',
    at: ['components', 'schemas', 'LastRunSummary'],
    message:
      'The members differ from those of RunSummary. Make `required` and `properties` of both the same.',
    apply: ({ components }) => components.schemas.LastRunSummary.required.pop(),
  },
  {
    rule: 'no-null-default',
    at: ['components', 'schemas', 'SuggestedFormat'],
    message: 'There is `default: null`. Remove it, and say in the description what an absent value means.',
    apply: ({ components }) => (components.schemas.SuggestedFormat.default = null),
  },
  {
    rule: 'time-without-pattern',
    at: ['components', 'schemas', 'FilterTime'],
    message:
      'A `date-time` has a pattern. Remove the pattern, or, if clients must send the time back as it is, the format.',
    apply: ({ components }) => (components.schemas.FilterTime.pattern = '^[0-9]'),
  },
  {
    rule: 'integer-width',
    at: ['components', 'schemas', 'Partner', 'properties', 'products'],
    message:
      'The integer has neither a maximum below 2^31 nor a format. Add `format: int64` if it can pass 2^31, else `format: int32`.',
    apply: ({ components }) => delete components.schemas.Partner.properties.products.format,
  },
  {
    rule: 'integer-width',
    at: ['components', 'parameters', 'LimitOfHundred', 'schema'],
    message:
      'The integer has neither a maximum below 2^31 nor a format. Add `format: int64` if it can pass 2^31, else `format: int32`.',
    apply: ({ components }) => delete components.parameters.LimitOfHundred.schema.maximum,
  },
  {
    rule: 'open-enum',
    at: ['components', 'schemas', 'JobPhase'],
    message:
      'An open enum is a choice between an enum and a string. Make it `type: string` with `x-known-values: { $ref: … }`.',
    apply: ({ components }) => {
      const { JobPhase } = components.schemas;
      JobPhase.anyOf = [JobPhase['x-known-values'], { type: 'string' }];
      delete JobPhase.type;
      delete JobPhase['x-known-values'];
    },
  },
  {
    rule: 'opaque-cursor',
    at: ['components', 'schemas', 'PartnerList', 'properties', 'next_cursor'],
    message:
      "The cursor says what it is made of. Write `next_cursor: { $ref: '#/components/schemas/Cursor' }`.",
    apply: ({ components }) => {
      const { properties } = components.schemas.PartnerList;
      properties.next_cursor = { type: 'string', description: 'The last name.', example: 'Acme Outdoor' };
    },
  },
  {
    rule: 'error-code',
    at: ['paths', '/feeds', 'get', 'responses', '422', 'headers'],
    message:
      'The error has no code. List its codes in `x-error-codes`, and add the header `x-error-code` with `required: true`, the schema ErrorCode and one of the codes as `example`, which the mock sends.',
    apply: ({ paths }) => delete paths['/feeds'].get.responses['422'].headers['x-error-code'],
  },
  {
    rule: 'error-code',
    at: ['paths', '/products/facets', 'get', 'responses', '422', 'headers', 'x-error-code', 'required'],
    message:
      'The error has no code. List its codes in `x-error-codes`, and add the header `x-error-code` with `required: true`, the schema ErrorCode and one of the codes as `example`, which the mock sends.',
    apply: ({ paths }) =>
      (paths['/products/facets'].get.responses['422'].headers['x-error-code'].required = false),
  },
  {
    rule: 'error-code',
    at: ['paths', '/feeds/upload', 'post', 'responses', '400', 'headers', 'x-error-code', 'schema'],
    message:
      'The error has no code. List its codes in `x-error-codes`, and add the header `x-error-code` with `required: true`, the schema ErrorCode and one of the codes as `example`, which the mock sends.',
    apply: ({ paths }) =>
      (paths['/feeds/upload'].post.responses['400'].headers['x-error-code'].schema = { type: 'string' }),
  },
  {
    rule: 'error-code',
    at: ['components', 'responses', 'InternalError'],
    message:
      'The error has no code. List its codes in `x-error-codes`, and add the header `x-error-code` with `required: true`, the schema ErrorCode and one of the codes as `example`, which the mock sends.',
    apply: ({ components }) => delete components.responses.InternalError['x-error-codes'],
  },
  {
    rule: 'error-code-known',
    at: ['components', 'responses', 'RawFileRemoved'],
    message:
      '`raw_file_gone` is no known code, or the example of `x-error-code` is none of `x-error-codes`. Add it to the schema KnownErrorCode, with its status and remedy, or correct the example.',
    apply: ({ components }) => components.responses.RawFileRemoved['x-error-codes'].push('raw_file_gone'),
  },
  {
    rule: 'error-code-known',
    at: ['components', 'responses', 'JobNotFound'],
    message:
      '`feed_not_found` is no known code, or the example of `x-error-code` is none of `x-error-codes`. Add it to the schema KnownErrorCode, with its status and remedy, or correct the example.',
    apply: ({ components }) =>
      (components.responses.JobNotFound.headers['x-error-code'].example = 'feed_not_found'),
  },
  {
    rule: 'boolean-name',
    at: ['components', 'schemas', 'Order', 'properties', 'paid'],
    message: 'The boolean paid does not begin with is_. Rename it, for example is_exact.',
    apply: ({ components }) => {
      components.schemas.Order.properties.paid = { type: 'boolean', description: 'Paid.', example: true };
    },
  },
];
