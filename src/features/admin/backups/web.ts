import { type Context, Hono } from 'hono'
import { write } from '../../../db/write.ts'
import { answers } from '../../../http/answers.ts'
import type { WebEnv } from '../../../http/env.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { type SetBackupPlanDeps, setBackupPlan } from './backup-plan.ts'
import { type OrderDeps, orderRun } from './order.ts'
import { getBackupOverview, type OverviewDeps, toBackupRun } from './overview.ts'
import type { BackupTask } from './run-backup.ts'
import { BackupOrdered, BackupOverview, BackupsRequest, RestoreAgentRequest } from './schemas.ts'
import { getShelved } from './shelf.ts'

export type BackupsWebDeps = OrderDeps & OverviewDeps & SetBackupPlanDeps & { guards: Guards }

/** A client that takes nothing of a download for so long is dropped. */
const STALLED_SECONDS = 60
const ordered = answers({ 202: BackupOrdered }, 'not_found', 'conflict', 'unavailable')

/** Backups as admins see them. What takes its time is ordered, and the overview tells how it goes. */
export function backupsWeb(deps: BackupsWebDeps) {
  const app = new Hono<WebEnv>()
  const { admin } = deps.guards
  const order = async (c: Context<WebEnv>, task: BackupTask) => {
    const by = { id: c.var.user.id, address: c.env.address }
    return c.json({ run: toBackupRun(await orderRun(deps, by, task)) }, 202)
  }
  const locate = async (name: string) => deps.shelf.locate((await getShelved(deps.shelf, name)).name)

  app.get('/api/admin/backups', answers({ 200: BackupOverview }, 'unavailable'), admin, async (c) =>
    c.json(await getBackupOverview(deps)),
  )

  app.put(
    '/api/admin/backups',
    answers({ 200: BackupOverview }, 'conflict', 'unavailable'),
    admin,
    validate('json', BackupsRequest),
    async (c) => {
      // A place on another machine may answer late.
      c.env.keepOpen?.(c.req.raw)
      const by = { id: c.var.user.id, address: c.env.address }
      await setBackupPlan(deps, by, c.req.valid('json'), c.req.raw.signal)
      return c.json(await getBackupOverview(deps))
    },
  )

  app.post('/api/admin/backups', answers({ 202: BackupOrdered }, 'conflict', 'unavailable'), admin, (c) =>
    order(c, { kind: 'backup' }),
  )

  app.post('/api/admin/backups/:name/verify', ordered, routeTraits({ worksOnFullDisk: true }), admin, async (c) =>
    order(c, { kind: 'verify', file: await locate(c.req.param('name')) }),
  )

  app.post('/api/admin/backups/:name/drill', ordered, admin, async (c) =>
    order(c, { kind: 'drill', file: await locate(c.req.param('name')) }),
  )

  app.post('/api/admin/backups/:name/restore', ordered, admin, validate('json', RestoreAgentRequest), async (c) => {
    const { agentId, replace } = c.req.valid('json')
    return order(c, { kind: 'restore', file: await locate(c.req.param('name')), agentId, replaces: replace })
  })

  // As it stands there: one that is sealed stays sealed.
  app.get(
    '/api/admin/backups/:name/download',
    answers({ 200: 'application/octet-stream' }, 'not_found', 'unavailable'),
    admin,
    async (c) => {
      const { name, sizeBytes } = await getShelved(deps.shelf, c.req.param('name'))
      const entry = { actor: c.var.user.id, action: 'backup.download', target: name, address: c.env.address }
      await write(deps.db, (tx) => recordAudit(tx, entry, deps.clock.now()))
      c.header('content-type', 'application/octet-stream')
      c.header('content-length', String(sizeBytes))
      c.header('content-disposition', `attachment; filename="${name}"`)
      if (c.req.raw.method === 'HEAD') return c.body(null)
      c.env.keepOpen?.(c.req.raw, STALLED_SECONDS)
      return c.body(deps.shelf.read(name))
    },
  )

  return app
}
