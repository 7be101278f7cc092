import { migrations } from '../../../migrations/list.ts'
import { LogUnreachable } from '../../adapters/commit-log/log-database.ts'
import { AppError, errorMessage, StartupError } from '../../core/errors.ts'
import { newId, randomText } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { VERSION } from '../../core/version.ts'
import { noteChange } from '../../db/changes.ts'
import { createLogApplier, DivergenceError, type LogApplier } from '../../db/cluster/apply.ts'
import { hashEntry, type LogPosition, preparePositionUpdate, readLogPosition } from '../../db/cluster/position.ts'
import { encodeStatements } from '../../db/cluster/statements.ts'
import type { Connection } from '../../db/open.ts'
import type { CommitLog } from '../../db/write.ts'
import type { ClusterStatus } from '../../features/admin/cluster/schemas.ts'
import { type ClusterConfig, cloneSnapshot, type Membership } from './join.ts'
import { saveSnapshot } from './snapshot.ts'
import { GONE_MS, readClusterStatus } from './status.ts'

/** The node that writes, and those that copy it. */
export type ClusterRole = 'leader' | 'follower'

/** The lease ends this long after its last renewal, by the clock of PostgreSQL. */
const LEASE_MS = 3000
/** A leader stops writing this much earlier by its own clock. */
const LEASE_MARGIN_MS = 500
const RENEW_MS = 500
/** How often a follower reads the log. */
const FOLLOW_MS = 100
const REPORT_MS = 1000
const ENTRIES_PER_READ = 500
/** The leader stores a snapshot after this many entries. */
const ENTRIES_PER_SNAPSHOT = 20_000
/** A node that differs again sooner stops. */
const CLONE_PAUSE_MS = 10 * 60_000
/** How long a stopping leader waits for its successor. */
const HANDOVER_MS = 3000

const RETRY_SECONDS = '1'

/** Closes the service, runs `prepare`, and opens it again. */
type Reopen = (prepare?: () => Promise<unknown>) => Promise<void>

/** One node of a cluster: its role, its place in the log, and the log of its writes. */
export type ClusterNode = {
  readonly id: string
  readonly clusterId: string
  role(): ClusterRole
  /** Returns the backend URL of the leader; null when there is none. */
  leaderUrl(): string | null
  /** Returns the number of the last entry that this node's file contains. */
  position(): number
  /** Waits until this node's file contains the entry. @returns false when that takes longer than `ms`. */
  waitFor(seq: number, ms: number): Promise<boolean>
  /** Hands the node the database that its role uses from now on. */
  use(connection: Connection): CommitLog
  /** Starts following and leading; `reopen` opens the service anew in the node's role. */
  start(reopen: Reopen): void
  /** Reads the state of all nodes from the log. @throws AppError `unavailable` */
  readStatus(): Promise<ClusterStatus>
  /** Stores a snapshot in the log. @returns its position. @throws AppError `unavailable` on a follower. */
  saveSnapshot(): Promise<number>
  /** Gives the lease away; from now on this node forwards what it cannot answer. */
  stop(): Promise<void>
  /** Closes the connections to the log. */
  close(): Promise<void>
}

/** @throws StartupError when another process uses the same node id. */
export async function createClusterNode(
  config: { cluster: ClusterConfig; databaseFile: string },
  membership: Membership,
  log: Log,
): Promise<ClusterNode> {
  const node = new Node(config, membership, log)
  await node.requireOwnId()
  return node
}

class Node implements ClusterNode {
  readonly id: string
  readonly clusterId: string
  readonly #url: string
  readonly #file: string
  readonly #store: Membership['store']
  readonly #log: Log
  readonly #boot = randomText(16)
  #role: ClusterRole = 'follower'
  #position: LogPosition
  #leaderUrl: string | null = null
  #leaseEndsAtMs = 0
  #isReachable = true
  /** The log may contain an entry of this leader that its file lacks. */
  #isUncertain = false
  #mustStepDown = false
  #connection: Connection | null = null
  #applier: LogApplier | null = null
  #isStopped = false
  #loop: Promise<void> = Promise.resolve()
  #reportedAtMs = 0
  #clonedAtMs = Number.NEGATIVE_INFINITY
  #snapshotSeq: number | null = null
  #snapshot: Promise<number> | null = null

  constructor(
    { cluster, databaseFile }: { cluster: ClusterConfig; databaseFile: string },
    { store, clusterId }: Membership,
    log: Log,
  ) {
    this.id = cluster.nodeId
    this.#url = cluster.nodeUrl
    this.#file = databaseFile
    this.clusterId = clusterId
    this.#store = store
    this.#log = log
    this.#position = { cluster: clusterId, seq: 0, hash: '' }
  }

  /** A process of this node that was killed counts as present for some seconds. */
  async requireOwnId(): Promise<void> {
    const endsAt = performance.now() + GONE_MS + RENEW_MS
    for (;;) {
      if (await this.#report()) return
      if (performance.now() >= endsAt) break
      await Bun.sleep(RENEW_MS)
    }
    throw new StartupError(`CLUSTER_NODE_ID: another node of the cluster is named ${this.id}`)
  }

  role = () => this.#role
  leaderUrl = () => this.#leaderUrl
  position = () => this.#position.seq

  async waitFor(seq: number, ms: number): Promise<boolean> {
    const endsAt = performance.now() + ms
    while (this.#position.seq < seq && performance.now() < endsAt) await Bun.sleep(FOLLOW_MS / 4)
    return this.#position.seq >= seq
  }

  use(connection: Connection): CommitLog {
    const { sqlite } = connection
    this.#position = readLogPosition(sqlite) ?? this.#position
    this.#connection = connection
    const setPosition = preparePositionUpdate(sqlite)
    this.#applier = createLogApplier(sqlite)
    this.#isUncertain = false
    return {
      findRefusal: () => this.#findRefusal(),
      append: async (statements) => {
        const entry = this.#nextEntry(encodeStatements(statements))
        setPosition.run(this.clusterId, entry.seq, entry.hash)
        await this.#append(entry)
      },
      noteLostCommit: (error) => {
        this.#log.error({ error: errorMessage(error) }, 'an entry of the log could not be committed here')
        this.#isUncertain = true
      },
    }
  }

  start(reopen: Reopen): void {
    this.#loop = this.#run(reopen)
  }

  async readStatus(): Promise<ClusterStatus> {
    return readClusterStatus(this.#store).catch((error) => {
      throw toUnavailable(error)
    })
  }

  async saveSnapshot(): Promise<number> {
    if (this.#role !== 'leader') throw refusal('Snapshots are stored by the leader.', { code: 'NOT_LEADER' })
    this.#snapshot ??= saveSnapshot(this.#store, this.#file)
      .then(({ seq }) => {
        this.#snapshotSeq = seq
        this.#log.info({ seq }, 'a snapshot is stored in the log of the cluster')
        return seq
      })
      .finally(() => {
        this.#snapshot = null
      })
    return this.#snapshot
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#loop
    const wasLeader = this.#role === 'leader'
    this.#role = 'follower'
    this.#leaseEndsAtMs = 0
    await this.#store.releaseLease(this.#boot).catch(() => undefined)
    const endsAt = performance.now() + HANDOVER_MS
    while (wasLeader && this.#leaderUrl === null && performance.now() < endsAt && (await this.#hasOthers())) {
      await this.#findLeader().catch(() => undefined)
      await Bun.sleep(FOLLOW_MS)
    }
    await this.#store.leave(this.#boot).catch(() => undefined)
  }

  async close(): Promise<void> {
    await this.#snapshot?.catch(() => undefined)
    await this.#store.close()
  }

  async #hasOthers(): Promise<boolean> {
    const nodes = await this.#store.listNodes().catch(() => [])
    return nodes.some(({ id, secondsAgo }) => id !== this.id && secondsAgo * 1000 < GONE_MS)
  }

  async #run(reopen: Reopen): Promise<void> {
    while (!this.#isStopped) {
      try {
        if (this.#role === 'leader') await this.#lead(reopen)
        else await this.#follow(reopen)
        if (!this.#isReachable) this.#log.info('the log of the cluster answers again')
        this.#isReachable = true
      } catch (error) {
        this.#noteFailure(error)
        if (error instanceof DivergenceError) await this.#cloneAgain(reopen)
      }
      await Bun.sleep(this.#role === 'leader' ? RENEW_MS : FOLLOW_MS)
    }
  }

  #noteFailure(error: unknown): void {
    if (error instanceof LogUnreachable) {
      if (this.#isReachable) this.#log.warn({ error: error.message }, 'the log of the cluster cannot be reached')
      this.#isReachable = false
      return
    }
    this.#log.error({ error: errorMessage(error) }, 'this node cannot follow the log of the cluster')
  }

  /** Replaces a file that differs from the log by a snapshot, once in a while: it may differ again at once. */
  async #cloneAgain(reopen: Reopen): Promise<void> {
    const isTooSoon = performance.now() - this.#clonedAtMs < CLONE_PAUSE_MS
    const snapshot = isTooSoon ? null : await this.#store.findSnapshot().catch(() => null)
    if (snapshot === null) {
      this.#log.error('this node stopped following: its database differs, and there is no snapshot to clone')
      this.#isStopped = true
      return
    }
    this.#clonedAtMs = performance.now()
    this.#role = 'follower'
    await reopen(() => cloneSnapshot(this.#store, this.#file, this.#log))
  }

  /** Without the log the leader keeps its role and refuses writes, until it knows of another leader. */
  async #lead(reopen: Reopen): Promise<void> {
    if (!this.#mustStepDown && (await this.#holdLease())) {
      if (this.#isUncertain) {
        const before = this.#position.seq
        await this.#catchUp()
        this.#isUncertain = false
        // Another leader may have written: what this process has in memory is out of date.
        if (this.#position.seq !== before) await this.#changeRole('leader', reopen)
      }
      this.#saveSnapshotWhenDue()
      return this.#reportSometimes()
    }
    this.#mustStepDown = false
    await this.#changeRole('follower', reopen)
  }

  #saveSnapshotWhenDue(): void {
    if (this.#snapshot || this.#position.seq - (this.#snapshotSeq ?? 0) < ENTRIES_PER_SNAPSHOT) return
    this.saveSnapshot().catch((error) =>
      this.#log.error({ error: errorMessage(error) }, 'no snapshot could be stored in the log of the cluster'),
    )
  }

  async #follow(reopen: Reopen): Promise<void> {
    await this.#catchUp()
    await this.#reportSometimes()
    if (await this.#findLeader()) return
    if (!(await this.#holdLease())) return
    await this.#takeLead()
    this.#snapshotSeq = (await this.#store.findSnapshot())?.seq ?? null
    await this.#changeRole('leader', reopen)
    // A new node has only the log, which lacks what this file contained before.
    if (this.#snapshotSeq === null && this.#hasOlderData()) await this.saveSnapshot()
  }

  /** @returns whether another node leads. */
  async #findLeader(): Promise<boolean> {
    const { leader } = await this.#store.readState()
    this.#leaderUrl = leader && leader.node !== this.id ? leader.url : null
    return this.#leaderUrl !== null
  }

  /** Appends an empty entry, after which a former leader can append nothing. */
  async #takeLead(): Promise<void> {
    for (;;) {
      await this.#catchUp()
      const entry = this.#nextEntry(encodeStatements([]))
      const outcome = await this.#store.append(this.#toStored(entry))
      if (outcome === 'unknown') throw new LogUnreachable('the log does not answer')
      if (outcome === 'taken') continue
      this.#applyAll([entry])
      return
    }
  }

  async #changeRole(role: ClusterRole, reopen: Reopen): Promise<void> {
    this.#role = role
    this.#leaderUrl = null
    this.#log.info({ node: this.id, role, position: this.#position.seq }, 'this node of the cluster changes its role')
    await reopen()
    this.#reportedAtMs = 0
  }

  async #catchUp(): Promise<void> {
    for (;;) {
      const entries = await this.#store.readAfter(this.#position.seq, ENTRIES_PER_READ)
      if (entries.length === 0) return
      const newer = entries.find(({ schema }) => schema > migrations.length)
      if (newer) throw new Error('a newer version of Stead writes to this cluster: upgrade this node')
      this.#applyAll(entries)
      if (entries.length < ENTRIES_PER_READ) return
    }
  }

  #applyAll(entries: readonly { seq: number; body: string; hash: string }[]): void {
    if (!this.#applier || !this.#connection) throw new Error('this node has no database to apply entries to')
    this.#position = this.#applier.apply(this.#position, entries)
    noteChange(this.#connection.db)
  }

  #hasOlderData(): boolean {
    const users = this.#connection?.sqlite.prepare('SELECT 1 FROM users LIMIT 1').get()
    return users !== undefined
  }

  async #holdLease(): Promise<boolean> {
    const askedAtMs = performance.now()
    const isHeld = await this.#store.holdLease({ node: this.id, boot: this.#boot, ms: LEASE_MS })
    this.#leaseEndsAtMs = isHeld ? askedAtMs + LEASE_MS - LEASE_MARGIN_MS : 0
    return isHeld
  }

  #findRefusal(): AppError | null {
    if (this.#role !== 'leader') return refusal('This node of the cluster does not write.', { code: 'NOT_LEADER' })
    const isHeld = performance.now() < this.#leaseEndsAtMs
    if (this.#mustStepDown || this.#isUncertain || !this.#isReachable || !isHeld) {
      return refusal('The log of the cluster cannot be reached.', { code: 'LOG_UNAVAILABLE' })
    }
    return null
  }

  /** @throws AppError `unavailable` */
  async #append(entry: { seq: number; body: string; hash: string }): Promise<void> {
    const outcome = await this.#store.append(this.#toStored(entry)).catch((error) => {
      this.#isUncertain = true
      throw toUnavailable(error)
    })
    if (outcome === 'stored') {
      this.#position = { ...this.#position, seq: entry.seq, hash: entry.hash }
      return
    }
    if (outcome === 'taken') {
      this.#mustStepDown = true
      throw refusal('Another node of the cluster writes now.', { code: 'NOT_LEADER' })
    }
    this.#isUncertain = true
    // Without Retry-After, because the log may have stored the entry.
    throw new AppError('unavailable', 'The log of the cluster did not answer: the outcome is unknown.', {
      code: 'OUTCOME_UNKNOWN',
    })
  }

  #nextEntry(body: string) {
    const { seq, hash } = this.#position
    return { seq: seq + 1, body, hash: hashEntry(hash, body) }
  }

  #toStored(entry: { seq: number; body: string; hash: string }) {
    return { ...entry, id: newId('entry'), node: this.id, schema: migrations.length }
  }

  async #reportSometimes(): Promise<void> {
    if (performance.now() - this.#reportedAtMs < REPORT_MS) return
    this.#reportedAtMs = performance.now()
    await this.#report()
  }

  #report(): Promise<boolean> {
    const { id } = this
    const node = {
      id,
      boot: this.#boot,
      url: this.#url,
      role: this.#role,
      position: this.#position.seq,
      version: VERSION,
    }
    return this.#store.reportNode(node, GONE_MS)
  }
}

/** Nothing was done, so the caller may try again. */
function refusal(message: string, { code }: { code: string }): AppError {
  return new AppError('unavailable', message, { code, retryAfter: RETRY_SECONDS })
}

function toUnavailable(error: unknown): AppError {
  return new AppError(
    'unavailable',
    'The log of the cluster cannot be reached.',
    { code: 'LOG_UNAVAILABLE', retryAfter: RETRY_SECONDS },
    { cause: error },
  )
}
