import { asc } from 'drizzle-orm'
import { systemClock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Connection } from '../db/open.ts'
import { createAccount, resetPassword, setPlan } from '../features/accounts/administer.ts'
import { createPasswords } from '../features/accounts/passwords.ts'
import { RegisterRequest } from '../features/accounts/schemas.ts'
import { users } from '../features/accounts/tables.ts'
import { requirePlanName } from '../features/plans/plans.ts'
import { withDatabase } from './database.ts'

/** What `stead user …` can do; each returns the text to print. @throws AppError with the reason of a refusal. */
export type AccountCommands = ReturnType<typeof accountCommands>

export function withAccounts(command: (accounts: AccountCommands) => Promise<string>): Promise<string> {
  return withDatabase((connection) => command(accountCommands(connection)))
}

function accountCommands({ db }: Connection) {
  const deps = { db, clock: systemClock, passwords: createPasswords(1) }
  return {
    async create(email: string, password: string, plan: string | undefined) {
      const account = parseAccount(email, password)
      const row = await createAccount(deps, account, plan === undefined ? null : requirePlanName(plan))
      return `Created ${row.email} (${row.id}), plan ${row.plan}`
    },
    async setPlan(email: string, plan: string) {
      const row = await setPlan(deps, email.toLowerCase(), requirePlanName(plan))
      return `${row.email} is on plan ${row.plan}`
    },
    async resetPassword(email: string, password: string) {
      const account = parseAccount(email, password)
      const row = await resetPassword(deps, account)
      return `${row.email} has a new password; all sessions were ended`
    },
    async list({ json }: { json: boolean }) {
      const rows = db
        .select({ id: users.id, email: users.email, name: users.name, plan: users.plan, createdAt: users.createdAt })
        .from(users)
        .orderBy(asc(users.createdAt))
        .all()
      if (json) return JSON.stringify({ users: rows })
      return (
        rows.map((row) => `${row.email}\t${row.plan}\t${row.createdAt.toISOString()}`).join('\n') || 'No accounts yet.'
      )
    },
  }
}

function parseAccount(email: string, password: string): RegisterRequest {
  const parsed = RegisterRequest.safeParse({ email, password })
  if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid account')
  return parsed.data
}
