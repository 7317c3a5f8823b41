const methods = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'];

/** A Spectral function: the operations of a path that take a body or query parameters must declare 422. */
export default function declaresInputErrors(pathItem, _options, { path }) {
  return methods
    .filter((method) => pathItem[method]?.responses && !pathItem[method].responses['422'])
    .flatMap((method) => {
      const { parameters = [], requestBody, responses } = pathItem[method];
      const query = [...(pathItem.parameters ?? []), ...parameters].filter(
        (parameter) => parameter.in === 'query',
      );
      const input = [
        ...(requestBody ? ['a body'] : []),
        ...query.map(({ name }) => `the query parameter ${name}`),
      ];
      return input.length === 0 || !responses
        ? []
        : [{ message: input.join(', '), path: [...path, method, 'responses'] }];
    });
}
