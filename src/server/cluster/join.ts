import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { migrations } from '../../../migrations/list.ts'
import { type CommitLogStore, createCommitLogStore } from '../../adapters/commit-log/commit-log.ts'
import { LogUnreachable, openLogDatabase } from '../../adapters/commit-log/log-database.ts'
import type { Config } from '../../core/config.ts'
import { errorMessage, StartupError } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { createSealer } from '../../core/secrets.ts'
import { readOrCreate } from '../../core/text/read-or-create.ts'
import {
  type LogPosition,
  readPositionOfFile,
  readSqliteVersion,
  writePositionOfFile,
} from '../../db/cluster/position.ts'

/** How long a start waits for the log. */
const START_MS = 20_000
const RETRY_MS = 500
/** Leases and expiry dates need clocks that agree. */
const MAX_CLOCK_DIFFERENCE_MS = 5000

export type ClusterConfig = NonNullable<Config['cluster']>
type JoinConfig = Pick<Config, 'dataDir' | 'databaseFile' | 'encryptionKey'> & { cluster: ClusterConfig }

/** A node's access to the log, and the identity of its cluster. */
export type Membership = { store: CommitLogStore; clusterId: string }

/**
 * Connects to the commit log, and checks that this node and its database file belong to the cluster. The cluster has the
 * instance id of its founder, which becomes that of each node: containers and services carry it.
 * @throws StartupError for another cluster, encryption key, SQLite version or clock, or when the log does not answer.
 */
export async function joinCluster(config: JoinConfig, log: Log): Promise<Membership> {
  const store = createCommitLogStore(openLogDatabase(config.cluster.logUrls))
  const instanceFile = join(config.dataDir, 'instance.id')
  const mine = {
    id: readOrCreate(instanceFile, 'DATA_DIR', () => randomText(12).toLowerCase()),
    keyCheck: toKeyCheck(config.encryptionKey ?? ''),
    sqliteVersion: readSqliteVersion(),
  }
  const cluster = await untilReachable(() => store.prepare(mine))
  if (cluster.keyCheck !== mine.keyCheck) {
    throw new StartupError('ENCRYPTION_KEY: differs from the key of the cluster in CLUSTER_LOG_URL')
  }
  if (cluster.sqliteVersion !== mine.sqliteVersion) {
    throw new StartupError(
      `CLUSTER_LOG_URL: the cluster uses SQLite ${cluster.sqliteVersion}, this program ${mine.sqliteVersion}`,
    )
  }
  await requireSameClock(store)
  const isFounder = cluster.id === mine.id && (await untilReachable(() => isUnused(store)))
  await prepareFile({ file: config.databaseFile, clusterId: cluster.id, isFounder, store, log })
  if (cluster.id !== mine.id) writeFileSync(instanceFile, cluster.id, { mode: 0o600 })
  return { store, clusterId: cluster.id }
}

async function isUnused(store: CommitLogStore): Promise<boolean> {
  const { newest } = await store.readState()
  return newest === 0 && (await store.findSnapshot()) === null
}

/** Replaces the database file by the newest snapshot, and keeps the old one beside it. @returns false without a snapshot. */
export async function cloneSnapshot(store: CommitLogStore, file: string, log: Log): Promise<boolean> {
  const snapshot = await store.findSnapshot()
  if (!snapshot) return false
  requireKnownMigrations(snapshot.schema)
  const fresh = `${file}.snapshot`
  await rm(fresh, { force: true })
  const writer = Bun.file(fresh).writer()
  for (let part = 0; part < snapshot.parts; part++) writer.write(await store.readSnapshotPart(snapshot.seq, part))
  await writer.end()
  const known = readPositionOfFile(fresh)
  if (known?.seq !== snapshot.seq || known.hash !== snapshot.hash)
    throw new Error(`snapshot ${snapshot.seq} is damaged`)
  if (existsSync(file)) setAside(file)
  await rename(fresh, file)
  log.info({ seq: snapshot.seq }, 'the database was cloned from a snapshot of the cluster')
  return true
}

/** @throws StartupError when a newer version of this program wrote the log. */
export function requireKnownMigrations(count: number): void {
  if (count <= migrations.length) return
  throw new StartupError('CLUSTER_LOG_URL: a newer version of Stead writes to this cluster: upgrade this node')
}

type FileToJoin = { file: string; clusterId: string; isFounder: boolean; store: CommitLogStore; log: Log }

/** The file continues the log, founds the cluster, or is replaced by a snapshot. */
async function prepareFile({ file, clusterId, isFounder, store, log }: FileToJoin): Promise<void> {
  const known = existsSync(file) ? readPositionOfFile(file) : null
  if (known) {
    // `prepare` gives an empty log the id of this node's cluster, but this file did not follow an empty log.
    if (known.cluster !== clusterId || (isFounder && known.seq > 0)) {
      throw new StartupError('DATA_DIR: the database belongs to another cluster, or the log of its cluster was emptied')
    }
    if (await isContinued(known, store)) return
    log.warn({ seq: known.seq }, 'the database does not continue the log of the cluster: it is replaced')
    if (await cloneSnapshot(store, file, log)) return
    throw new StartupError('DATA_DIR: the database does not continue the log of the cluster, and there is no snapshot')
  }
  // The first hash is secret, so a node without the founder's data cannot continue its log.
  if (isFounder) return writePositionOfFile(file, { cluster: clusterId, seq: 0, hash: randomText(32) })
  if (existsSync(file)) {
    throw new StartupError('DATA_DIR: the database has data of its own, and the cluster has others: move it away')
  }
  await cloneFirstSnapshot(store, file, log)
}

/** Returns whether the log has all entries that follow the position. */
async function isContinued({ seq }: LogPosition, store: CommitLogStore): Promise<boolean> {
  const { newest } = await untilReachable(() => store.readState())
  const snapshot = await untilReachable(() => store.findSnapshot())
  const [next] = await untilReachable(() => store.readAfter(seq, 1))
  const isCovered = seq >= newest || next?.seq === seq + 1
  return seq <= Math.max(newest, snapshot?.seq ?? 0) && isCovered
}

/** The founder stores a snapshot soon after its start. @throws StartupError with exit code 75 when there is none. */
async function cloneFirstSnapshot(store: CommitLogStore, file: string, log: Log): Promise<void> {
  const endsAt = performance.now() + START_MS
  while (!(await untilReachable(() => cloneSnapshot(store, file, log)))) {
    if (performance.now() >= endsAt) {
      const cause = new LogUnreachable('no snapshot')
      throw new StartupError(
        'CLUSTER_LOG_URL: the cluster has no snapshot yet: start its first node, or empty this PostgreSQL database',
        { cause },
      )
    }
    await Bun.sleep(RETRY_MS)
  }
}

function setAside(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(file + suffix)) renameSync(file + suffix, `${file}.replaced-${Date.now()}${suffix}`)
  }
}

/** Proves the key without revealing it: the sealer derives a key for this purpose. */
function toKeyCheck(encryptionKey: string): string {
  return Buffer.from(createSealer(encryptionKey).deriveKey('key-check')).toString('hex')
}

/** @throws StartupError */
async function requireSameClock(store: CommitLogStore): Promise<void> {
  const before = Date.now()
  const remote = (await untilReachable(() => store.now())).getTime()
  const difference = Math.max(before - remote, remote - Date.now())
  if (difference <= MAX_CLOCK_DIFFERENCE_MS) return
  const seconds = Math.round(difference / 1000)
  throw new StartupError(`CLUSTER_LOG_URL: the clocks of this node and of PostgreSQL differ by ${seconds} s`)
}

/** @throws StartupError with exit code 75 when the log does not answer. */
async function untilReachable<T>(work: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + START_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof LogUnreachable)) {
        if (error instanceof StartupError) throw error
        throw new StartupError(`CLUSTER_LOG_URL: the log cannot be used (${errorMessage(error)})`, { cause: error })
      }
      if (performance.now() >= endsAt) {
        throw new StartupError('CLUSTER_LOG_URL: no PostgreSQL server that accepts writes answers', { cause: error })
      }
      await Bun.sleep(RETRY_MS)
    }
  }
}
