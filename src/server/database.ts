import { join } from 'node:path'
import { migrations } from '../../migrations/list.ts'
import { keepFigures } from '../db/kept-figures.ts'
import { migrate, requireKnownSchema } from '../db/migrate.ts'
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

/**
 * Opens the database, migrates it, and installs triggers and the write queue, which writes to the log of a cluster.
 * @returns `applied`: the migrations that were due.
 * @throws StartupError when it cannot be opened or migrated, or is half restored.
 */
export function openMigrated(
  file: string,
  dataDir: string,
  cluster: ClusterNode | null = null,
): { connection: Connection; applied: string[] } {
  requireFinished(dataDir)
  requireKnownSchema(file, migrations)
  const connection = openDatabase(file, { hasOwnReader: cluster !== null })
  try {
    const applied = migrate(connection.sqlite, migrations, { backupDir: join(dataDir, 'backups') })
    for (const figures of ALL_FIGURES) keepFigures(connection.sqlite, figures)
    openWriteQueue(connection, cluster?.use(connection))
    return { connection, applied }
  } catch (error) {
    connection.close()
    throw error
  }
}
