import { and, eq, isNotNull, or } from 'drizzle-orm'
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { AppError } from '../../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../../core/ids.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { describeMiddleware } from '../../../http/endpoint.ts'
import type { BaseEnv } from '../../../http/env.ts'
import { type FindUserById, readBearer } from '../../../http/internal-key.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { agents } from '../registry/tables.ts'
import { type InstallationRow, installations } from './tables.ts'

/** `isAuthorized` checks the credential again, for a tunnel that outlives the request. */
export type MachineEnv = BaseEnv & { Variables: { machine: InstallationRow; isAuthorized: () => boolean } }

type GuardDeps = { db: Db; guards: Pick<Guards, 'findUser' | 'findKeyOwner'>; findUser: FindUserById }

/** Accepts a machine's own token. @throws AppError `unauthenticated` for any other credential. */
export function requireMachine(deps: GuardDeps) {
  return describeMiddleware(
    createMiddleware<MachineEnv>(async (c, next) => {
      const token = readBearer(c.req.header('authorization'))
      enter(c, findByToken(deps, token), () => findByToken(deps, token) !== null)
      await next()
    }),
    { guard: 'machine' },
  )
}

/**
 * Accepts the token of the machine that the path names, or an `sk_` key of its owner.
 * @throws AppError `unauthenticated` for any other credential, `not_found` for the machine of someone else.
 */
export function requireMachineOrOwner(deps: GuardDeps) {
  return describeMiddleware(
    createMiddleware<MachineEnv>(async (c, next) => {
      const id = c.req.param('id') ?? ''
      const token = readBearer(c.req.header('authorization'))
      const key = token?.startsWith('sk_') ? token : null
      const user = key ? await deps.guards.findUser(c) : null
      const machine = user ? getOwned(deps.db, user, id) : findByToken(deps, token)
      if (machine && machine.id !== id) throw new AppError('not_found', 'Installation not found')
      const { address } = c.env
      enter(c, machine, () => (key ? isOwner(deps, { key, address }, id) : findByToken(deps, token)?.id === id))
      await next()
    }),
    { guard: 'machine-or-owner' },
  )
}

function enter(c: Context<MachineEnv>, machine: InstallationRow | null, isAuthorized: () => boolean): void {
  if (!machine) throw new AppError('unauthenticated', 'This machine is not paired: create a new pairing code')
  c.set('machine', machine)
  c.set('isAuthorized', isAuthorized)
  c.set('holder', machine.ownerId ?? machine.userId)
}

function findByToken({ db, findUser }: GuardDeps, token: string | null): InstallationRow | null {
  if (!token?.startsWith(AGENT_TOKEN_PREFIX)) return null
  const hash = sha256(token)
  const row = db
    .select({ machine: installations })
    .from(installations)
    .innerJoin(agents, eq(agents.id, installations.agentId))
    .where(or(eq(agents.accessTokenHash, hash), eq(agents.retiringTokenHash, hash)))
    .get()
  // A disabled account loses its machines' access as well.
  return row?.machine.ownerId && findUser(row.machine.ownerId) ? row.machine : null
}

/** @throws AppError `not_found` for a missing or foreign machine. */
function getOwned(db: Db, user: { id: string }, id: string): InstallationRow {
  const row = findOwned(db, user, id)
  if (!row) throw new AppError('not_found', 'Installation not found')
  return row
}

function findOwned(db: Db, user: { id: string }, id: string): InstallationRow | null {
  const isOwn = and(eq(installations.id, id), eq(installations.ownerId, user.id), isNotNull(installations.agentId))
  return db.select().from(installations).where(isOwn).get() ?? null
}

function isOwner({ db, guards }: GuardDeps, caller: { key: string; address: string | null }, id: string): boolean {
  const user = guards.findKeyOwner(caller.key, caller.address)
  return user !== null && findOwned(db, user, id) !== null
}
