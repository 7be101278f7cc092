import { type Context, Hono } from 'hono'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import type { SignUp } from '../../accounts/registration/register.ts'
import type { AccountRules } from '../../accounts/users/users.ts'
import { type Administrator, changeAccount, endAccountSessions } from './change-account.ts'
import { openAccount } from './create-account.ts'
import {
  AccountChange,
  AdminUserList,
  ChangedAdminUser,
  CreatedUser,
  CreateUserRequest,
  EndedSessions,
  OneAdminUser,
  UserQuery,
} from './schemas.ts'
import { getUserDetail, listUsers, toAdminUser } from './users.ts'

/** Serves account administration; every change adds an audit entry. */
export function administrationWeb(deps: {
  db: Db
  clock: Clock
  enqueue: Enqueue
  signUp: Pick<SignUp, 'firstUserIsAdmin' | 'defaultPlan' | 'walletEmailDomain'>
  mailer: Pick<Mailer, 'isConfigured'>
  appUrl: string
  rules: AccountRules
  guards: Guards
}) {
  const app = new Hono<WebEnv>()
  const { admin } = deps.guards

  app.get(
    '/api/admin/users',
    endpoint({ summary: 'Lists or searches accounts', tag: 'Administration', responses: { 200: AdminUserList } }),
    admin,
    validate('query', UserQuery),
    async (c) => c.json(await listUsers(deps, c.req.valid('query'), c.req.raw.signal)),
  )

  app.post(
    '/api/admin/users',
    endpoint({
      summary: 'Creates an account and a link to set its password',
      tag: 'Administration',
      responses: { 201: CreatedUser },
      errors: ['conflict'],
    }),
    admin,
    validate('json', CreateUserRequest),
    async (c) => {
      const { user, expiresAt, ...link } = await openAccount(deps, callerOf(c), c.req.valid('json'))
      return c.json({ user: toAdminUser(user, deps.rules), ...link, expiresAt: expiresAt.toISOString() }, 201)
    },
  )

  app.get(
    '/api/admin/users/:id',
    endpoint({
      summary: 'Returns an account with its resources',
      tag: 'Administration',
      responses: { 200: OneAdminUser },
      errors: ['not_found'],
    }),
    admin,
    (c) => c.json({ user: getUserDetail(deps, c.req.param('id')) }),
  )

  app.patch(
    '/api/admin/users/:id',
    endpoint({
      summary: 'Changes plan, credits or access of an account',
      tag: 'Administration',
      responses: { 200: ChangedAdminUser },
      errors: ['payment_required', 'not_found', 'conflict'],
      worksOnFullDisk: true,
    }),
    admin,
    validate('json', AccountChange),
    async (c) => {
      const row = await changeAccount(deps, callerOf(c), c.req.param('id'), c.req.valid('json'))
      return c.json({ user: toAdminUser(row, deps.rules) })
    },
  )

  app.delete(
    '/api/admin/users/:id/sessions',
    endpoint({
      summary: 'Ends all sessions of an account',
      tag: 'Administration',
      responses: { 200: EndedSessions },
      errors: ['not_found'],
    }),
    admin,
    async (c) => c.json({ success: true, ended: await endAccountSessions(deps, callerOf(c), c.req.param('id')) }),
  )

  return app
}

function callerOf(c: Context<WebEnv>): Administrator {
  return { id: c.var.user.id, address: c.env.address }
}
