import { type Context, Hono } from 'hono'
import type { BackupSchedule } from '../../../core/settings/backups.ts'
import { write } from '../../../db/write.ts'
import { endpoint, type Responses } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { BackupPlan } from './backup-plan.ts'
import { setBackupPlan } from './backup-plan.ts'
import { orderRun } from './jobs.ts'
import { getBackupOverview, toBackupRun } from './overview.ts'
import type { BackupTask, RunBackupDeps } from './run-backup.ts'
import { BackupOrdered, BackupOverview, BackupsRequest, RestoreAgentRequest } from './schemas.ts'
import type { BackupStore } from './store.ts'
import { getStoredBackup } from './store.ts'

/** Drops a download whose client reads nothing for this long. */
const STALLED_SECONDS = 60
const ordered: Responses = { responses: { 202: BackupOrdered }, errors: ['not_found', 'conflict', 'unavailable'] }

/** Backup routes for administrators. Long work is queued; the overview reports its progress. */
export function backupsWeb(
  deps: RunBackupDeps & {
    backupStore: BackupStore
    drillSchedule: BackupSchedule | undefined
    backupPlan: BackupPlan
    backupPlace: { isSealed: boolean }
    dataDir: string
    /** Opens the store at a location that may not exist yet. */
    openBackupStore: (to: string) => BackupStore
    guards: Guards
  },
) {
  const app = new Hono<WebEnv>()
  const { admin } = deps.guards
  const order = async (c: Context<WebEnv>, task: BackupTask) => {
    const by = { id: c.var.user.id, address: c.env.address }
    return c.json({ run: toBackupRun(await orderRun(deps, by, task)) }, 202)
  }
  const locate = async (name: string) => deps.backupStore.locate((await getStoredBackup(deps.backupStore, name)).name)

  app.get(
    '/api/admin/backups',
    endpoint({
      summary: 'Lists backups and restore test results',
      tag: 'Backups',
      responses: { 200: BackupOverview },
      errors: ['unavailable'],
    }),
    admin,
    async (c) => c.json(await getBackupOverview(deps)),
  )

  app.put(
    '/api/admin/backups',
    endpoint({
      summary: 'Sets backup schedule, destination and retention',
      tag: 'Backups',
      responses: { 200: BackupOverview },
      errors: ['conflict', 'unavailable'],
    }),
    admin,
    validate('json', BackupsRequest),
    async (c) => {
      // Remote storage may respond slowly.
      c.env.keepOpen?.(c.req.raw)
      const by = { id: c.var.user.id, address: c.env.address }
      await setBackupPlan(deps, by, c.req.valid('json'), c.req.raw.signal)
      return c.json(await getBackupOverview(deps))
    },
  )

  app.post(
    '/api/admin/backups',
    endpoint({
      summary: 'Creates a backup now',
      tag: 'Backups',
      responses: { 202: BackupOrdered },
      errors: ['conflict', 'unavailable'],
    }),
    admin,
    (c) => order(c, { kind: 'backup' }),
  )

  app.post(
    '/api/admin/backups/:name/verify',
    endpoint({ summary: 'Verifies a backup', tag: 'Backups', ...ordered, worksOnFullDisk: true }),
    admin,
    async (c) => order(c, { kind: 'verify', file: await locate(c.req.param('name')) }),
  )

  app.post(
    '/api/admin/backups/:name/drill',
    endpoint({ summary: 'Runs a restore test of a backup', tag: 'Backups', ...ordered }),
    admin,
    async (c) => order(c, { kind: 'drill', file: await locate(c.req.param('name')) }),
  )

  app.post(
    '/api/admin/backups/:name/restore',
    endpoint({ summary: 'Restores one agent from a backup', tag: 'Backups', ...ordered }),
    admin,
    validate('json', RestoreAgentRequest),
    async (c) => {
      const { agentId, replace } = c.req.valid('json')
      return order(c, { kind: 'restore', file: await locate(c.req.param('name')), agentId, replaces: replace })
    },
  )

  // Sent as stored: a sealed backup stays sealed.
  app.get(
    '/api/admin/backups/:name/download',
    endpoint({
      summary: 'Downloads a backup',
      tag: 'Backups',
      responses: { 200: 'application/octet-stream' },
      errors: ['not_found', 'unavailable'],
    }),
    admin,
    async (c) => {
      const { name, sizeBytes } = await getStoredBackup(deps.backupStore, c.req.param('name'))
      const entry = { actor: c.var.user.id, action: 'backup.download', target: name, address: c.env.address }
      await write(deps.db, (tx) => recordAudit(tx, entry, deps.clock.now()))
      c.header('content-type', 'application/octet-stream')
      c.header('content-length', String(sizeBytes))
      c.header('content-disposition', `attachment; filename="${name}"`)
      if (c.req.raw.method === 'HEAD') return c.body(null)
      c.env.keepOpen?.(c.req.raw, STALLED_SECONDS)
      return c.body(deps.backupStore.read(name))
    },
  )

  return app
}
