import type { Config } from '../../core/config.ts'
import type { ShownSetting } from '../../core/settings/show.ts'
import type { Connection } from '../../db/open.ts'
import type { JobQueue } from '../../jobs/queue.ts'
import type { RunStead } from './backups/run-backup.ts'
import type { BackupShelf } from './backups/shelf.ts'
import type { LogTail } from './logs/log-tail.ts'

type HouseSettings = Pick<Config, 'retentionDays' | 'backups'>

/** `connection` is for what is done to the file itself, between writes; `runStead` is null where there is no such program. */
type ForHouse = {
  connection: Connection
  runStead?: RunStead | null
  shelf: BackupShelf
  shownSettings: readonly ShownSetting[]
  logTail: LogTail
  canRetry: JobQueue['canRetry']
}

/** Opens what the rooms of the house share. */
export function openHouse(
  { retentionDays, backups }: HouseSettings,
  { connection, runStead = null, shelf, shownSettings, logTail, canRetry }: ForHouse,
) {
  const { schedule, drillSchedule, to, keep, passphrase } = backups
  return {
    ...{ connection, retentionDays, runStead, shelf, shownSettings, logTail, canRetry },
    backupSchedule: schedule,
    drillSchedule,
    backupPlace: { to, keep, isSealed: passphrase !== undefined },
  }
}
