import { eq, or } from 'drizzle-orm'
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

export type MachineEnv = BaseEnv & { Variables: { machine: InstallationRow } }

type GuardDeps = { db: Db; guards: Pick<Guards, 'findUser'>; findUser: FindUserById }

/** Accepts a machine's own token. @throws AppError `unauthenticated` for any other credential. */
export function requireMachine(deps: GuardDeps) {
  return describeMiddleware(
    createMiddleware<MachineEnv>(async (c, next) => {
      enter(c, findByToken(deps, readBearer(c.req.header('authorization'))))
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
      const user = token?.startsWith('sk_') ? await deps.guards.findUser(c) : null
      const machine = user ? findOwned(deps.db, user, id) : findByToken(deps, token)
      if (machine && machine.id !== id) throw new AppError('not_found', 'Installation not found')
      enter(c, machine)
      await next()
    }),
    { guard: 'machine-or-owner' },
  )
}

function enter(c: Context<MachineEnv>, machine: InstallationRow | null): void {
  if (!machine) throw new AppError('unauthenticated', 'This machine is not paired: create a new pairing code')
  c.set('machine', machine)
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
function findOwned(db: Db, user: { id: string }, id: string): InstallationRow {
  const row = db.select().from(installations).where(eq(installations.id, id)).get()
  if (row?.ownerId !== user.id || row.agentId === null) throw new AppError('not_found', 'Installation not found')
  return row
}
