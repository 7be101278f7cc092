import { z } from 'zod'
import { AGENTS, WATCHDOG } from './agents.ts'
import { BACKUPS } from './backups.ts'
import { CLUSTER } from './cluster.ts'
import { PEOPLE, RATES, SIGN_IN } from './people.ts'
import { NAMES, OWN_SECRETS, PLACE, RETENTION, TRACES } from './platform.ts'
import { CARDS, CHAINS, MODELS, PAYMENTS, WEB_TOOLS } from './services.ts'

/**
 * All settings by environment variable, in the order of the documentation. `describe` documents a setting, `otherwise`
 * its default when that depends on others, and `form` the format of its value.
 */
export const SETTING_GROUPS = [
  { title: 'Server', settings: PLACE },
  { title: 'Retention', settings: RETENTION },
  { title: 'Backups', settings: BACKUPS },
  { title: 'Cluster', settings: CLUSTER },
  { title: 'Domains and proxies', settings: NAMES },
  { title: 'Secrets', settings: OWN_SECRETS },
  { title: 'Accounts and mail', settings: PEOPLE },
  { title: 'Identity providers', settings: SIGN_IN },
  { title: 'Rate limits', settings: RATES },
  { title: 'Agents', settings: AGENTS },
  { title: 'Watchdog', settings: WATCHDOG },
  { title: 'Models', settings: MODELS },
  { title: 'Blockchains', settings: CHAINS },
  { title: 'Payments and approvals', settings: PAYMENTS },
  { title: 'Stripe and the paid gateway', settings: CARDS },
  { title: 'Web tools', settings: WEB_TOOLS },
  { title: 'Traces', settings: TRACES },
] as const

export const Environment = z.object({
  ...PLACE,
  ...RETENTION,
  ...BACKUPS,
  ...CLUSTER,
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

/** Settings that SIGHUP applies (`settings/reload.ts`); the others apply at the next start. */
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

/** Settings whose value can be read from the file that `<NAME>_FILE` names. */
export const SECRETS = [
  'INTERNAL_API_KEY',
  'METRICS_TOKEN',
  'ENCRYPTION_KEY',
  'BACKUP_PASSPHRASE',
  'CLUSTER_LOG_URL',
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
