import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../../../core/errors.ts'
import { Done, describeMiddleware, endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, WebEnv } from '../../../http/env.ts'
import { type InternalKeyGuard, readBearer } from '../../../http/internal-key.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { sendPieces } from '../../../http/streams/send-pieces.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import {
  BackendAddress,
  HeartbeatRequest,
  Installations,
  NotedHeartbeat,
  RegisteredInstallation,
  RegisterHomeRequest,
  RegisterLinkRequest,
} from './schemas.ts'
import { deleteInstallation, listInstallations, recordHeartbeat, register } from './service.ts'

/** Installation routes of the web API: own machines only. */
export function installationsWeb(deps: Base & { guards: Guards; backendPort: number }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/installations',
    endpoint({ summary: 'Lists registered machines', tag: 'Machines', responses: { 200: Installations } }),
    signedIn,
    (c) => {
      const pieces = listInstallations(deps.db, { kind: 'user', user: c.var.user })
      return sendPieces(c, deps, { type: 'application/json', pieces })
    },
  )

  app.get(
    '/api/installations/address',
    endpoint({ summary: 'Returns the backend port', tag: 'Machines', responses: { 200: BackendAddress } }),
    signedIn,
    (c) => c.json({ port: deps.backendPort }),
  )

  app.delete(
    '/api/installations/:id',
    endpoint({
      summary: 'Removes a machine',
      tag: 'Machines',
      responses: { 200: Done },
      errors: ['not_found'],
      scope: 'agents',
    }),
    signedIn,
    async (c) => {
      await deleteInstallation(deps.db, c.var.user.id, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  return app
}

const REFUSED = { success: false }

/** Routes on which home machines and linked gateways register and send heartbeats. */
export function installationsBackend(deps: Base & { internalKey: InternalKeyGuard; guards: Guards; appUrl: string }) {
  const app = new Hono<BackendEnv>()
  const installer = requireInstaller(deps)
  const dashboardUrl = `${deps.appUrl}/dashboard`

  app.post(
    '/api/register-home',
    endpoint({
      summary: 'Registers a home installation',
      tag: 'Machines',
      responses: { 200: RegisteredInstallation },
      errors: ['limited', 'internal'],
      scope: 'agents',
    }),
    installer,
    validate('json', RegisterHomeRequest, REFUSED),
    async (c) => {
      await register(deps, c.var.principal, c.req.valid('json'))
      return c.json({ success: true, message: 'Home installation registered', dashboardUrl })
    },
  )

  app.post(
    '/api/register-link',
    endpoint({
      summary: 'Links a remote gateway',
      tag: 'Machines',
      responses: { 200: RegisteredInstallation },
      errors: ['limited'],
      scope: 'agents',
    }),
    installer,
    validate('json', RegisterLinkRequest, REFUSED),
    async (c) => {
      await register(deps, c.var.principal, { ...c.req.valid('json'), mode: 'link' })
      return c.json({ success: true, message: 'OpenClaw instance linked', dashboardUrl })
    },
  )

  app.get(
    '/api/installations',
    endpoint({ summary: 'Lists registered machines', tag: 'Machines', responses: { 200: Installations } }),
    deps.internalKey,
    (c) => sendPieces(c, deps, { type: 'application/json', pieces: listInstallations(deps.db, c.var.principal) }),
  )

  app.post(
    '/api/heartbeat',
    endpoint({
      summary: "Records a machine's heartbeat",
      tag: 'Machines',
      responses: { 200: NotedHeartbeat },
      errors: ['unauthenticated', 'forbidden', 'not_found', 'limited'],
      worksOnFullDisk: true,
    }),
    validateAnyBody(HeartbeatRequest),
    async (c) => {
      await recordHeartbeat(deps, c.req.valid('json'))
      return c.json({ success: true, timestamp: deps.clock.now().toISOString() })
    },
  )

  return app
}

/**
 * Accepts the internal key, or a user's own `sk_` key, which installers have.
 * @throws AppError as the internal key's guard; `unauthenticated` for an unknown key, `forbidden` SCOPE_REQUIRED.
 */
function requireInstaller({ guards, internalKey }: { internalKey: InternalKeyGuard; guards: Guards }) {
  return describeMiddleware(
    createMiddleware<BackendEnv>(async (c, next) => {
      if (!readBearer(c.req.header('authorization'))?.startsWith('sk_')) return internalKey(c, next)
      const user = await guards.findUser(c)
      if (!user) throw new AppError('unauthenticated', 'Unauthorized')
      c.set('principal', { kind: 'user', user })
      c.set('holder', user.id)
      await next()
    }),
    { guard: 'installer' },
  )
}
