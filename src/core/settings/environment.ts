import { z } from 'zod'
import { AGENTS, WATCHDOG } from './agents.ts'
import { BACKUPS } from './backups.ts'
import { MODELS } from './models.ts'
import { CARDS, CHAINS, PAYMENTS } from './money.ts'
import { PEOPLE, RATES, SIGN_IN } from './people.ts'
import { NAMES, OWN_SECRETS, PLACE, RETENTION, TRACES } from './platform.ts'
import { WEB_TOOLS } from './web-tools.ts'

/**
 * Every setting by its variable, as people look for them. `describe` says what it does; `otherwise`, in the place of a
 * default, what an unset one stands for; `form` how its value is written.
 */
export const SETTING_GROUPS = [
  { title: 'Where it listens and keeps its data', settings: PLACE },
  { title: 'How long details are kept', settings: RETENTION },
  { title: 'Backups', settings: BACKUPS },
  { title: 'Names and proxies', settings: NAMES },
  { title: 'Secrets of the platform', settings: OWN_SECRETS },
  { title: 'People', settings: PEOPLE },
  { title: 'Other ways to sign in', settings: SIGN_IN },
  { title: 'Requests a minute', settings: RATES },
  { title: 'Agents', settings: AGENTS },
  { title: 'Watchdog', settings: WATCHDOG },
  { title: 'Models', settings: MODELS },
  { title: 'Chains', settings: CHAINS },
  { title: 'Payments and approvals', settings: PAYMENTS },
  { title: 'Cards and the gateway', settings: CARDS },
  { title: 'Web tools', settings: WEB_TOOLS },
  { title: 'Traces', settings: TRACES },
] as const

export const Environment = z.object({
  ...PLACE,
  ...RETENTION,
  ...BACKUPS,
  ...NAMES,
  ...OWN_SECRETS,
  ...PEOPLE,
  ...SIGN_IN,
  ...RATES,
  ...AGENTS,
  ...WATCHDOG,
  ...MODELS,
  ...CHAINS,
  ...PAYMENTS,
  ...CARDS,
  ...WEB_TOOLS,
  ...TRACES,
})

/** Settings that SIGHUP reads anew (`settings/reload.ts`); every other one counts from the next start on. */
export const RELOADED_SETTINGS: readonly (keyof typeof Environment.shape)[] = [
  'LOG_LEVEL',
  'LOG_FILE',
  'ADMIN_EMAILS',
  'SMTP_URL',
  'MAIL_FROM',
  'OPENROUTER_API_KEY',
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GEMINI_API_KEY',
  'GROQ_API_KEY',
  'RETENTION_USAGE_DAYS',
  'RETENTION_TOOL_EVENTS_DAYS',
  'RETENTION_MESSAGES_DAYS',
  'RETENTION_AUDIT_DAYS',
  'RETENTION_SECURITY_EVENTS_DAYS',
  'RETENTION_INBOX_DAYS',
  ...z.strictObject(RATES).keyof().options,
]

/** Settings whose value may stand in a file instead, named by `<NAME>_FILE`. */
export const SECRETS = [
  'INTERNAL_API_KEY',
  'METRICS_TOKEN',
  'ENCRYPTION_KEY',
  'BACKUP_PASSPHRASE',
  'S3_SECRET_ACCESS_KEY',
  'ADMIN_PASSWORD',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OPENROUTER_API_KEY',
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GEMINI_API_KEY',
  'GROQ_API_KEY',
  'IDP_A_CLIENT_SECRET',
  'IDP_B_CLIENT_SECRET',
  'SMTP_URL',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'GATEWAY_SETTLER_KEY',
  'BASE_RPC_URL',
  'ENS_RPC_URL',
  'CLONE_RPC_URL',
  'X402_GATEWAY_URL',
  'TELEGRAM_BOT_TOKEN',
  'WATCHDOG_WEBHOOK_SECRET',
  'WEBHOOK_VIDEO_SECRET',
  'WEBHOOK_EMAIL_SECRET',
  'RADIO_API_TOKEN',
  'VIDEO_API_KEY',
  'FEEDS',
] as const
