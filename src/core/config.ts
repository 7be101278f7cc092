import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { errorMessage, StartupError } from './errors.ts'
import { hasVersion, ImageReference } from './image-reference.ts'
import { VERSION } from './version.ts'

/** Of a value that is repeated in a message. */
const MAX_TOLD_CHARACTERS = 200

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const port = (value: number) => z.coerce.number().int().min(0).max(65_535).default(value)
const perMinute = (value: number) => z.coerce.number().int().positive().default(value)
const flag = (value: boolean) =>
  z.stringbool({ truthy: ['true', '1', 'yes', 'on'], falsy: ['false', '0', 'no', 'off'] }).default(value)
const seconds = (value: number) => z.coerce.number().nonnegative().max(86_400).default(value)
const atLeastOne = (value: number) => z.coerce.number().int().positive().default(value)
const toParts = (text: string) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
const list = z.string().default('').transform(toParts)
const url = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform((text) => text.replace(/\/+$/, ''))
const origin = url
  .refine((text) => new URL(text).href === `${new URL(text).origin}/`, 'must be an origin, without user, path or query')
  .transform((text) => new URL(text).origin)
/** Labels of letters, digits and dashes; a scheme, a port or a path is more likely a slip. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const hostName = z.string().toLowerCase().regex(HOST_NAME, 'must be a host name, without scheme, port or path')
/** Compared character by character with what tokens say (OpenID Connect Core, 2): nothing is trimmed. */
const issuer = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })
const evmAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex digits')
const cidrs = list.refine(
  (parts) => parts.every((part) => isCidr(part)),
  'must be a comma-separated list of CIDR ranges',
)
const repositories = z
  .string()
  .transform(toParts)
  .refine(
    (parts) => parts.every((part) => ImageReference.safeParse(part).success && !hasVersion(part)),
    'must be a comma-separated list of repositories, without tags',
  )

/** Settings whose value may stand in a file instead, named by `<NAME>_FILE`. */
const SECRETS = [
  'INTERNAL_API_KEY',
  'ENCRYPTION_KEY',
  'OPENROUTER_API_KEY',
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GEMINI_API_KEY',
  'GROQ_API_KEY',
  'IDP_A_CLIENT_SECRET',
  'IDP_B_CLIENT_SECRET',
  'SMTP_URL',
  'BASE_RPC_URL',
  'ENS_RPC_URL',
  'CLONE_RPC_URL',
  'TELEGRAM_BOT_TOKEN',
  'WATCHDOG_WEBHOOK_SECRET',
  'WEBHOOK_VIDEO_SECRET',
  'WEBHOOK_EMAIL_SECRET',
  'RADIO_API_TOKEN',
  'VIDEO_API_KEY',
  'FEEDS',
] as const

const wholeUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })
const badFeeds = 'must be a JSON list of {"id", "url", "preview"?, "source"?} with ids of their own'
const feeds = z
  .string()
  .default('[]')
  .transform((text, context) => {
    try {
      const parsed: unknown = JSON.parse(text)
      return parsed
    } catch {
      context.addIssue({ code: 'custom', message: badFeeds })
      return z.NEVER
    }
  })
  .pipe(
    z.array(
      z.object({
        id: z.string(badFeeds).regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower-case letters, digits and dashes'),
        url: wholeUrl,
        preview: wholeUrl.optional(),
        source: z.string(badFeeds).min(1).max(100).optional(),
      }),
      badFeeds,
    ),
  )
  .refine((list) => new Set(list.map(({ id }) => id)).size === list.length, badFeeds)

const Environment = z.object({
  NODE_ENV: z.string().default('development'),
  HOST: z.string().min(1).default('127.0.0.1'),
  WEB_PORT: port(3000),
  BACKEND_PORT: port(3001),
  SUMMARIZER_PORT: port(3100),
  DATA_DIR: z.string().min(1).default('./data'),
  DATABASE_URL: z.string().startsWith('file:', 'must be a file: URL (libSQL servers are not supported yet)').optional(),
  DEPLOYMENT_MODE: z.enum(['cloud', 'home', 'link']).default('cloud'),
  APP_URL: origin.optional(),
  DOMAIN: z.string().min(1).toLowerCase().default('localhost'),
  AGENTS_DOMAIN: hostName.optional(),
  ALLOWED_HOSTS: list
    .transform((names) => names.map((name) => name.toLowerCase()))
    .refine(
      (names) => names.every((name) => HOST_NAME.test(name)),
      'must be a comma-separated list of host names, without scheme or port',
    ),
  INTERNAL_API_KEY: z.string().min(1).optional(),
  ADMIN_EMAILS: list.transform((emails) => emails.map((email) => email.toLowerCase())),
  ENCRYPTION_KEY: z.string().min(16, 'must have at least 16 characters').optional(),
  TRUSTED_PROXIES: cidrs,
  BOT_DETECTION: z.enum(['off', 'basic', 'pow']).default('basic'),
  SIGN_UP: z.enum(['open', 'invite', 'closed']).default('open'),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  RATE_LIMIT_BACKEND: perMinute(120),
  RATE_LIMIT_AI: perMinute(30),
  RATE_LIMIT_DEPLOYMENTS: perMinute(5),
  RATE_LIMIT_AGENTS: perMinute(100),
  RATE_LIMIT_CHAT: perMinute(60),
  RATE_LIMIT_INSTANCE: perMinute(30),
  RATE_LIMIT_PROVISION: perMinute(5),
  RATE_LIMIT_DEMO: perMinute(20),
  RATE_LIMIT_SUMMARIZER: perMinute(60),
  RATE_LIMIT_REGISTER: perMinute(20),
  RATE_LIMIT_LOGIN: perMinute(20),
  RATE_LIMIT_PASSWORD: perMinute(10),
  PLANNED_ENDPOINTS: flag(true),
  SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be an smtp or smtps URL' }).optional(),
  MAIL_FROM: z.string().min(3).default('Stead <stead@localhost>'),
  IDP_A_CLIENT_ID: z.string().min(1).optional(),
  IDP_A_CLIENT_SECRET: z.string().min(1).optional(),
  IDP_A_AUTHORIZE_URL: url.default('https://github.com/login/oauth/authorize'),
  IDP_A_TOKEN_URL: url.default('https://github.com/login/oauth/access_token'),
  IDP_A_API_URL: url.default('https://api.github.com'),
  IDP_B_CLIENT_ID: z.string().min(1).optional(),
  IDP_B_CLIENT_SECRET: z.string().min(1).optional(),
  IDP_B_ISSUER: issuer.default('https://accounts.google.com'),
  RISC_ISSUER: issuer.optional(),
  RISC_CONFIGURATION_URL: url.optional(),
  RISC_AUDIENCES: list,
  WALLET_EMAIL_DOMAIN: z.string().min(1).toLowerCase().optional(),
  SIWE_CHAIN_ID: z.coerce.number().int().positive().default(8453),
  BASE_RPC_URL: url.optional(),
  ENS_RPC_URL: url.optional(),
  EAS_ADDRESS: evmAddress.default('0x4200000000000000000000000000000000000021'),
  CLONE_CHAIN_ID: z.coerce.number().int().positive().default(4217),
  CLONE_RPC_URL: url.optional(),
  CLONE_TOKEN_ADDRESS: evmAddress.default('0x20c0000000000000000000000000000000000000'),
  CLONE_PAY_TO: evmAddress.optional(),
  SOCIAL_ID_ISSUER: issuer.optional(),
  SOCIAL_ID_AUDIENCE: z.string().min(1).optional(),
  TOKEN_GATING_ADDRESS: evmAddress.optional(),
  TOKEN_GATING_MIN_BALANCE: z.coerce.bigint().positive().default(1_000_000_000_000_000_000n),
  TOKEN_GATING_TOKEN: z.string().min(1).default('RAVE'),
  AGENT_RUNTIME: z.enum(['docker', 'swarm', 'process', 'auto']).optional(),
  DOCKER_HOST: z.string().min(1).default('/var/run/docker.sock'),
  AGENTS_BASE_PORT: z.coerce.number().int().min(1024).max(60_000).default(19_000),
  KILL_SWITCH: flag(false),
  AGENT_PROCESS_COMMAND: z.string().min(1).optional(),
  AGENT_IMAGE: ImageReference.default(`stead-agent:${VERSION}`),
  AGENT_IMAGES: repositories.optional(),
  TELEGRAM_BOT_TOKEN: z.string().min(1).optional(),
  TELEGRAM_ADMIN_CHAT_ID: z.string().min(1).optional(),
  TELEGRAM_API_URL: url.default('https://api.telegram.org'),
  WATCHDOG_WEBHOOK_URL: url.optional(),
  WATCHDOG_WEBHOOK_SECRET: z.string().min(24, 'must have at least 24 characters').optional(),
  WATCHDOG_CHECK_INTERVAL: seconds(120),
  WATCHDOG_DEGRADED_CHECK_INTERVAL: seconds(5),
  WATCHDOG_STARTUP_FAILURE_THRESHOLD: atLeastOne(3),
  WATCHDOG_MAX_REPAIR_ATTEMPTS: atLeastOne(2),
  WATCHDOG_CRASH_LOOP_WINDOW: seconds(300),
  WATCHDOG_CRASH_LOOP_THRESHOLD: atLeastOne(3),
  WATCHDOG_AUTO_REPAIR: flag(true),
  WATCHDOG_KILL_WAIT: seconds(5),
  WATCHDOG_RESTART_WAIT: seconds(30),
  AI_PROVIDER: z.enum(['openrouter', 'openai', 'anthropic', 'gemini', 'groq']).default('openrouter'),
  OPENROUTER_API_KEY: z.string().min(1).optional(),
  OPENROUTER_BASE_URL: url.default('https://openrouter.ai/api/v1'),
  OPENAI_API_KEY: z.string().min(1).optional(),
  OPENAI_BASE_URL: url.default('https://api.openai.com/v1'),
  ANTHROPIC_API_KEY: z.string().min(1).optional(),
  ANTHROPIC_BASE_URL: url.default('https://api.anthropic.com/v1'),
  GEMINI_API_KEY: z.string().min(1).optional(),
  GEMINI_BASE_URL: url.default('https://generativelanguage.googleapis.com/v1beta/openai'),
  GROQ_API_KEY: z.string().min(1).optional(),
  GROQ_BASE_URL: url.default('https://api.groq.com/openai/v1'),
  OLLAMA_BASE_URL: url.optional(),
  AI_ECHO: flag(false),
  SUMMARIZER_ALLOW_PRIVATE: flag(false),
  SUMMARIZER_PAY_TO: evmAddress.optional(),
  BROWSE_ROOT: z.string().min(1).optional(),
  WEBHOOK_VIDEO_SECRET: z.string().min(8, 'must have at least 8 characters').optional(),
  WEBHOOK_EMAIL_SECRET: z.string().min(8, 'must have at least 8 characters').optional(),
  EMAIL_ALLOWED_SENDERS: list.transform((emails) => emails.map((email) => email.toLowerCase())),
  RADIO_API_URL: url.default('https://api.mux.com'),
  RADIO_API_ID: z.string().min(1).optional(),
  RADIO_API_TOKEN: z.string().min(1).optional(),
  VIDEO_BASE_URL: url.optional(),
  VIDEO_API_KEY: z.string().min(1).optional(),
  VIDEO_MODEL: z.string().min(1).default('sora-2'),
  VIDEO_USD_PER_SECOND: z.coerce.number().nonnegative().optional(),
  FEEDS: feeds,
  MIN_FREE_DISK_MB: z.coerce.number().nonnegative().default(256),
  DEMO_DAILY_BUDGET_USD: z.coerce.number().nonnegative().default(5),
  AI_MODEL_TIMEOUT_MS: z.coerce.number().int().positive().default(30_000),
})

/** Every setting by its variable, in the order in which they are shown. */
export const LISTED_SETTINGS: readonly string[] = Object.keys(Environment.shape)

/** Every variable that `readConfig` reads, `X_FILE` of secrets included. */
export const SETTING_NAMES: readonly string[] = [...LISTED_SETTINGS, ...SECRETS.map((name) => `${name}_FILE`)]

/** Is the value of this variable a secret, or an address that is one? */
export function isSecretSetting(name: string): boolean {
  return [...SECRETS, 'WATCHDOG_WEBHOOK_URL'].includes(name)
}

/**
 * The settings in effect by the name of their variable: what is given, else the default; undefined without one.
 * @throws StartupError one line that names the first bad variable and tells what it was given, unless that is a secret.
 */
export function readSettings(environment: Record<string, string | undefined>) {
  const given = withoutEmpty(withSecretFiles(environment))
  const parsed = Environment.safeParse(given, { error: describeIssue })
  if (!parsed.success) throw new StartupError(describeFirstIssue(parsed.error, given))
  const env = parsed.data
  const DATA_DIR = resolve(env.DATA_DIR)
  return {
    ...env,
    DATA_DIR,
    DATABASE_URL: env.DATABASE_URL ?? `file:${join(DATA_DIR, 'stead.db')}`,
    AGENT_RUNTIME: env.AGENT_RUNTIME ?? (env.DEPLOYMENT_MODE === 'cloud' ? 'docker' : 'auto'),
    AGENTS_DOMAIN: env.AGENTS_DOMAIN ?? `agents.${env.DOMAIN}`,
    WALLET_EMAIL_DOMAIN: env.WALLET_EMAIL_DOMAIN ?? `wallet.${env.DOMAIN}`,
    BROWSE_ROOT: env.BROWSE_ROOT ? resolve(env.BROWSE_ROOT) : join(DATA_DIR, 'workspace'),
    RISC_ISSUER: env.RISC_ISSUER ?? env.IDP_B_ISSUER,
  }
}

export type Config = ReturnType<typeof readConfig>

/**
 * Settings of the whole platform, read once by `main.ts`.
 * @throws StartupError as `readSettings`.
 */
export function readConfig(environment: Record<string, string | undefined>) {
  const env = readSettings(environment)
  if (env.NODE_ENV === 'production' && env.INTERNAL_API_KEY && env.INTERNAL_API_KEY.length < 32) {
    throw new StartupError('INTERNAL_API_KEY: must have at least 32 characters in production')
  }
  if (env.APP_URL && new URL(env.APP_URL).hostname.endsWith(`.${env.AGENTS_DOMAIN}`)) {
    throw new StartupError(
      `AGENTS_DOMAIN: ${env.APP_URL} of APP_URL would be the name of an agent below ${env.AGENTS_DOMAIN}`,
    )
  }
  return {
    host: env.HOST,
    ports: { web: env.WEB_PORT, backend: env.BACKEND_PORT, summarizer: env.SUMMARIZER_PORT },
    dataDir: env.DATA_DIR,
    databaseFile: resolve(env.DATABASE_URL.replace(/^file:(\/\/)?/, '')),
    mode: env.DEPLOYMENT_MODE,
    appUrl: env.APP_URL,
    domain: env.DOMAIN,
    agentsDomain: env.AGENTS_DOMAIN,
    allowedHosts: env.ALLOWED_HOSTS,
    internalApiKey: env.INTERNAL_API_KEY,
    adminEmails: env.ADMIN_EMAILS,
    encryptionKey: env.ENCRYPTION_KEY,
    trustedProxies: env.TRUSTED_PROXIES,
    botDetection: env.BOT_DETECTION,
    signUp: env.SIGN_UP,
    logLevel: env.LOG_LEVEL,
    requestsPerMinute: {
      backend: env.RATE_LIMIT_BACKEND,
      ai: env.RATE_LIMIT_AI,
      deployments: env.RATE_LIMIT_DEPLOYMENTS,
      agents: env.RATE_LIMIT_AGENTS,
      chat: env.RATE_LIMIT_CHAT,
      instance: env.RATE_LIMIT_INSTANCE,
      provision: env.RATE_LIMIT_PROVISION,
      demo: env.RATE_LIMIT_DEMO,
      summarizer: env.RATE_LIMIT_SUMMARIZER,
      register: env.RATE_LIMIT_REGISTER,
      login: env.RATE_LIMIT_LOGIN,
      password: env.RATE_LIMIT_PASSWORD,
    },
    plannedEndpoints: env.PLANNED_ENDPOINTS,
    minFreeDiskBytes: env.MIN_FREE_DISK_MB * 1024 * 1024,
    mail: { smtpUrl: env.SMTP_URL, from: env.MAIL_FROM },
    isProduction: env.NODE_ENV === 'production',
    idpA: {
      clientId: env.IDP_A_CLIENT_ID,
      clientSecret: env.IDP_A_CLIENT_SECRET,
      authorizeUrl: env.IDP_A_AUTHORIZE_URL,
      tokenUrl: env.IDP_A_TOKEN_URL,
      apiUrl: env.IDP_A_API_URL,
    },
    idpB: { clientId: env.IDP_B_CLIENT_ID, clientSecret: env.IDP_B_CLIENT_SECRET, issuer: env.IDP_B_ISSUER },
    securityEvents: {
      issuer: env.RISC_ISSUER,
      configurationUrl: env.RISC_CONFIGURATION_URL,
      audiences: env.RISC_AUDIENCES.length > 0 ? env.RISC_AUDIENCES : env.IDP_B_CLIENT_ID ? [env.IDP_B_CLIENT_ID] : [],
    },
    walletEmailDomain: env.WALLET_EMAIL_DOMAIN,
    siweChainId: env.SIWE_CHAIN_ID,
    baseRpcUrl: env.BASE_RPC_URL,
    socialId: { issuer: env.SOCIAL_ID_ISSUER, audience: env.SOCIAL_ID_AUDIENCE },
    tokenGating: {
      address: env.TOKEN_GATING_ADDRESS,
      minBalance: env.TOKEN_GATING_MIN_BALANCE,
      token: env.TOKEN_GATING_TOKEN,
    },
    agents: {
      runtime: env.AGENT_RUNTIME,
      dockerHost: env.DOCKER_HOST,
      basePort: env.AGENTS_BASE_PORT,
      killSwitch: env.KILL_SWITCH,
      processCommand: env.AGENT_PROCESS_COMMAND,
      image: env.AGENT_IMAGE,
      images: env.AGENT_IMAGES ?? null,
    },
    verification: { ensRpcUrl: env.ENS_RPC_URL, easAddress: env.EAS_ADDRESS },
    clone: {
      chainId: env.CLONE_CHAIN_ID,
      rpcUrl: env.CLONE_RPC_URL,
      tokenAddress: env.CLONE_TOKEN_ADDRESS,
      payTo: env.CLONE_PAY_TO,
    },
    summarizer: { allowPrivate: env.SUMMARIZER_ALLOW_PRIVATE, payTo: env.SUMMARIZER_PAY_TO },
    browseRoot: env.BROWSE_ROOT,
    webhooks: {
      videoSecret: env.WEBHOOK_VIDEO_SECRET,
      emailSecret: env.WEBHOOK_EMAIL_SECRET,
      allowedSenders: env.EMAIL_ALLOWED_SENDERS,
    },
    radio: { apiUrl: env.RADIO_API_URL, apiId: env.RADIO_API_ID, apiToken: env.RADIO_API_TOKEN },
    feeds: env.FEEDS,
    video: {
      baseUrl: env.VIDEO_BASE_URL,
      apiKey: env.VIDEO_API_KEY,
      model: env.VIDEO_MODEL,
      usdPerSecond: env.VIDEO_USD_PER_SECOND,
    },
    watchdog: {
      checkSeconds: env.WATCHDOG_CHECK_INTERVAL,
      degradedCheckSeconds: env.WATCHDOG_DEGRADED_CHECK_INTERVAL,
      startupFailureThreshold: env.WATCHDOG_STARTUP_FAILURE_THRESHOLD,
      maxRepairAttempts: env.WATCHDOG_MAX_REPAIR_ATTEMPTS,
      crashLoopWindowSeconds: env.WATCHDOG_CRASH_LOOP_WINDOW,
      crashLoopThreshold: env.WATCHDOG_CRASH_LOOP_THRESHOLD,
      repairsItself: env.WATCHDOG_AUTO_REPAIR,
      killWaitSeconds: env.WATCHDOG_KILL_WAIT,
      restartWaitSeconds: env.WATCHDOG_RESTART_WAIT,
      telegram: {
        botToken: env.TELEGRAM_BOT_TOKEN,
        chatId: env.TELEGRAM_ADMIN_CHAT_ID,
        apiUrl: env.TELEGRAM_API_URL,
      },
      webhook: { url: env.WATCHDOG_WEBHOOK_URL, secret: env.WATCHDOG_WEBHOOK_SECRET },
    },
    ai: {
      aggregator: env.AI_PROVIDER,
      echo: env.AI_ECHO,
      attemptTimeoutMs: env.AI_MODEL_TIMEOUT_MS,
      demoDailyBudgetUsd: env.DEMO_DAILY_BUDGET_USD,
      ollamaBaseUrl: env.OLLAMA_BASE_URL,
      providers: [
        { id: 'openrouter', baseUrl: env.OPENROUTER_BASE_URL, apiKey: env.OPENROUTER_API_KEY },
        { id: 'openai', baseUrl: env.OPENAI_BASE_URL, apiKey: env.OPENAI_API_KEY },
        { id: 'anthropic', baseUrl: env.ANTHROPIC_BASE_URL, apiKey: env.ANTHROPIC_API_KEY },
        { id: 'gemini', baseUrl: env.GEMINI_BASE_URL, apiKey: env.GEMINI_API_KEY },
        { id: 'groq', baseUrl: env.GROQ_BASE_URL, apiKey: env.GROQ_API_KEY },
      ],
    },
  } as const
}

/** What is allowed and still deserves a word to the operator, one sentence each. */
export function listWarnings(config: Config): string[] {
  const warnings: string[] = []
  if (config.internalApiKey && config.internalApiKey.length < 32) {
    warnings.push('INTERNAL_API_KEY has fewer than 32 characters and is refused in production.')
  }
  if (config.adminEmails.length > 0 && !config.mail.smtpUrl) {
    warnings.push('ADMIN_EMAILS is believed without proof: whoever signs up first with such an address is an admin.')
  }
  const isLocal = ['127.0.0.1', '::1', 'localhost'].includes(config.host)
  if (!isLocal && !config.appUrl?.startsWith('https:')) {
    warnings.push(
      `HOST=${config.host} is reachable from other machines, and APP_URL is not https: passwords travel in the open.`,
    )
  }
  return warnings
}

/** Is `text` a range such as `10.0.0.0/8` or a single address? Short forms such as `10` are more likely a slip. */
function isCidr(text: string): boolean {
  const [address = ''] = text.split('/')
  const isWhole = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  return isWhole && (address === text || ipaddr.isValidCIDR(text))
}

function withSecretFiles(environment: Record<string, string | undefined>) {
  const result = { ...environment }
  for (const name of SECRETS) {
    const file = environment[`${name}_FILE`]
    if (!file) continue
    try {
      result[name] = readFileSync(file, 'utf8').trim()
    } catch (error) {
      throw new StartupError(`${name}_FILE: cannot be read (${errorMessage(error)})`)
    }
  }
  return result
}

/** An empty value is an unset one: shells and compose files have no other way to say so. */
function withoutEmpty(environment: Record<string, string | undefined>) {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim() !== ''))
}

/** One line: the variable, what it must be, and what it was given unless that may be a secret. */
export function describeFirstIssue(error: z.ZodError, given: Record<string, string | undefined>): string {
  const issue = error.issues[0]
  const name = String(issue?.path[0] ?? 'settings')
  const message = `${name}: ${issue?.message ?? 'is not valid'}`
  const value = given[name]
  return value === undefined || !isTold(name, value) ? message : `${message}, not ${JSON.stringify(value)}`
}

/** A value that may carry a password or a key is not repeated in a log. */
function isTold(name: string, value: string): boolean {
  return !isSecretSetting(name) && !/[@?]/.test(value) && value.length <= MAX_TOLD_CHARACTERS
}

/** What a value must be, in words, where the schema does not say it in its own. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return /int$/.test(issue.expected) ? 'must be a whole number' : `must be a ${issue.expected}`
    case 'too_big':
      return `must be at most ${issue.maximum}`
    case 'too_small':
      return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
    case 'invalid_value':
      return `must be ${issue.values.join(', ').replace(/, ([^,]+)$/, ' or $1')}`
    default:
      return undefined
  }
}
