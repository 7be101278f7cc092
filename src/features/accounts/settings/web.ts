import { Hono } from 'hono'
import type { Mailer } from '../../../adapters/mail/mail.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import type { Passwords } from '../passwords/passwords.ts'
import { readSessionToken } from '../sessions/start-session.ts'
import { PatchSettingsRequest, Settings, UpdateSettingsRequest } from './schemas.ts'
import { type AccountSettings, getSettings, patchSettings, updateSettings } from './settings.ts'

type SettingsWebDeps = Base & {
  mailer: Mailer
  passwords: Passwords
  signUp: { walletEmailDomain: string }
  guards: Guards
  /** The used and the allowed storage of an account in bytes. */
  storage: { read(db: Db, userId: string): { used: number; limit: number } | null }
}

/** Account settings routes of the web API. */
export function settingsWeb(deps: SettingsWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/settings',
    endpoint({ summary: 'Returns your account', tag: 'Account', responses: { 200: Settings }, errors: ['not_found'] }),
    signedIn,
    (c) => c.json(toSettings(deps, getSettings(deps, c.var.user.id))),
  )

  app.post(
    '/api/settings',
    endpoint({
      summary: 'Changes your name or address',
      tag: 'Account',
      responses: { 200: Settings },
      errors: ['not_found', 'conflict', 'limited'],
    }),
    signedIn,
    validate('json', UpdateSettingsRequest),
    async (c) => {
      const request = { ...c.req.valid('json'), sessionToken: readSessionToken(c) }
      return c.json(toSettings(deps, await updateSettings(deps, c.var.user.id, request)))
    },
  )

  app.patch(
    '/api/settings',
    endpoint({
      summary: 'Changes your name or notification settings',
      tag: 'Account',
      responses: { 200: Settings },
      errors: ['not_found'],
    }),
    signedIn,
    validate('json', PatchSettingsRequest),
    async (c) => c.json(toSettings(deps, await patchSettings(deps, c.var.user.id, c.req.valid('json')))),
  )

  return app
}

function toSettings({ db, storage }: SettingsWebDeps, { user, pendingEmail }: AccountSettings): Settings {
  return Settings.parse({
    id: user.id,
    email: user.email,
    name: user.name,
    plan: user.plan,
    credits: user.credits,
    twoFactorEnabled: user.twoFactorEnabledAt !== null,
    emailVerified: user.emailVerifiedAt !== null,
    pendingEmail,
    hasPassword: user.passwordHash !== null,
    notifications: user.notifications,
    timeZone: user.timeZone,
    storage: storage.read(db, user.id),
  })
}
