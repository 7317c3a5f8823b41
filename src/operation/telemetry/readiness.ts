/** Whether the process can accept requests. */
interface ReadinessReport {
  status: 'starting' | 'ready' | 'draining';
}

/**
 * The readiness of this process, for `/readyz`: ready from its start on a compatible schema until it shuts down.
 * Dependencies are gauges: a missing one would take all processes out of service at once, although they still serve other requests.
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
