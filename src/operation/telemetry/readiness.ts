/** Whether the process can accept requests. */
interface ReadinessReport {
  status: 'starting' | 'ready' | 'draining';
}

/**
 * The readiness of this process, for `/readyz`. It is ready when it has started on a schema that fits it, until it shuts down.
 * Dependencies are gauges: without one of them, all processes would be taken out of service at once, with what they still serve.
 */
export class Readiness {
  private isOpen = false;

  /** @param stopping - aborted at shutdown */
  constructor(private readonly stopping: AbortSignal) {}

  /** Reports `ready` from now on, after the start. */
  open(): void {
    this.isOpen = true;
  }

  report(): ReadinessReport {
    if (this.stopping.aborted) return { status: 'draining' };
    return { status: this.isOpen ? 'ready' : 'starting' };
  }
}
