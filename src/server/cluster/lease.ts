import type { CommitLogStore } from '../../adapters/commit-log/commit-log.ts'

/** The lease ends this long after its last renewal, by the clock of PostgreSQL. */
const LEASE_MS = 3000
/** A leader stops writing this much earlier by its own clock. */
const MARGIN_MS = 500

/** The right to write, which one node of a cluster has at a time. */
export class Lease {
  readonly #store: CommitLogStore
  readonly #holder: { node: string; boot: string }
  #endsAtMs = 0

  constructor(store: CommitLogStore, holder: { node: string; boot: string }) {
    this.#store = store
    this.#holder = holder
  }

  isHeld(): boolean {
    return performance.now() < this.#endsAtMs
  }

  /** Takes or renews the lease. @returns false while another node holds it. @throws LogUnreachable */
  async hold(): Promise<boolean> {
    const askedAtMs = performance.now()
    const isHeld = await this.#store.holdLease({ ...this.#holder, ms: LEASE_MS })
    this.#endsAtMs = isHeld ? askedAtMs + LEASE_MS - MARGIN_MS : 0
    return isHeld
  }

  /** Gives the lease away. @throws LogUnreachable */
  async release(): Promise<void> {
    this.#endsAtMs = 0
    await this.#store.releaseLease(this.#holder.boot)
  }
}
