import { resolve } from 'node:path'
import { StartupError } from './errors.ts'
import { readCustomProviders } from './settings/custom-providers.ts'
import { readPlansFile } from './settings/own-plans.ts'
import { readSettings } from './settings/read.ts'

/** Where durable files are kept: a folder, or a bucket with its credentials. */
export type ObjectsPlace = { folder: string } | { address: string; s3: NonNullable<ReturnType<typeof toS3>> }

export type Config = ReturnType<typeof readConfig>
export type RetentionDays = Config['retentionDays']

type Settings = ReturnType<typeof readSettings>

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
    ...{ dataDir: env.DATA_DIR, objects: toObjects(env) },
    databaseFile: resolve(env.DATABASE_URL.replace(/^file:(\/\/)?/, '')),
    mode: env.DEPLOYMENT_MODE,
    appUrl: env.APP_URL,
    domain: env.DOMAIN,
    agentsDomain: env.AGENTS_DOMAIN,
    allowedHosts: env.ALLOWED_HOSTS,
    internalApiKey: env.INTERNAL_API_KEY,
    metricsToken: env.METRICS_TOKEN,
    adminEmails: env.ADMIN_EMAILS,
    /** Credentials of the first account. */
    firstAdmin: toFirstAdmin(env),
    encryptionKey: env.ENCRYPTION_KEY,
    trustedProxies: env.TRUSTED_PROXIES,
    botDetection: env.BOT_DETECTION,
    signUp: env.SIGN_UP,
    plans: toPlans(env),
    logLevel: env.LOG_LEVEL,
    logFile: env.LOG_FILE,
    /** Undefined: `pretty` on a terminal, else `json`. */
    logFormat: env.LOG_FORMAT,
    requestsPerMinute: toRates(env),
    plannedEndpoints: env.PLANNED_ENDPOINTS,
    /** Days until details are deleted; 0 keeps them forever. */
    retentionDays: toRetention(env),
    ...{ minFreeDiskBytes: env.MIN_FREE_DISK_MB * 1024 * 1024, releaseFeedUrl: env.RELEASE_FEED_URL },
    ...{ ...toBackupSettings(env, environment), cluster: toCluster(env, environment) },
    mail: { smtpUrl: env.SMTP_URL, from: env.MAIL_FROM },
    isProduction: env.NODE_ENV === 'production',
    idpA: toIdpA(env),
    idpB: { clientId: env.IDP_B_CLIENT_ID, clientSecret: env.IDP_B_CLIENT_SECRET, issuer: env.IDP_B_ISSUER },
    securityEvents: toSecurityEvents(env),
    walletEmailDomain: env.WALLET_EMAIL_DOMAIN,
    siweChainId: env.SIWE_CHAIN_ID,
    baseRpcUrl: env.BASE_RPC_URL,
    usdcAddress: env.USDC_ADDRESS,
    x402GatewayUrl: env.X402_GATEWAY_URL,
    approvalExpiryMinutes: env.APPROVAL_EXPIRY_MINUTES,
    socialId: { issuer: env.SOCIAL_ID_ISSUER, audience: env.SOCIAL_ID_AUDIENCE },
    tokenGating: {
      address: env.TOKEN_GATING_ADDRESS,
      minBalance: env.TOKEN_GATING_MIN_BALANCE,
      token: env.TOKEN_GATING_TOKEN,
    },
    agents: toAgents(env),
    verification: { ensRpcUrl: env.ENS_RPC_URL, easAddress: env.EAS_ADDRESS },
    clone: toClonePayments(env),
    cards: {
      secretKey: env.STRIPE_SECRET_KEY,
      webhookSecret: env.STRIPE_WEBHOOK_SECRET,
      apiBase: env.STRIPE_API_BASE,
      graceDays: env.STRIPE_GRACE_DAYS,
    },
    paidGateway: { payTo: env.GATEWAY_PAY_TO, settlerKey: env.GATEWAY_SETTLER_KEY },
    search: { searxngUrl: env.SEARXNG_URL, braveApiKey: env.BRAVE_API_KEY },
    summarizer: { allowPrivate: env.SUMMARIZER_ALLOW_PRIVATE, payTo: env.SUMMARIZER_PAY_TO },
    browseRoot: env.BROWSE_ROOT,
    agentMail: toAgentMail(env),
    webhooks: toWebhooks(env),
    radio: { apiUrl: env.RADIO_API_URL, apiId: env.RADIO_API_ID, apiToken: env.RADIO_API_TOKEN },
    feeds: env.FEEDS,
    video: toVideo(env),
    watchdog: toWatchdog(env),
    ai: { ...toModels(env), customProviders: readCustomProviders(environment) },
    traces: toTraces(env),
  } as const
}

/** `byDefault` is null for no plan. @throws StartupError when the plans file is invalid. */
function toPlans({ DEFAULT_PLAN, DEPLOYMENT_MODE, PLANS_FILE }: Settings) {
  const byDefault = DEFAULT_PLAN ?? (DEPLOYMENT_MODE === 'home' ? 'network' : 'free')
  return {
    byDefault: byDefault === 'free' ? null : byDefault,
    own: PLANS_FILE === undefined ? [] : readPlansFile(PLANS_FILE),
  }
}

/** @throws StartupError when only one of the two is set. */
function toFirstAdmin({ ADMIN_EMAIL: email, ADMIN_PASSWORD: password }: Settings) {
  if (email && password) return { email, password }
  if (email) throw new StartupError('ADMIN_PASSWORD_FILE: is missing beside ADMIN_EMAIL')
  if (password) throw new StartupError('ADMIN_EMAIL: is missing beside ADMIN_PASSWORD')
  return null
}

/** Null for a single node. @throws StartupError when a setting that a cluster needs is missing. */
function toCluster(env: Settings, environment: Record<string, string | undefined>) {
  if (env.CLUSTER_LOG_URL.length === 0) return null
  if (!env.CLUSTER_NODE_URL) throw new StartupError('CLUSTER_NODE_URL: must be set beside CLUSTER_LOG_URL')
  if (!env.ENCRYPTION_KEY) throw new StartupError('ENCRYPTION_KEY: must be set, and equal on all nodes of a cluster')
  if (env.AGENT_RUNTIME !== 'swarm') {
    throw new StartupError(`AGENT_RUNTIME: must be swarm in a cluster, not ${env.AGENT_RUNTIME}`)
  }
  if (!isGiven(environment.OBJECTS_URL)) {
    throw new StartupError(
      'OBJECTS_URL: must be set in a cluster, to s3://bucket/prefix: snapshots of agents, videos and backups would be lost with their node',
    )
  }
  return {
    logUrls: env.CLUSTER_LOG_URL,
    nodeUrl: env.CLUSTER_NODE_URL,
    nodeId: env.CLUSTER_NODE_ID,
    agentsUrl: env.CLUSTER_AGENTS_URL ?? null,
    allowsAsync: env.CLUSTER_ALLOW_ASYNC,
    checkMs: env.CLUSTER_CHECK_MINUTES * 60_000,
  }
}

function toClonePayments(env: Settings) {
  return {
    chainId: env.CLONE_CHAIN_ID,
    rpcUrl: env.CLONE_RPC_URL,
    tokenAddress: env.CLONE_TOKEN_ADDRESS,
    payTo: env.CLONE_PAY_TO,
  }
}

function toRates(env: Settings) {
  return {
    backend: env.RATE_LIMIT_BACKEND,
    ai: env.RATE_LIMIT_AI,
    deployments: env.RATE_LIMIT_DEPLOYMENTS,
    gateway: env.RATE_LIMIT_GATEWAY,
    agents: env.RATE_LIMIT_AGENTS,
    chat: env.RATE_LIMIT_CHAT,
    instance: env.RATE_LIMIT_INSTANCE,
    provision: env.RATE_LIMIT_PROVISION,
    demo: env.RATE_LIMIT_DEMO,
    summarizer: env.RATE_LIMIT_SUMMARIZER,
    register: env.RATE_LIMIT_REGISTER,
    login: env.RATE_LIMIT_LOGIN,
    password: env.RATE_LIMIT_PASSWORD,
  }
}

function toRetention(env: Settings) {
  return {
    usage: env.RETENTION_USAGE_DAYS,
    toolEvents: env.RETENTION_TOOL_EVENTS_DAYS,
    messages: env.RETENTION_MESSAGES_DAYS,
    audit: env.RETENTION_AUDIT_DAYS,
    securityEvents: env.RETENTION_SECURITY_EVENTS_DAYS,
    inbox: env.RETENTION_INBOX_DAYS,
  }
}

/** `backupSettingsGiven` names the settings that the dashboard cannot change. */
function toBackupSettings(env: Settings, environment: Record<string, string | undefined>) {
  return {
    backups: toBackups(env),
    backupSettingsGiven: {
      schedule: isGiven(environment.BACKUP_SCHEDULE),
      to: isGiven(environment.BACKUP_TO),
      keep: isGiven(environment.BACKUP_KEEP),
    },
  }
}

/** Empty variables count as unset. */
function isGiven(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== ''
}

/** `schedule` is undefined when backups are not scheduled. */
function toBackups(env: Settings) {
  return {
    schedule: env.BACKUP_SCHEDULE,
    drillSchedule: env.BACKUP_DRILL_SCHEDULE,
    keep: env.BACKUP_KEEP,
    to: env.BACKUP_TO,
    passphrase: env.BACKUP_PASSPHRASE,
    s3: toS3(env),
  }
}

/** @throws StartupError as `toS3`. */
function toObjects(env: Settings): ObjectsPlace {
  const { OBJECTS_URL } = env
  const folder = OBJECTS_URL.replace(/^file:/, '')
  if (!OBJECTS_URL.startsWith('s3://')) return { folder }
  const s3 = toS3(env)
  // With the address of a bucket, missing credentials throw.
  return s3 ? { address: OBJECTS_URL, s3 } : { folder }
}

/** @throws StartupError when `BACKUP_TO` or `OBJECTS_URL` is a bucket and the credentials are missing. */
function toS3(env: Settings) {
  const { S3_ENDPOINT: endpoint, S3_REGION: region } = env
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (accessKeyId && secretAccessKey) return { endpoint, region, accessKeyId, secretAccessKey }
  const name = env.OBJECTS_URL.startsWith('s3://') ? 'OBJECTS_URL' : 'BACKUP_TO'
  if (!env[name].startsWith('s3://')) return null
  const missing = accessKeyId ? 'S3_SECRET_ACCESS_KEY' : 'S3_ACCESS_KEY_ID'
  throw new StartupError(`${missing}: must be set for ${name}=${env[name]}`)
}

function toAgents(env: Settings) {
  return {
    runtime: env.AGENT_RUNTIME,
    dockerHost: env.DOCKER_HOST,
    basePort: env.AGENTS_BASE_PORT,
    killSwitch: env.KILL_SWITCH,
    pairingCodeMinutes: env.PAIRING_CODE_MINUTES,
    processCommand: env.AGENT_PROCESS_COMMAND,
    isolation: env.AGENT_ISOLATION,
    image: env.AGENT_IMAGE,
    images: env.AGENT_IMAGES ?? null,
    /** Null: files of agents are not copied. */
    snapshotEveryMs: env.AGENT_SNAPSHOT_MINUTES > 0 ? env.AGENT_SNAPSHOT_MINUTES * 60_000 : null,
    /** Null: volumes of each machine's own disk. */
    volumeDriver: toVolumeDriver(env),
    egress: {
      byDefault: env.EGRESS_DEFAULT,
      byTemplate: env.EGRESS_BY_TEMPLATE,
      privateHosts: [...env.EGRESS_PRIVATE_HOSTS, ...toMessengerHosts(env)],
    },
    /** Null: agents never sleep. */
    sleepAfterMs: env.AGENT_SLEEP_MINUTES > 0 ? env.AGENT_SLEEP_MINUTES * 60_000 : null,
  }
}

/** @throws StartupError when there are options without a driver. */
function toVolumeDriver({ SWARM_VOLUME_DRIVER: name, SWARM_VOLUME_OPTIONS: options }: Settings) {
  if (name === undefined && Object.keys(options).length > 0)
    throw new StartupError('SWARM_VOLUME_DRIVER: must be set beside SWARM_VOLUME_OPTIONS')
  return name === undefined ? null : { name, options }
}

const PUBLIC_MESSENGERS = ['https://api.telegram.org', 'https://discord.com', 'https://slack.com']

/** Messenger servers that the operator chose may be on this machine. */
function toMessengerHosts(env: Settings): string[] {
  const urls = [env.TELEGRAM_API_URL, env.DISCORD_API_URL, env.SLACK_API_URL]
    .filter((text) => !PUBLIC_MESSENGERS.includes(text))
    .map((text) => new URL(text))
  return urls.map(({ hostname, port, protocol }) => `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`)
}

function toWatchdog(env: Settings) {
  return {
    checkSeconds: env.WATCHDOG_CHECK_INTERVAL,
    degradedCheckSeconds: env.WATCHDOG_DEGRADED_CHECK_INTERVAL,
    startupFailureThreshold: env.WATCHDOG_STARTUP_FAILURE_THRESHOLD,
    maxRepairAttempts: env.WATCHDOG_MAX_REPAIR_ATTEMPTS,
    crashLoopWindowSeconds: env.WATCHDOG_CRASH_LOOP_WINDOW,
    crashLoopThreshold: env.WATCHDOG_CRASH_LOOP_THRESHOLD,
    repairsItself: env.WATCHDOG_AUTO_REPAIR,
    healthyAfterSeconds: env.WATCHDOG_HEALTHY_AFTER,
    retryAfterSeconds: env.WATCHDOG_RETRY_AFTER,
    killWaitSeconds: env.WATCHDOG_KILL_WAIT,
    restartWaitSeconds: env.WATCHDOG_RESTART_WAIT,
    telegram: {
      botToken: env.TELEGRAM_BOT_TOKEN,
      chatId: env.TELEGRAM_ADMIN_CHAT_ID,
      apiUrl: env.TELEGRAM_API_URL,
    },
    discord: { apiUrl: env.DISCORD_API_URL },
    slack: { apiUrl: env.SLACK_API_URL },
    webhook: { url: env.WATCHDOG_WEBHOOK_URL, secret: env.WATCHDOG_WEBHOOK_SECRET },
  }
}

function toModels(env: Settings) {
  return {
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
  } as const
}

/** Null when no collector is configured. */
function toTraces(env: Settings) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = env
  return endpoint ? { endpoint, headers, serviceName: env.OTEL_SERVICE_NAME } : null
}

function toSecurityEvents(env: Settings) {
  return {
    issuer: env.RISC_ISSUER,
    configurationUrl: env.RISC_CONFIGURATION_URL,
    audiences: env.RISC_AUDIENCES.length > 0 ? env.RISC_AUDIENCES : env.IDP_B_CLIENT_ID ? [env.IDP_B_CLIENT_ID] : [],
  }
}

function toIdpA(env: Settings) {
  return {
    clientId: env.IDP_A_CLIENT_ID,
    clientSecret: env.IDP_A_CLIENT_SECRET,
    authorizeUrl: env.IDP_A_AUTHORIZE_URL,
    tokenUrl: env.IDP_A_TOKEN_URL,
    apiUrl: env.IDP_A_API_URL,
  }
}

/** Receiving mail for agents requires an address and the webhook secret; sending is decided by the mailer. */
function toAgentMail({ AGENT_MAIL_ADDRESS, WEBHOOK_EMAIL_SECRET }: Settings) {
  return { address: AGENT_MAIL_ADDRESS, receives: WEBHOOK_EMAIL_SECRET !== undefined }
}

function toWebhooks(env: Settings) {
  return {
    videoSecret: env.WEBHOOK_VIDEO_SECRET,
    emailSecret: env.WEBHOOK_EMAIL_SECRET,
    authservId: env.EMAIL_AUTHSERV_ID,
    allowedSenders: env.EMAIL_ALLOWED_SENDERS,
  }
}

function toVideo(env: Settings) {
  return {
    baseUrl: env.VIDEO_BASE_URL,
    apiKey: env.VIDEO_API_KEY,
    model: env.VIDEO_MODEL,
    usdPerSecond: env.VIDEO_USD_PER_SECOND,
  }
}

/** Returns warnings about valid but risky settings. `hasMail`: mail is configured by a variable or in the dashboard. */
export function listWarnings(config: Config, hasMail: boolean): string[] {
  const warnings: string[] = []
  if (config.internalApiKey && config.internalApiKey.length < 32) {
    warnings.push('INTERNAL_API_KEY has fewer than 32 characters and is refused in production.')
  }
  if (config.adminEmails.length > 0 && !hasMail) {
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
