import { isAbsolute } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import type { Config } from '../../../core/config.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import {
  BAD_KEEP,
  BAD_SCHEDULE,
  type BackupKeep,
  type BackupSchedule,
  isBackupPlace,
  parseKeep,
  parseSchedule,
} from '../../../core/settings/backups.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { findServiceCredential, setServiceCredential } from '../../accounts/service-credentials/service-credentials.ts'
import type { Administrator } from '../accounts/change-account.ts'
import type { BackupsRequest } from './schemas.ts'
import type { BackupStore } from './store.ts'

const NAME = 'backups'
const VARIABLES = { schedule: 'BACKUP_SCHEDULE', to: 'BACKUP_TO', keep: 'BACKUP_KEEP' } as const
type Field = keyof typeof VARIABLES
const FIELDS: readonly Field[] = ['schedule', 'to', 'keep']

/** Settings of the dashboard in the format of the environment; null means the default. */
const Stored = z.object({ schedule: z.string().nullable(), to: z.string().nullable(), keep: z.string().nullable() })
type Stored = z.infer<typeof Stored>
const NOTHING: Stored = { schedule: null, to: null, keep: null }

/** Effective schedule, location and retention. `fixed` marks the fields set by the environment. */
type Effective = {
  schedule: BackupSchedule | undefined
  to: string
  keep: BackupKeep
  fixed: Readonly<Record<Field, boolean>>
}

export type BackupPlan = {
  read(): Effective
  /** Returns the environment variables for a child process that makes a backup. */
  toEnvironment(): Record<string, string>
}
type BackupSettings = Pick<Config, 'backups' | 'backupSettingsGiven'>

/** Combines the settings: environment first, then dashboard, then defaults. */
export function createBackupPlan(
  deps: { db: Db; sealer: Sealer },
  { backups, backupSettingsGiven: fixed }: BackupSettings,
): BackupPlan {
  const readOpen = () => {
    const stored = readStored(deps)
    const open = (field: Field) => (fixed[field] ? null : stored[field])
    return { schedule: open('schedule'), to: open('to'), keep: open('keep') }
  }
  return {
    read() {
      const { schedule, to, keep } = readOpen()
      return {
        schedule: (schedule === null ? null : parseSchedule(schedule)) ?? backups.schedule,
        to: to ?? backups.to,
        keep: (keep === null ? null : parseKeep(keep)) ?? backups.keep,
        fixed,
      }
    },
    toEnvironment() {
      const open = readOpen()
      return Object.fromEntries(
        FIELDS.flatMap((field) => (open[field] === null ? [] : [[VARIABLES[field], open[field]]])),
      )
    },
  }
}

/**
 * Changes the fields of the request; a new location is first tested with a file.
 * @throws AppError `conflict` SET_BY_ENVIRONMENT, `invalid` for a location that cannot be written.
 */
export async function setBackupPlan(
  deps: {
    db: Db
    clock: Clock
    sealer: Sealer
    backupPlan: BackupPlan
    /** Opens the store at a location that may not exist yet. */
    openBackupStore: (to: string) => BackupStore
  },
  by: Administrator,
  request: BackupsRequest,
  signal: AbortSignal,
): Promise<void> {
  const { fixed, to: before } = deps.backupPlan.read()
  for (const field of FIELDS) {
    if (request[field] === undefined || !fixed[field]) continue
    throw new AppError('conflict', `${VARIABLES[field]} is set in the environment: change it there`, {
      code: 'SET_BY_ENVIRONMENT',
    })
  }
  requireValid(request)
  const to = request.to ?? null
  if (to !== null && to !== before) await deps.openBackupStore(to).test(signal)
  await write(deps.db, (tx) => {
    const stored = readStored({ ...deps, db: tx })
    const next: Stored = {
      schedule: request.schedule === undefined ? stored.schedule : request.schedule || null,
      to: request.to === undefined ? stored.to : request.to || null,
      keep: request.keep === undefined ? stored.keep : request.keep || null,
    }
    setServiceCredential(deps, tx, NAME, JSON.stringify(next))
    const entry = { actor: by.id, action: 'backup.settings', target: NAME, detail: next, address: by.address }
    recordAudit(tx, entry, deps.clock.now())
  })
}

/** Validates the request. @throws AppError `invalid` naming the first invalid field. */
function requireValid({ schedule, to, keep }: BackupsRequest): void {
  if (schedule && !parseSchedule(schedule)) throw new AppError('invalid', `schedule ${BAD_SCHEDULE}`)
  if (keep && !parseKeep(keep)) throw new AppError('invalid', `keep ${BAD_KEEP}`)
  const isWhole = (place: string) => isAbsolute(place) || place.startsWith('s3://')
  if (to && !(isBackupPlace(to) && isWhole(to))) {
    throw new AppError('invalid', 'to must be the whole path of a folder, or s3://bucket/prefix')
  }
}

function readStored(deps: { db: Db; sealer: Sealer }): Stored {
  const text = findServiceCredential(deps, NAME)
  return text === null ? NOTHING : Stored.parse(JSON.parse(text))
}
