import S3rver from 's3rver';

/** An S3 server on this machine, with one bucket. */
export interface S3Server {
  endpoint: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  stop(): Promise<void>;
}

const bucket = 'partner-feeds';
/** The one account that s3rver knows. */
const account = 'S3RVER';

/** Starts the server; its objects lie below `folder`. */
export async function startS3Server(folder: string): Promise<S3Server> {
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    directory: folder,
    silent: true,
    resetOnClose: true,
    configureBuckets: [{ name: bucket, configs: [] }],
  });
  const { port } = await server.run();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket,
    accessKeyId: account,
    secretAccessKey: account,
    stop: () => server.close(),
  };
}
