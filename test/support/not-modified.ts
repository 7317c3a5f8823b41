import type { TestService } from './service';

const another = '"0b3f2c7f0ddc0c8d2a3a4ef64b0c4fdd7e7be4d6a21d7cb5c70d3d0a1c7fa0c9"';

/** States what a path promises to a client that has a copy already. */
export function describeNotModified(path: string, service: () => TestService): void {
  const get = (ifNoneMatch: string, method = 'GET') =>
    service()
      .api.withKey(undefined)
      .send(method, path, { headers: { 'if-none-match': ifNoneMatch } });
  const entityTag = async () => (await service().api.get(path)).headers.get('etag')!;

  describe('304', () => {
    it('says that the copy which is named is up to date, and sends nothing', async () => {
      const tag = await entityTag();

      for (const header of [tag, `${another}, ${tag}`, `W/${tag}`, '*']) {
        for (const method of ['GET', 'HEAD']) {
          const { status, headers, body } = await get(header, method);

          expect({ header, method, status, body }).toEqual({ header, method, status: 304, body: undefined });
          expect(headers.get('etag')).toBe(tag);
          expect(headers.get('cache-control')).toEqual(expect.any(String));
          expect(headers.get('x-request-id')).toEqual(expect.any(String));
          expect(headers.get('content-type')).toBeNull();
          // It would replace the one of the copy.
          expect(headers.get('content-security-policy')).toBeNull();
        }
      }
    });

    it('is not the answer to any other tag', async () => {
      for (const header of [another, (await entityTag()).slice(1, -1), '']) {
        expect((await get(header)).status).toBe(200);
      }
    });
  });
}
