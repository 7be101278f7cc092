import type { CommitLogStore } from '../../adapters/commit-log/commit-log.ts'

/** The lease ends this long after its last renewal, by the clock of PostgreSQL. */
const LEASE_MS = 3000

/** The right to lead, which one node of a cluster has at a time. */
export class Lease {
  readonly #store: CommitLogStore
  readonly #holder: { node: string; boot: string }

  constructor(store: CommitLogStore, holder: { node: string; boot: string }) {
    this.#store = store
    this.#holder = holder
  }

  /** Takes or renews the lease. @returns false while another node holds it. @throws LogUnreachable */
  hold(): Promise<boolean> {
    return this.#store.holdLease({ ...this.#holder, ms: LEASE_MS })
  }

  /** Gives the lease away. @throws LogUnreachable */
  release(): Promise<void> {
    return this.#store.releaseLease(this.#holder.boot)
  }
}
