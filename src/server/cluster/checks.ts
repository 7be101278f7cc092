import type { CommitLogStore } from '../../adapters/commit-log/commit-log.ts'
import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { DivergenceError } from '../../db/cluster/apply.ts'
import { type Checksums, findDifferences, readChecksums } from '../../db/cluster/checksums.ts'

/** How long a follower waits for the checksums of the leader, which may be lost. */
const PATIENCE_MS = 30 * 60_000
const LOOK_MS = 1000

/** Comparisons of the tables of all nodes, as of one entry of the log. */
export class TableChecks {
  readonly #store: CommitLogStore
  readonly #file: string
  readonly #log: Log
  readonly #everyMs: number
  /** Comparisons since the start, by result. */
  readonly results = { equal: 0, different: 0 }
  #nextAtMs: number
  #own: { seq: number; sums: Checksums; readAtMs: number } | null = null
  #lookedAtMs = 0

  constructor(store: CommitLogStore, file: string, log: Log, everyMs: number) {
    this.#store = store
    this.#file = file
    this.#log = log
    this.#everyMs = everyMs
    this.#nextAtMs = performance.now() + everyMs
  }

  /** Returns whether the leader's next entry is to ask for checksums; true once for each period. */
  takeDue(): boolean {
    if (performance.now() < this.#nextAtMs) return false
    this.#nextAtMs = performance.now() + this.#everyMs
    return true
  }

  /** Reads the checksums of this node, whose file ends with the entry `seq` at the call. The leader publishes its own. */
  read(seq: number, isLeader: boolean): void {
    readChecksums(this.#file)
      .then(async (sums) => {
        if (isLeader) await this.#store.saveChecksums(seq, sums)
        else this.#own = { seq, sums, readAtMs: performance.now() }
      })
      .catch((error) => this.#log.error({ error: errorMessage(error), seq }, 'the tables could not be compared'))
  }

  /** Compares this node with the leader when both have read their checksums. @throws DivergenceError naming the tables. */
  async compare(): Promise<void> {
    const own = this.#own
    if (!own || performance.now() - this.#lookedAtMs < LOOK_MS) return
    this.#lookedAtMs = performance.now()
    const published = await this.#store.findChecksums(own.seq)
    if (!published) {
      if (performance.now() - own.readAtMs > PATIENCE_MS) this.#own = null
      return
    }
    this.#own = null
    const tables = findDifferences(own.sums, published)
    this.results[tables.length > 0 ? 'different' : 'equal']++
    if (tables.length > 0) throw new DivergenceError(`tables differ from the leader's: ${tables.join(', ')}`)
    this.#log.info({ seq: own.seq }, 'all tables equal those of the leader')
  }
}
