import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterFile } from './after-file';

/**
 * What becomes of a request: it passes; the connection is cut before the service gets it (`hang up`) or after the service
 * has answered (`lose answer`); it is answered here, before its body is read, or instead of the service's answer.
 */
export type Fate =
  'pass' | 'hang up' | 'lose answer' | { lose: 'answer'; instead: FrontAnswer } | FrontAnswer;

interface FrontAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** Stands before the service, as a proxy does, and lets requests fail. */
export class ServiceFront {
  /** Requests so far: `POST /feeds/upload`. */
  readonly seen: string[] = [];

  private constructor(
    readonly url: string,
    private readonly service: string,
    private readonly fateOf: (request: string, time: number) => Fate,
  ) {}

  /**
   * Opens it. It is closed after the file.
   * @param fateOf - gets the method and path of a request, and how often it has come, from 1
   */
  static async open(service: string, fateOf: (request: string, time: number) => Fate): Promise<ServiceFront> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo;
    const front = new ServiceFront(`http://127.0.0.1:${port}`, service, fateOf);
    const serve = (request: IncomingMessage, response: ServerResponse) => front.serve(request, response);
    server.on('request', serve);
    // Otherwise Node asks for the body by itself.
    server.on('checkContinue', serve);
    return front;
  }

  private serve(request: IncomingMessage, response: ServerResponse): void {
    const name = `${request.method!} ${request.url!}`;
    this.seen.push(name);
    const fate = this.fateOf(name, this.seen.filter((each) => each === name).length);
    if (fate === 'hang up') request.socket.destroy();
    else if (fate === 'pass')
      this.pass(request, response, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
    else if (fate === 'lose answer')
      this.pass(request, response, (answer) => answer.resume().on('end', () => request.socket.destroy()));
    else if ('instead' in fate)
      this.pass(request, response, (answer) => answer.resume().on('end', () => send(response, fate.instead)));
    else send(response, fate);
  }

  private pass(
    request: IncomingMessage,
    response: ServerResponse,
    onAnswer: (answer: IncomingMessage) => void,
  ): void {
    const { method, headers, url } = request;
    const passed = sendRequest(this.service + url!, { method, headers, agent: false }, onAnswer);
    passed.on('continue', () => response.writeContinue());
    passed.on('error', () => request.socket.destroy());
    request.on('close', () => {
      if (!request.complete) passed.destroy();
    });
    request.pipe(passed);
    passed.flushHeaders();
  }
}

function send(response: ServerResponse, { status, headers, body }: FrontAnswer): void {
  response.writeHead(status, { connection: 'close', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
