import { asc, eq } from 'drizzle-orm'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import type { Connection } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { addPlansOfFile, listPlansForAdmin, requireDefaultPlan } from '../../features/accounts/own-plans/own-plans.ts'
import type { AdminPlan } from '../../features/accounts/own-plans/schemas.ts'
import { createPasswords, PASSWORD_COST } from '../../features/accounts/passwords/passwords.ts'
import { requirePlan } from '../../features/accounts/plans/plans.ts'
import { RegisterRequest } from '../../features/accounts/registration/schemas.ts'
import { issueSetupLink, toSetupUrl } from '../../features/accounts/registration/setup.ts'
import { readAccountRules } from '../../features/accounts/service-credentials/service-credentials.ts'
import { type UserRow, users } from '../../features/accounts/users/tables.ts'
import { isAdmin } from '../../features/accounts/users/users.ts'
import {
  CLI,
  changeAccount,
  endAccountSessions,
  removeAccountTwoFactor,
  setAccountAdmin,
} from '../../features/admin/accounts/change-account.ts'
import { createAccount, resetPassword } from '../../features/admin/accounts/create-account.ts'
import { AccountChange } from '../../features/admin/accounts/schemas.ts'
import { toAdminUser } from '../../features/admin/accounts/users.ts'
import { withDatabase } from '../database.ts'

/** Output of a command: text for people, JSON for programs. */
export type Report = { text: string; json: unknown }

/**
 * Functions behind `stead user`; every change is recorded in the audit log.
 * @throws AppError with the reason of a refusal.
 */
export type AccountCommands = ReturnType<typeof accountCommands>

export function withAccounts(command: (accounts: AccountCommands) => Promise<Report>): Promise<Report> {
  return withDatabase(async (connection, config) => {
    // The server may not have run with this settings file yet.
    await write(connection.db, (tx) => addPlansOfFile(tx, config.plans.own, systemClock.now()))
    requireDefaultPlan(connection.db, config.plans.byDefault)
    return command(accountCommands(connection, config))
  })
}

function accountCommands({ db }: Connection, config: Config) {
  const signUp = { firstUserIsAdmin: config.mode === 'home', defaultPlan: config.plans.byDefault }
  const deps = { db, clock: systemClock, passwords: createPasswords(1, PASSWORD_COST), signUp }
  const rules = readAccountRules(db, config)
  const report = (row: UserRow, text: string): Report => ({ text, json: { user: toAdminUser(row, rules) } })

  const getByEmail = (email: string): UserRow => {
    const row = db.select().from(users).where(eq(users.email, email.toLowerCase())).get()
    if (!row) throw new AppError('not_found', `No account has the address ${email}`)
    return row
  }
  const change = async (email: string, request: unknown, say: (row: UserRow) => string) => {
    const parsed = AccountChange.safeParse(request)
    if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid change')
    const row = await changeAccount(deps, CLI, getByEmail(email).id, parsed.data)
    return report(row, `${row.email} ${say(row)}`)
  }

  return {
    async create(email: string, password: string, plan: string | undefined) {
      const account = parseAccount(email, password)
      const row = await createAccount(deps, CLI, account, plan ?? null)
      return report(row, `Created ${row.email} (${row.id}), plan ${row.plan}`)
    },
    setPlan: (email: string, plan: string) =>
      change(email, { plan: requirePlan(db, plan).name }, (row) => `is on plan ${row.plan}`),
    setCredits: (email: string, credits: string) =>
      change(email, { credits: Number(credits) }, (row) => `has ${row.credits} credits`),
    disable: (email: string) => change(email, { disabled: true }, () => 'is disabled; all sessions were ended'),
    enable: (email: string) => change(email, { disabled: false }, () => 'is enabled'),
    verify: (email: string) => change(email, { emailVerified: true }, () => 'has a verified address'),
    async setAdmin(email: string, word: string) {
      if (word !== 'on' && word !== 'off') throw new AppError('invalid', 'set-admin takes on or off')
      const row = await setAccountAdmin(deps, CLI, getByEmail(email).id, word === 'on')
      if (isAdmin(row, rules) === row.isAdmin) return report(row, `${row.email} is ${row.isAdmin ? 'an' : 'no'} admin`)
      return report(row, `${row.email} is still an admin: ADMIN_EMAILS names this address`)
    },
    async resetPassword(email: string, password: string) {
      const row = await resetPassword(deps, CLI, parseAccount(email, password))
      return report(row, `${row.email} has a new password; all sessions were ended`)
    },
    async makeSetupLink(): Promise<Report> {
      const link = await issueSetupLink(deps)
      if (!link) throw new AppError('conflict', 'There is an account already: stead user create makes others')
      const url = toSetupUrl(config.appUrl ?? `http://localhost:${config.ports.web}`, link.token)
      return { text: url, json: { url, expiresAt: link.expiresAt } }
    },
    async endSessions(email: string): Promise<Report> {
      const row = getByEmail(email)
      const ended = await endAccountSessions(deps, CLI, row.id)
      return { text: `${row.email}: ${ended} sessions were ended`, json: { user: toAdminUser(row, rules), ended } }
    },
    async removeTwoFactor(email: string) {
      const row = await removeAccountTwoFactor(deps, CLI, getByEmail(email).id)
      return report(row, `${row.email} signs in without a second factor`)
    },
    async listPlans(): Promise<Report> {
      const plans = listPlansForAdmin(db)
      const lines = plans.map(
        (plan) => `${plan.name}\t${plan.source}\t${count(plan.accounts, 'account')}\t${toLimits(plan)}`,
      )
      return { text: lines.join('\n'), json: { plans, defaultPlan: config.plans.byDefault } }
    },
    async list(): Promise<Report> {
      const rows = db.select().from(users).orderBy(asc(users.createdAt)).all()
      const lines = rows.map((row) => `${row.email}\t${row.plan}\t${row.createdAt.toISOString()}${toMarks(row)}`)
      return {
        text: lines.join('\n') || 'No accounts yet.',
        json: { users: rows.map((row) => toAdminUser(row, rules)) },
      }
    },
  }
}

function count(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? '' : 's'}`
}

function toLimits(plan: AdminPlan): string {
  const limit = (value: number | null, unit: string) => `${value ?? 'unlimited'} ${unit}`
  return [
    plan.models === null ? 'all models' : count(plan.models.length, 'model'),
    limit(plan.agents, 'agents'),
    limit(plan.tokensPerMonth, 'tokens a month'),
    limit(plan.usdPerMonth, 'USD a month'),
    `${plan.storageGb} GB`,
  ].join(', ')
}

function toMarks(row: UserRow): string {
  return row.disabledAt ? '\tdisabled' : ''
}

function parseAccount(email: string, password: string): RegisterRequest {
  const parsed = RegisterRequest.safeParse({ email, password })
  if (!parsed.success) throw new AppError('invalid', parsed.error.issues[0]?.message ?? 'Invalid account')
  return parsed.data
}
