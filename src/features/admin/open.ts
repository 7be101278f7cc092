import type { Config } from '../../core/config.ts'
import type { ShownSetting } from '../../core/settings/show.ts'
import type { Connection } from '../../db/open.ts'
import type { JobQueue } from '../../jobs/queue.ts'
import type { Base } from '../base.ts'
import { createBackupPlan } from './backups/backup-plan.ts'
import type { RunStead } from './backups/run-backup.ts'
import type { BackupStore } from './backups/store.ts'
import type { Cluster } from './cluster/schemas.ts'
import type { LogTail } from './logs/log-tail.ts'
import { createReleaseFeed } from './updates/release-feed.ts'

type AdminSettings = Pick<Config, 'retentionDays' | 'backups' | 'backupSettingsGiven' | 'dataDir' | 'releaseFeedUrl'>

/**
 * `connection` serves maintenance of the database file between writes; `runStead` is null when the executable cannot be
 * run.
 */
type AdminOptions = {
  connection: Connection
  runStead?: RunStead | null
  openConfiguredBackupStore: (readPlace: () => string) => BackupStore
  shownSettings: readonly ShownSetting[]
  logTail: LogTail
  canRetry: JobQueue['canRetry']
  cluster?: Cluster | null
}

/** Opens the services that the features of `admin` share. */
export function openAdmin(
  base: Base,
  { retentionDays, backups, backupSettingsGiven, dataDir, releaseFeedUrl }: AdminSettings,
  {
    connection,
    runStead = null,
    openConfiguredBackupStore,
    shownSettings,
    logTail,
    canRetry,
    cluster = null,
  }: AdminOptions,
) {
  const { drillSchedule, passphrase } = backups
  const backupPlan = createBackupPlan(base, { backups, backupSettingsGiven })
  return {
    ...{ connection, retentionDays, runStead, shownSettings, logTail, canRetry, cluster },
    dataDir,
    backupPlan,
    releaseFeed: createReleaseFeed(releaseFeedUrl, base),
    backupStore: openConfiguredBackupStore(() => backupPlan.read().to),
    openBackupStore: (to: string) => openConfiguredBackupStore(() => to),
    drillSchedule,
    backupPlace: { to: backups.to, isSealed: passphrase !== undefined },
  }
}
