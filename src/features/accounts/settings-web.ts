import { Hono } from 'hono'
import type { Log } from '../../core/log.ts'
import type { WebEnv } from '../../http/env.ts'
import { type Exports, sendExport } from '../../http/exports.ts'
import { limitRate } from '../../http/rate-limit.ts'
import type { Guards } from '../../http/session.ts'
import { validate } from '../../http/validate.ts'
import { type DeleteAccountDeps, deleteAccount } from './delete-account.ts'
import { exportAccount } from './export.ts'
import { DeleteAccountRequest, PatchSettingsRequest, Settings, UpdateSettingsRequest } from './schemas.ts'
import { type AccountSettings, getSettings, patchSettings, type SettingsDeps, updateSettings } from './settings.ts'
import { clearSessionCookie, readSessionToken } from './start-session.ts'

export type SettingsWebDeps = SettingsDeps &
  DeleteAccountDeps & {
    log: Log
    guards: Guards
    exports: Exports
    isHttps: boolean
    requestsPerMinute: { password: number }
  }

/** The account as its owner sees and changes it, takes it along and deletes it (Spec 4.2). */
export function settingsWeb(deps: SettingsWebDeps) {
  const app = new Hono<WebEnv>()
  const { signedIn, withSession } = deps.guards
  const seldom = () => limitRate(deps.requestsPerMinute.password, 'Too many requests')

  app.get('/api/settings', signedIn, (c) => c.json(toSettings(getSettings(deps, c.var.user.id))))

  app.post('/api/settings', signedIn, validate('json', UpdateSettingsRequest), async (c) => {
    const request = { ...c.req.valid('json'), sessionToken: readSessionToken(c) }
    return c.json(toSettings(await updateSettings(deps, c.var.user.id, request)))
  })

  app.patch('/api/settings', signedIn, validate('json', PatchSettingsRequest), async (c) =>
    c.json(toSettings(await patchSettings(deps, c.var.user.id, c.req.valid('json')))),
  )

  app.get('/api/settings/export', withSession, seldom(), (c) =>
    sendExport(c, deps, () => ({
      name: 'stead-account.json',
      type: 'application/json; charset=utf-8',
      pieces: exportAccount(deps, c.var.user.id),
    })),
  )

  app.delete('/api/settings/account', withSession, seldom(), validate('json', DeleteAccountRequest), async (c) => {
    const caller = { userId: c.var.user.id, sessionToken: readSessionToken(c) }
    await deleteAccount(deps, caller, c.req.valid('json'))
    clearSessionCookie(c, deps)
    return c.json({ success: true })
  })

  return app
}

function toSettings({ user, pendingEmail }: AccountSettings): Settings {
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
  })
}
