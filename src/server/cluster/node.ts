import { migrations } from '../../../migrations/list.ts'
import { LogUnreachable } from '../../adapters/commit-log/log-database.ts'
import { type AppError, errorMessage, StartupError } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { VERSION } from '../../core/version.ts'
import { DivergenceError } from '../../db/cluster/apply.ts'
import type { Connection } from '../../db/open.ts'
import type { CommitLog } from '../../db/write.ts'
import type { ClusterStatus } from '../../features/admin/cluster/schemas.ts'
import type { ClusterFigures } from '../../features/monitoring/prometheus/registry.ts'
import { TableChecks } from './checks.ts'
import { type ClusterConfig, cloneSnapshot, type Membership } from './join.ts'
import { Lease } from './lease.ts'
import { LocalLog } from './local-log.ts'
import { createLogRefusal, createRefusal } from './refusals.ts'
import { Snapshots } from './snapshots.ts'
import { GONE_MS, readClusterStatus } from './status.ts'

/** The node that writes, and those that copy it. */
export type ClusterRole = 'leader' | 'follower'

const RENEW_MS = 500
/** How often a follower reads the log. */
const FOLLOW_MS = 100
const REPORT_MS = 1000
/** When the log is back, other nodes wait this long, so that the former leader can continue without reopening anything. */
const FORMER_LEADER_MS = 1500
/** A node that differs again sooner stops. */
const CLONE_PAUSE_MS = 10 * 60_000
/** How long a stopping leader waits for its successor. */
const HANDOVER_MS = 3000

/** Closes the service, runs `prepare`, and opens it again. */
type Reopen = (prepare?: () => Promise<unknown>) => Promise<void>

/** One node of a cluster: its role, its position in the log, and the log of its writes. */
export type ClusterNode = Omit<Node, 'requireOwnId'>

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

class Node {
  readonly id: string
  readonly clusterId: string
  readonly #url: string
  readonly #file: string
  readonly #store: Membership['store']
  readonly #log: Log
  readonly #boot = randomText(16)
  readonly #lease: Lease
  readonly #checks: TableChecks
  readonly #local: LocalLog
  readonly #snapshots: Snapshots
  #role: ClusterRole = 'follower'
  #leaderUrl: string | null = null
  /** The last known entry of the log. */
  #newest = 0
  #isReachable = true
  #reachableSinceMs = Number.NEGATIVE_INFINITY
  /** The leader has migrations that this program or this file lacks. */
  #isOutdated = false
  #isMigrationDue = false
  /** The service could not be opened in its role. */
  #mustReopen = false
  #isStopped = false
  #loop: Promise<void> = Promise.resolve()
  #reportedAtMs = 0
  #clonedAtMs = Number.NEGATIVE_INFINITY

  constructor(
    { cluster, databaseFile }: { cluster: ClusterConfig; databaseFile: string },
    { store, clusterId }: Membership,
    log: Log,
  ) {
    this.id = cluster.nodeId
    this.clusterId = clusterId
    this.#url = cluster.nodeUrl
    this.#file = databaseFile
    this.#store = store
    this.#log = log
    this.#lease = new Lease(store, { node: this.id, boot: this.#boot })
    this.#checks = new TableChecks(store, databaseFile, log, cluster.checkMs)
    this.#local = new LocalLog(store, { node: this.id, cluster: clusterId }, this.#checks, log)
    this.#snapshots = new Snapshots(store, databaseFile, log)
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
  /** Returns the backend URL of the leader; null when there is none. */
  leaderUrl = () => this.#leaderUrl
  /** Returns the number of the last entry that this node's file contains. */
  position = () => this.#local.position()
  /** Returns whether this node can answer reads: its file has the schema of this program, and follows the log. */
  canRead = () => this.#local.hasAllMigrations() && !this.#isOutdated
  /** Returns whether the file may get migrations: the leader decides when. */
  mayMigrate = () => this.#role === 'leader' || this.#isMigrationDue

  /** Waits until this node's file contains the entry. @returns false when that takes longer than `ms`. */
  async waitFor(seq: number, ms: number): Promise<boolean> {
    const endsAt = performance.now() + ms
    while (this.position() < seq && performance.now() < endsAt) await Bun.sleep(FOLLOW_MS / 4)
    return this.position() >= seq
  }

  /** Takes the database that the node uses from now on. @returns the log of its writes. */
  use(connection: Connection): CommitLog {
    return this.#local.open(connection, () => this.#findRefusal())
  }

  /** Starts following and leading; `reopen` opens the service anew in the node's role. */
  start(reopen: Reopen): void {
    this.#loop = this.#run(reopen)
  }

  /** Reads the state of all nodes from the log. @throws AppError `unavailable` */
  async readStatus(): Promise<ClusterStatus> {
    return readClusterStatus(this.#store).catch((error) => {
      throw createLogRefusal(error)
    })
  }

  /** Returns the figures of this node for its metrics. */
  measure = (): ClusterFigures => ({
    isLeader: this.#role === 'leader',
    position: this.position(),
    lag: Math.max(0, this.#newest - this.position()),
    comparisons: this.#checks.results,
  })

  /** Stores a snapshot in the log. @returns its position. @throws AppError `unavailable` on a follower. */
  async saveSnapshot(): Promise<number> {
    if (this.#role !== 'leader') throw createRefusal('Snapshots are stored by the leader.', { code: 'NOT_LEADER' })
    return this.#snapshots.save()
  }

  /** Gives the lease away; from now on this node forwards what it cannot answer. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#loop
    const wasLeader = this.#role === 'leader'
    this.#role = 'follower'
    await this.#lease.release().catch(() => undefined)
    const endsAt = performance.now() + HANDOVER_MS
    while (wasLeader && this.#leaderUrl === null && performance.now() < endsAt && (await this.#hasOthers())) {
      await this.#findLeader().catch(() => undefined)
      await Bun.sleep(FOLLOW_MS)
    }
    await this.#store.leave(this.#boot).catch(() => undefined)
  }

  /** Closes the connections to the log. */
  async close(): Promise<void> {
    await this.#snapshots.settle()
    await this.#store.close()
  }

  async #hasOthers(): Promise<boolean> {
    const nodes = await this.#store.listNodes().catch(() => [])
    return nodes.some(({ id, secondsAgo }) => id !== this.id && secondsAgo * 1000 < GONE_MS)
  }

  async #run(reopen: Reopen): Promise<void> {
    while (!this.#isStopped) {
      try {
        if (this.#mustReopen) await this.#open(reopen)
        else if (this.#role === 'leader') await this.#lead(reopen)
        else await this.#follow(reopen)
        this.#noteReachable()
      } catch (error) {
        this.#noteFailure(error)
        if (error instanceof DivergenceError) await this.#cloneAgain(reopen)
      }
      await Bun.sleep(this.#role === 'leader' && this.#isReachable ? RENEW_MS : FOLLOW_MS)
    }
  }

  #noteReachable(): void {
    if (this.#isReachable) return
    this.#log.info('the log of the cluster answers again')
    this.#isReachable = true
    this.#reachableSinceMs = performance.now()
  }

  #isJustReachable(): boolean {
    return !this.#isReachable || performance.now() - this.#reachableSinceMs < FORMER_LEADER_MS
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
      this.#isOutdated = true
      return
    }
    this.#clonedAtMs = performance.now()
    this.#role = 'follower'
    await this.#open(reopen, () => cloneSnapshot(this.#store, this.#file, this.#log)).catch((error) =>
      this.#noteFailure(error),
    )
  }

  /** Without the log the leader keeps its role and refuses writes, until it knows of another leader. */
  async #lead(reopen: Reopen): Promise<void> {
    if (this.#local.isOvertaken() || !(await this.#lease.hold())) return this.#changeRole('follower', reopen)
    if (this.#local.isUncertain()) {
      const before = this.position()
      const { state } = await this.#local.catchUp()
      if (state === 'behind') return this.#changeRole('follower', reopen)
      // Another leader may have written: what this process has in memory is out of date.
      if (this.position() !== before) return this.#changeRole('leader', reopen)
    }
    this.#noteReachable()
    this.#snapshots.saveWhenDue(this.position())
    await this.#reportSometimes()
  }

  async #follow(reopen: Reopen): Promise<void> {
    const caughtUp = await this.#local.catchUp()
    await this.#reportSometimes()
    const isLed = await this.#findLeader()
    if (caughtUp.state === 'behind') return this.#takeMigrations(caughtUp.schema, reopen)
    this.#isOutdated = false
    await this.#checks.compare()
    if (isLed || this.#isJustReachable() || !(await this.#lease.hold())) return
    if (!(await this.#local.takeLead())) return
    await this.#snapshots.refresh()
    await this.#changeRole('leader', reopen)
  }

  /** Migrates the file to the schema of the next entry. A program without these migrations can only forward requests. */
  async #takeMigrations(schema: number, reopen: Reopen): Promise<void> {
    if (schema === migrations.length) {
      this.#isMigrationDue = true
      return this.#open(reopen).finally(() => {
        this.#isMigrationDue = false
      })
    }
    const snapshot = schema < migrations.length ? await this.#store.findSnapshot() : null
    if (snapshot?.schema === migrations.length) throw new DivergenceError('a snapshot has the migrations of this node')
    if (this.#isOutdated) return
    this.#isOutdated = true
    this.#log.error({ schema }, 'this node stopped following: the leader runs another version of Stead')
  }

  /** @returns whether another node leads. */
  async #findLeader(): Promise<boolean> {
    const { leader, newest } = await this.#store.readState()
    this.#newest = newest
    this.#leaderUrl = leader && leader.node !== this.id ? leader.url : null
    return this.#leaderUrl !== null
  }

  async #changeRole(role: ClusterRole, reopen: Reopen): Promise<void> {
    this.#role = role
    this.#leaderUrl = null
    // The log has just answered; the service writes while it opens.
    this.#noteReachable()
    this.#log.info({ node: this.id, role, position: this.position() }, 'this node of the cluster changes its role')
    await this.#open(reopen)
    this.#reportedAtMs = 0
  }

  /** A node that cannot be opened follows: opening as a follower needs neither the log nor the lease. */
  async #open(reopen: Reopen, prepare?: () => Promise<unknown>): Promise<void> {
    this.#mustReopen = true
    try {
      await reopen(prepare)
      this.#mustReopen = false
    } catch (error) {
      this.#role = 'follower'
      throw error
    }
  }

  #findRefusal(): AppError | null {
    if (this.#role !== 'leader')
      return createRefusal('This node of the cluster does not write.', { code: 'NOT_LEADER' })
    // Without its lease a leader may still write: the log refuses it when another node has written.
    const isSafe = !this.#local.isOvertaken() && !this.#local.isUncertain()
    return isSafe && this.#isReachable ? null : createLogRefusal()
  }

  async #reportSometimes(): Promise<void> {
    if (performance.now() - this.#reportedAtMs < REPORT_MS) return
    this.#reportedAtMs = performance.now()
    await this.#report()
  }

  #report(): Promise<boolean> {
    const place = { id: this.id, boot: this.#boot, url: this.#url }
    const state = { role: this.#role, position: this.position(), version: VERSION }
    return this.#store.reportNode({ ...place, ...state }, GONE_MS)
  }
}
