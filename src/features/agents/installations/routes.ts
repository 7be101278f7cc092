import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { MachineLinks } from '../../../adapters/tunnel/links.ts'
import { AppError } from '../../../core/errors.ts'
import { Done, describeMiddleware, endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, WebEnv } from '../../../http/env.ts'
import { type FindUserById, type InternalKeyGuard, readBearer } from '../../../http/internal-key.ts'
import { limitFailures, limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { sendPieces } from '../../../http/streams/send-pieces.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import type { DeletionDeps } from '../deployments/delete.ts'
import { type MachineEnv, requireMachine, requireMachineOrOwner } from './machine-guard.ts'
import { createPairingCode, pairMachine } from './pairing.ts'
import {
  BackendAddress,
  HeartbeatRequest,
  Installations,
  MachineUpdate,
  NotedHeartbeat,
  PairedMachine,
  PairingCode,
  PairRequest,
  RegisteredInstallation,
  RegisterHomeRequest,
  RegisterLinkRequest,
} from './schemas.ts'
import { deleteInstallation, listInstallations, recordHeartbeat, registerMachine, updateMachine } from './service.ts'
import type { InstallationRow } from './tables.ts'
import { findSkew } from './versions.ts'

/** Installation routes of the web API: own machines only. */
export function installationsWeb(
  deps: DeletionDeps &
    Base & {
      guards: Guards
      backendPort: number
      machineLinks: MachineLinks
      version: string
      pairingCodeMinutes: number
    },
) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/installations',
    endpoint({ summary: 'Lists registered machines', tag: 'Machines', responses: { 200: Installations } }),
    signedIn,
    (c) => {
      const pieces = listInstallations(deps, { kind: 'user', user: c.var.user })
      return sendPieces(c, deps, { type: 'application/json', pieces })
    },
  )

  app.get(
    '/api/installations/address',
    endpoint({ summary: 'Returns the backend port', tag: 'Machines', responses: { 200: BackendAddress } }),
    signedIn,
    (c) => c.json({ port: deps.backendPort }),
  )

  app.post(
    '/api/installations/pairing-codes',
    endpoint({
      summary: 'Creates a one-time code that connects a machine',
      tag: 'Machines',
      responses: { 201: PairingCode },
      errors: ['limited'],
      scope: 'agents',
    }),
    signedIn,
    validateAnyBody(NoBody),
    async (c) => {
      const { code, expiresAt } = await createPairingCode(deps, c.var.user.id)
      return c.json({ code, expiresAt: expiresAt.toISOString() }, 201, { 'cache-control': 'no-store' })
    },
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
      await deleteInstallation(deps, c.var.user.id, c.req.param('id'))
      return c.json({ success: true })
    },
  )

  return app
}

const REFUSED = { success: false }

/** Routes on which home machines and linked gateways register and send heartbeats. */
export function installationsBackend(
  deps: Base & {
    internalKey: InternalKeyGuard
    guards: Guards
    findUser: FindUserById
    appUrl: string
    machineLinks: MachineLinks
    version: string
  },
) {
  const app = new Hono<BackendEnv>()
  const installer = requireInstaller(deps)
  const dashboardUrl = `${deps.appUrl}/dashboard`
  const toConnection = (row: InstallationRow) =>
    row.version === null ? {} : { installationId: row.id, agentId: row.agentId, version: deps.version }

  app.post(
    '/api/register-home',
    endpoint({
      summary: 'Registers a home installation',
      tag: 'Machines',
      responses: { 200: RegisteredInstallation },
      errors: ['limited', 'conflict', 'internal'],
      scope: 'agents',
    }),
    installer,
    validate('json', RegisterHomeRequest, REFUSED),
    async (c) => {
      const row = await registerMachine(deps, c.var.principal, c.req.valid('json'))
      return c.json({ success: true, message: 'Home installation registered', dashboardUrl, ...toConnection(row) })
    },
  )

  app.post(
    '/api/register-link',
    endpoint({
      summary: 'Links a remote gateway',
      tag: 'Machines',
      responses: { 200: RegisteredInstallation },
      errors: ['limited', 'conflict'],
      scope: 'agents',
    }),
    installer,
    validate('json', RegisterLinkRequest, REFUSED),
    async (c) => {
      const row = await registerMachine(deps, c.var.principal, { ...c.req.valid('json'), mode: 'link' })
      return c.json({ success: true, message: 'OpenClaw instance linked', dashboardUrl, ...toConnection(row) })
    },
  )

  app.get(
    '/api/installations',
    endpoint({ summary: 'Lists registered machines', tag: 'Machines', responses: { 200: Installations } }),
    deps.internalKey,
    (c) => sendPieces(c, deps, { type: 'application/json', pieces: listInstallations(deps, c.var.principal) }),
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

/** Attempts to guess a code, per minute: of one address, and of all addresses together. */
const PAIRINGS_PER_ADDRESS = 10
const FAILED_PAIRINGS = 300

/** Routes of machines that pair with a code, and their tunnels. */
export function machinesBackend(
  deps: Base & {
    guards: Guards
    findUser: FindUserById
    appUrl: string
    isStandby: boolean
    machineLinks: MachineLinks
    version: string
  },
) {
  const app = new Hono<MachineEnv>()
  const dashboardUrl = `${deps.appUrl}/dashboard`

  app.post(
    '/api/installations/pair',
    endpoint({
      summary: "Exchanges a pairing code for a machine's credentials",
      tag: 'Machines',
      responses: { 201: PairedMachine },
      errors: ['invalid', 'conflict', 'limited'],
    }),
    validate('json', PairRequest),
    limitRate(PAIRINGS_PER_ADDRESS, 'Too many pairing attempts: wait a minute'),
    limitFailures(FAILED_PAIRINGS, 'Too many failed pairing attempts: wait a minute', isWrongCode),
    async (c) => {
      const paired = await pairMachine(deps, c.req.valid('json'))
      // A machine of the same name loses its access, and with it an open tunnel.
      deps.machineLinks.endUnauthorized()
      const body = { success: true as const, ...paired, version: deps.version, dashboardUrl }
      return c.json(body, 201, { 'cache-control': 'no-store' })
    },
  )

  app.put(
    '/api/installations/self',
    endpoint({
      summary: "Updates a paired machine's gateway and version",
      tag: 'Machines',
      responses: { 200: RegisteredInstallation },
      errors: ['conflict'],
    }),
    requireMachine(deps),
    validate('json', MachineUpdate),
    async (c) => {
      const { id: installationId, agentId } = await updateMachine(deps, c.var.machine, c.req.valid('json'))
      const version = deps.version
      return c.json({ success: true, message: 'Machine updated', dashboardUrl, installationId, agentId, version })
    },
  )

  app.get(
    '/api/installations/:id/tunnel',
    endpoint({
      summary: 'Opens the tunnel of a machine (WebSocket)',
      tag: 'Machines',
      responses: { 101: null },
      errors: ['invalid', 'unavailable'],
      scope: 'agents',
    }),
    requireMachineOrOwner(deps),
    (c) => {
      if (deps.isStandby) throw new AppError('unavailable', 'This copy of the platform serves no machines')
      const checkVersion = (version: string) => findSkew(version, deps.version)
      const handler = deps.machineLinks.handlerFor(c.var.machine.id, { checkVersion, isAuthorized: c.var.isAuthorized })
      if (!c.env.upgrade?.(handler)) throw new AppError('invalid', 'The tunnel is a WebSocket')
      // The connection is no longer HTTP: the listener sends no response.
      return c.body(null, 101)
    },
  )

  return app
}

function isWrongCode(error: AppError): boolean {
  return error.extra.code === 'PAIRING_CODE_UNKNOWN'
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
