import { join } from 'node:path'
import { migrations } from '../../migrations/list.ts'
import { StartupError } from '../core/errors.ts'
import { readLogPosition } from '../db/cluster/position.ts'
import { keepFigures } from '../db/kept-figures.ts'
import { countMigrations, migrate, requireKnownSchema } from '../db/migrate.ts'
import { type Connection, openDatabase } from '../db/open.ts'
import { openWriteQueue } from '../db/write.ts'
import { STORAGE_FIGURES } from '../features/agents/storage/figures.ts'
import { MESSAGE_FIGURES, MESSAGE_WORDS } from '../features/conversations/chat/message-triggers.ts'
import { FACT_WORDS } from '../features/conversations/memory/search.ts'
import { PROMETHEUS_TOTALS } from '../features/monitoring/prometheus/kept-totals.ts'
import { LEDGER_FIGURES } from '../features/payments/ledger/tables.ts'
import { requireFinished } from './backups/unfinished.ts'
import type { ClusterNode } from './cluster/node.ts'

const ALL_FIGURES = [MESSAGE_FIGURES, MESSAGE_WORDS, FACT_WORDS, STORAGE_FIGURES, LEDGER_FIGURES, PROMETHEUS_TOTALS]

/** `isCurrent`: the file has all migrations of this program. `applied`: the migrations that were due. */
export type OpenedDatabase = { connection: Connection; applied: string[]; isCurrent: boolean }

/**
 * Opens the database, migrates it, and installs triggers and the write queue, which writes to the log of a cluster. In a
 * cluster the leader decides when a file is migrated, because its statements need the schema that it had.
 * @throws StartupError when it cannot be opened or migrated, is half restored, or belongs to a cluster that is not given.
 */
export function openMigrated(file: string, dataDir: string, cluster: ClusterNode | null = null): OpenedDatabase {
  requireFinished(dataDir)
  requireKnownSchema(file, migrations)
  const connection = openDatabase(file, { hasOwnReader: cluster !== null })
  const { sqlite } = connection
  try {
    if (!cluster) requireNoCluster(connection)
    const mayMigrate = cluster?.mayMigrate() ?? true
    const applied = mayMigrate ? migrate(sqlite, migrations, { backupDir: join(dataDir, 'backups') }) : []
    const isCurrent = mayMigrate || countMigrations(sqlite) === migrations.length
    if (isCurrent) for (const figures of ALL_FIGURES) keepFigures(sqlite, figures)
    openWriteQueue(connection, cluster?.use(connection))
    return { connection, applied, isCurrent }
  } catch (error) {
    connection.close()
    throw error
  }
}

/** The other nodes would not learn of this node's writes. */
function requireNoCluster({ sqlite }: Connection): void {
  if (readLogPosition(sqlite) === null) return
  throw new StartupError(
    'CLUSTER_LOG_URL: must be set, because the database belongs to a cluster: `stead cluster leave` makes it a single node',
  )
}
