import { Hono } from 'hono'
import { passwordWeb } from '../features/accounts/password-web.ts'
import { sessionsWeb } from '../features/accounts/sessions-web.ts'
import { settingsWeb } from '../features/accounts/settings-web.ts'
import { twoFactorWeb } from '../features/accounts/two-factor-web.ts'
import { accountsWeb } from '../features/accounts/web.ts'
import { administrationWeb } from '../features/administration/web.ts'
import { agentsWeb } from '../features/agents/web.ts'
import { aiWeb } from '../features/ai/web.ts'
import { chatWeb } from '../features/chat/web.ts'
import { deploymentsWeb } from '../features/deployments/web.ts'
import { healthWeb } from '../features/health/web.ts'
import { keysWeb } from '../features/keys/web.ts'
import { securityEventsWeb } from '../features/security-events/web.ts'
import { signInWeb } from '../features/sign-in/web.ts'
import { socialIdentityWeb } from '../features/social-identity/web.ts'
import { usageWeb } from '../features/usage/web.ts'
import type { WebEnv } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { type Dashboard, dashboardWeb } from './dashboard.ts'
import type { Platform } from './platform.ts'

/** The web face: the public API and, behind it, the dashboard. One line a room. */
export function webApp(platform: Platform, dashboard: Dashboard) {
  const app = new Hono<WebEnv>()
  app.use(platform.csrf.check)
  app.route('/', healthWeb(platform))
  app.route('/', accountsWeb(platform))
  app.route('/', signInWeb(platform))
  app.route('/', settingsWeb(platform))
  app.route('/', passwordWeb(platform))
  app.route('/', sessionsWeb(platform))
  app.route('/', twoFactorWeb(platform))
  app.route('/', administrationWeb(platform))
  app.route('/', securityEventsWeb(platform))
  app.route('/', socialIdentityWeb(platform))
  app.route('/', keysWeb(platform))
  // Before deployments, whose routes lie below it and share its rate.
  app.route('/', agentsWeb(platform))
  app.route('/', deploymentsWeb(platform))
  app.route('/', chatWeb(platform))
  app.route('/', aiWeb(platform))
  app.route('/', usageWeb(platform))
  app.all('/api/*', notFound)
  app.route('/', dashboardWeb(dashboard))
  return app
}
