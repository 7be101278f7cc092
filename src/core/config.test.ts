import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { readConfig } from './config.ts'
import { StartupError } from './errors.ts'
import { VERSION } from './version.ts'

test('DOMAIN is converted to lower case, like the e-mail addresses of wallets', () => {
  expect(readConfig({ DOMAIN: 'Agents.Example.COM' })).toMatchObject({
    domain: 'agents.example.com',
    walletEmailDomain: 'wallet.agents.example.com',
  })
})

test('AGENTS_DOMAIN is below DOMAIN unless it is set, and APP_URL is never the name of an agent', () => {
  expect(readConfig({ DOMAIN: 'Stead.example' }).agentsDomain).toBe('agents.stead.example')
  expect(readConfig({ DOMAIN: 'stead.example', AGENTS_DOMAIN: 'Stead-Pages.example' })).toMatchObject({
    domain: 'stead.example',
    agentsDomain: 'stead-pages.example',
  })
  for (const AGENTS_DOMAIN of [
    'https://a.example',
    'a.example:80',
    'a.example/',
    '*.a.example',
    '-a.example',
    'a..b',
  ]) {
    expect(() => readConfig({ AGENTS_DOMAIN })).toThrow(/^AGENTS_DOMAIN: /)
  }
  const settings = { APP_URL: 'https://app.stead.example', AGENTS_DOMAIN: 'stead.example' }
  expect(() => readConfig(settings)).toThrow(/^AGENTS_DOMAIN: /)
})

test('ALLOWED_HOSTS are converted to lower case', () => {
  expect(readConfig({ ALLOWED_HOSTS: 'nas.lan, Stead-1,,a_b' }).allowedHosts).toEqual(['nas.lan', 'stead-1', 'a_b'])
  for (const ALLOWED_HOSTS of ['nas.lan:3000', 'http://nas.lan', '*.lan', 'nas.lan,*']) {
    expect(() => readConfig({ ALLOWED_HOSTS })).toThrow(/^ALLOWED_HOSTS: /)
  }
})

test('readConfig returns the documented defaults when no variable is set', () => {
  expect(readConfig({})).toEqual({
    host: '127.0.0.1',
    ports: { web: 3000, backend: 3001, summarizer: 3100 },
    dataDir: resolve('data'),
    objects: { folder: resolve('data') },
    databaseFile: resolve('data/stead.db'),
    cluster: null,
    mode: 'home',
    appUrl: undefined,
    domain: 'localhost',
    agentsDomain: 'agents.localhost',
    allowedHosts: [],
    internalApiKey: undefined,
    metricsToken: undefined,
    adminEmails: [],
    firstAdmin: null,
    encryptionKey: undefined,
    trustedProxies: [],
    agentMail: { address: undefined, receives: false },
    botDetection: 'basic',
    signUp: 'open',
    plans: { byDefault: 'network', own: [] },
    logLevel: 'info',
    logFile: undefined,
    logFormat: undefined,
    requestsPerMinute: {
      backend: 120,
      ai: 30,
      deployments: 5,
      gateway: 100,
      agents: 100,
      chat: 60,
      instance: 30,
      provision: 5,
      demo: 20,
      summarizer: 60,
      register: 20,
      login: 20,
      password: 10,
    },
    plannedEndpoints: true,
    backups: {
      schedule: undefined,
      drillSchedule: undefined,
      keep: { days: 7, weeks: 4, months: 6 },
      to: resolve('data/backups'),
      passphrase: undefined,
      s3: null,
    },
    releaseFeedUrl: undefined,
    backupSettingsGiven: { schedule: false, to: false, keep: false },
    retentionDays: { usage: 400, toolEvents: 90, messages: 0, audit: 400, securityEvents: 400, inbox: 90 },
    minFreeDiskBytes: 268_435_456,
    mail: { smtpUrl: undefined, from: 'Stead <stead@localhost>' },
    isProduction: false,
    idpA: {
      clientId: undefined,
      clientSecret: undefined,
      authorizeUrl: 'https://github.com/login/oauth/authorize',
      tokenUrl: 'https://github.com/login/oauth/access_token',
      apiUrl: 'https://api.github.com',
    },
    idpB: { clientId: undefined, clientSecret: undefined, issuer: 'https://accounts.google.com' },
    securityEvents: { issuer: 'https://accounts.google.com', configurationUrl: undefined, audiences: [] },
    walletEmailDomain: 'wallet.localhost',
    siweChainId: 8453,
    baseRpcUrl: undefined,
    usdcAddress: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    x402GatewayUrl: undefined,
    approvalExpiryMinutes: 60,
    socialId: { issuer: undefined, audience: undefined },
    tokenGating: { address: undefined, minBalance: 1_000_000_000_000_000_000n, token: 'RAVE' },
    agents: {
      runtime: 'auto',
      dockerHost: '/var/run/docker.sock',
      basePort: 19_000,
      killSwitch: false,
      pairingCodeMinutes: 10,
      processCommand: undefined,
      isolation: 'auto',
      image: `stead-agent:${VERSION}`,
      images: null,
      snapshotEveryMs: 15 * 60_000,
      volumeDriver: null,
      egress: { byDefault: 'open', byTemplate: new Map(), privateHosts: [] },
      sleepAfterMs: 1_800_000,
    },
    verification: { ensRpcUrl: undefined, easAddress: '0x4200000000000000000000000000000000000021' },
    clone: {
      chainId: 4217,
      rpcUrl: undefined,
      tokenAddress: '0x20c0000000000000000000000000000000000000',
      payTo: undefined,
    },
    cards: {
      secretKey: undefined,
      webhookSecret: undefined,
      apiBase: 'https://api.stripe.com',
      graceDays: 7,
    },
    paidGateway: { payTo: undefined, settlerKey: undefined },
    search: { searxngUrl: undefined, braveApiKey: undefined },
    summarizer: { allowPrivate: false, payTo: undefined },
    browseRoot: resolve('data/workspace'),
    webhooks: { videoSecret: undefined, emailSecret: undefined, authservId: undefined, allowedSenders: [] },
    radio: { apiUrl: 'https://api.mux.com', apiId: undefined, apiToken: undefined },
    feeds: [],
    video: { baseUrl: undefined, apiKey: undefined, model: 'sora-2', usdPerSecond: undefined },
    watchdog: {
      checkSeconds: 120,
      degradedCheckSeconds: 5,
      startupFailureThreshold: 3,
      maxRepairAttempts: 2,
      crashLoopWindowSeconds: 300,
      crashLoopThreshold: 3,
      repairsItself: true,
      healthyAfterSeconds: 300,
      retryAfterSeconds: 3600,
      killWaitSeconds: 5,
      restartWaitSeconds: 30,
      telegram: { botToken: undefined, chatId: undefined, apiUrl: 'https://api.telegram.org' },
      discord: { apiUrl: 'https://discord.com' },
      slack: { apiUrl: 'https://slack.com' },
      webhook: { url: undefined, secret: undefined },
    },
    ai: {
      aggregator: 'openrouter',
      echo: false,
      attemptTimeoutMs: 30_000,
      demoDailyBudgetUsd: 5,
      ollamaBaseUrl: undefined,
      customProviders: [],
      providers: [
        { id: 'openrouter', baseUrl: 'https://openrouter.ai/api/v1', apiKey: undefined },
        { id: 'openai', baseUrl: 'https://api.openai.com/v1', apiKey: undefined },
        { id: 'anthropic', baseUrl: 'https://api.anthropic.com/v1', apiKey: undefined },
        { id: 'gemini', baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai', apiKey: undefined },
        { id: 'groq', baseUrl: 'https://api.groq.com/openai/v1', apiKey: undefined },
      ],
    },
    traces: null,
  })
})

test('readConfig treats a variable as unset when it is empty', () => {
  expect(readConfig({ WEB_PORT: ' ', AI_ECHO: '', APP_URL: '', AGENT_RUNTIME: '' })).toEqual(readConfig({}))
})

test.each<[Record<string, string>, string, string]>([
  [{}, 'home', 'auto'],
  [{ INTERNAL_API_KEY: 'a-key-of-the-services-0123456789' }, 'cloud', 'docker'],
  [{ INTERNAL_API_KEY: 'a-key-of-the-services-0123456789', DEPLOYMENT_MODE: 'home' }, 'home', 'auto'],
  [{ DEPLOYMENT_MODE: 'cloud' }, 'cloud', 'docker'],
])('readConfig, when given %j, returns mode %s and runtime %s', (environment, mode, runtime) => {
  const { mode: actual, agents } = readConfig(environment)
  expect(`${actual} ${agents.runtime}`).toBe(`${mode} ${runtime}`)
})

test.each([
  'libsql://db.example',
  'http://127.0.0.1:8080',
  'https://a.example',
  'postgres://ada:pw@localhost/a',
  'file:',
])('readConfig throws one line that names CLUSTER_LOG_URL when DATABASE_URL is %s', (DATABASE_URL) => {
  const read = () => readConfig({ DATABASE_URL })
  expect(read).toThrow(StartupError)
  expect(read).toThrow(/^DATABASE_URL: must be a file: URL: [^\n]+CLUSTER_LOG_URL/)
  expect(read).not.toThrow('pw')
})

describe('readConfig', () => {
  test('selects the available runtime when the mode is home', () => {
    expect(readConfig({ DEPLOYMENT_MODE: 'home' }).agents.runtime).toBe('auto')
    expect(readConfig({ DEPLOYMENT_MODE: 'home', AGENT_RUNTIME: 'docker' }).agents.runtime).toBe('docker')
  })

  test('accepts ranges and single addresses of IPv4 and IPv6 as proxies', () => {
    const proxies = ['10.0.0.0/8', '192.0.2.1', '2001:db8::/32', '::1']
    expect(readConfig({ TRUSTED_PROXIES: proxies.join(', ') }).trustedProxies).toEqual(proxies)
  })

  test('accepts port 0, which selects a free port', () => {
    expect(readConfig({ WEB_PORT: '0' }).ports.web).toBe(0)
  })

  test('converts administrators to lower case', () => {
    expect(readConfig({ ADMIN_EMAILS: ' Ada@Example.com, ,bo@example.com' }).adminEmails).toEqual([
      'ada@example.com',
      'bo@example.com',
    ])
  })

  test('throws when an origin differs from the one that browsers send', () => {
    expect(readConfig({ APP_URL: 'https://Stead.Example:443/' }).appUrl).toBe('https://stead.example')
    expect(readConfig({ APP_URL: 'http://localhost:3000' }).appUrl).toBe('http://localhost:3000')
  })

  test('places the database in the data folder unless a file: URL is set', () => {
    expect(readConfig({ DATA_DIR: '/srv/stead' }).databaseFile).toBe('/srv/stead/stead.db')
    expect(readConfig({ DATABASE_URL: 'file:/srv/other.db' }).databaseFile).toBe('/srv/other.db')
    expect(readConfig({ DATABASE_URL: 'file:///srv/other.db' }).databaseFile).toBe('/srv/other.db')
  })

  test.each(['true', '1', 'yes', 'on', 'TRUE'])('returns true when the value is %s', (value) => {
    expect(readConfig({ KILL_SWITCH: value }).agents.killSwitch).toBe(true)
  })

  test.each(['false', '0', 'no', 'off'])('returns false when the value is %s', (value) => {
    expect(readConfig({ PLANNED_ENDPOINTS: value }).plannedEndpoints).toBe(false)
  })
})

test('accepts AGENT_IMAGES as a list of repositories or unset', () => {
  const read = (AGENT_IMAGES?: string) =>
    readConfig({ ...(AGENT_IMAGES !== undefined && { AGENT_IMAGES }) }).agents.images
  expect([read(), read(''), read('agent, registry:5000/acme/agent,')]).toEqual([
    null,
    null,
    ['agent', 'registry:5000/acme/agent'],
  ])
})

test('readConfig throws when only one of ADMIN_EMAIL and ADMIN_PASSWORD is set', () => {
  const both = { ADMIN_EMAIL: 'Ada@Example.com', ADMIN_PASSWORD: 'correct horse' }
  expect(readConfig(both).firstAdmin).toEqual({ email: 'ada@example.com', password: 'correct horse' })
  expect(() => readConfig({ ADMIN_EMAIL: 'ada@example.com' })).toThrow('ADMIN_PASSWORD_FILE: is missing beside')
  expect(() => readConfig({ ADMIN_PASSWORD: 'correct horse' })).toThrow('ADMIN_EMAIL: is missing beside')
})

const BAD: [name: string, value: string][] = [
  ['WEB_PORT', 'eighty'],
  ['WEB_PORT', '65536'],
  ['WEB_PORT', '-1'],
  ['WEB_PORT', '80.5'],
  ['FEEDS', 'gas-prices'],
  ['FEEDS', '{}'],
  ['FEEDS', '[{"id":"a","url":"http://a.example"},{"id":"a","url":"http://b.example"}]'],
  ['DEPLOYMENT_MODE', 'Cloud'],
  ['ADMIN_EMAIL', 'ada'],
  ['ADMIN_PASSWORD', 'short'],
  ['DATABASE_URL', 'postgres://localhost/stead'],
  ['APP_URL', 'stead.example'],
  ['APP_URL', 'https://stead.example/app'],
  ['APP_URL', 'https://stead.example/?a=1'],
  ['APP_URL', 'https://ada:pw@stead.example'],
  ['APP_URL', 'ftp://stead.example'],
  ['ENCRYPTION_KEY', 'short'],
  ['TRUSTED_PROXIES', '10.0.0.0/8,proxy.example'],
  ['TRUSTED_PROXIES', '10.0.0.0/33'],
  ['TRUSTED_PROXIES', '10'],
  ['TRUSTED_PROXIES', '10/8'],
  ['BOT_DETECTION', 'strict'],
  ['LOG_LEVEL', 'verbose'],
  ['RATE_LIMIT_LOGIN', '0'],
  ['RATE_LIMIT_LOGIN', 'many'],
  ['KILL_SWITCH', 'maybe'],
  ['AGENT_RUNTIME', 'podman'],
  ['AGENT_IMAGE', 'agent; rm -rf /'],
  ['AGENT_IMAGES', 'agent,agent; rm -rf /'],
  ['AGENT_IMAGES', 'ghcr.io/acme/agent:1'],
  ['AGENT_IMAGES', `agent@sha256:${'a'.repeat(64)}`],
  ['SUMMARIZER_ALLOW_PRIVATE', 'maybe'],
  ['WEBHOOK_EMAIL_SECRET', 'short'],
  ['VIDEO_BASE_URL', 'video'],
  ['CLONE_PAY_TO', '0x12'],
  ['WATCHDOG_CHECK_INTERVAL', '-1'],
  ['WATCHDOG_CRASH_LOOP_THRESHOLD', '0'],
  ['WATCHDOG_WEBHOOK_SECRET', 'short'],
  ['DEMO_DAILY_BUDGET_USD', '-1'],
  ['AGENTS_BASE_PORT', '80'],
  ['AI_PROVIDER', 'acme'],
  ['OPENAI_BASE_URL', 'api.openai.com'],
  ['AI_MODEL_TIMEOUT_MS', '0'],
]

test.each(BAD)('readConfig, when %s=%j, throws one line that names the variable', (name, value) => {
  const failure = failureOf({ [name]: value })
  expect(failure.message).toStartWith(`${name}: `)
  expect(failure.message).not.toContain('\n')
})

test('readConfig throws when INTERNAL_API_KEY is short, in production only', () => {
  const short = { INTERNAL_API_KEY: 'x'.repeat(31) }
  expect(readConfig(short).internalApiKey).toBe(short.INTERNAL_API_KEY)
  expect(failureOf({ ...short, NODE_ENV: 'production' }).message).toStartWith('INTERNAL_API_KEY: ')
  expect(readConfig({ NODE_ENV: 'production', INTERNAL_API_KEY: 'x'.repeat(32) }).internalApiKey).toHaveLength(32)
})

describe('readConfig with secrets in files', () => {
  test.each(['OPENROUTER', 'OPENAI', 'ANTHROPIC', 'GEMINI', 'GROQ'])(
    'removes the last line break when %s_API_KEY_FILE is read',
    (vendor) => {
      using folder = tempFolder()
      writeFileSync(folder.file('secret'), 'sk-from-a-file\n')
      const { providers } = readConfig({ [`${vendor}_API_KEY_FILE`]: folder.file('secret') }).ai
      expect(providers.find(({ id }) => id === vendor.toLowerCase())?.apiKey).toBe('sk-from-a-file')
    },
  )

  test('reads INTERNAL_API_KEY_FILE and ENCRYPTION_KEY_FILE', () => {
    using folder = tempFolder()
    const file = folder.file('secret')
    writeFileSync(file, `${'k'.repeat(32)}\n`)
    const config = readConfig({ INTERNAL_API_KEY_FILE: file, ENCRYPTION_KEY_FILE: file })
    expect([config.internalApiKey, config.encryptionKey]).toEqual(['k'.repeat(32), 'k'.repeat(32)])
  })

  test('throws one line that names the variable when a file cannot be read', () => {
    using folder = tempFolder()
    const failure = failureOf({ ENCRYPTION_KEY_FILE: folder.file('missing') })
    expect(failure.message).toStartWith('ENCRYPTION_KEY_FILE: ')
    expect(failure.message).not.toContain('\n')
  })

  test.each(['', ' \n'])('throws when the named file contains %j, because backups would not be encrypted', (text) => {
    using folder = tempFolder()
    const file = folder.file('secret')
    writeFileSync(file, text, { mode: 0o600 })
    for (const name of ['BACKUP_PASSPHRASE', 'ENCRYPTION_KEY', 'INTERNAL_API_KEY', 'METRICS_TOKEN']) {
      expect(failureOf({ [`${name}_FILE`]: file }).message).toBe(`${name}_FILE: ${file} is empty`)
    }
  })

  test('throws the variable without the value when the value in a file is invalid', () => {
    using folder = tempFolder()
    writeFileSync(folder.file('secret'), 'short-secret')
    const failure = failureOf({ ENCRYPTION_KEY_FILE: folder.file('secret') })
    expect(failure.message).toStartWith('ENCRYPTION_KEY: ')
    expect(failure.message).not.toContain('short-secret')
  })
})

function failureOf(environment: Record<string, string>): Error {
  try {
    readConfig(environment)
  } catch (error) {
    if (error instanceof StartupError) return error
    throw error
  }
  throw new Error('The settings were accepted')
}

test('readConfig parses valid values of BACKUP_SCHEDULE and BACKUP_KEEP, and throws when they are invalid', () => {
  const { backups } = readConfig({
    BACKUP_SCHEDULE: '0 3 * * 1 Europe/Berlin',
    BACKUP_KEEP: '3d 2m',
    BACKUP_TO: '/mnt/b',
  })
  expect(backups).toEqual({
    schedule: { cron: '0 3 * * 1', timeZone: 'Europe/Berlin' },
    drillSchedule: undefined,
    keep: { days: 3, weeks: 0, months: 2 },
    to: '/mnt/b',
    passphrase: undefined,
    s3: null,
  })
  expect(readConfig({ BACKUP_SCHEDULE: '0 3 * * *' }).backups.schedule).toEqual({ cron: '0 3 * * *', timeZone: 'UTC' })
  for (const BACKUP_SCHEDULE of ['daily', '0 3 * *', '0 3 * * * Mars/Base', '0 25 * * *', '0 3 30 2 *']) {
    expect(() => readConfig({ BACKUP_SCHEDULE })).toThrow(/^BACKUP_SCHEDULE: must be five cron fields/)
  }
  for (const BACKUP_TO of ['http://bucket/prefix', 's3://', 's3://B_cket/prefix']) {
    expect(() => readConfig({ BACKUP_TO })).toThrow(/^BACKUP_TO: must be a folder, or s3:/)
  }
  const BACKUP_TO = 's3://bucket/prefix'
  expect(() => readConfig({ BACKUP_TO })).toThrow(/^S3_ACCESS_KEY_ID: must be set for BACKUP_TO/)
  expect(() => readConfig({ BACKUP_TO, S3_ACCESS_KEY_ID: 'k' })).toThrow(/^S3_SECRET_ACCESS_KEY: must be set/)
  const there = readConfig({
    BACKUP_TO,
    S3_ACCESS_KEY_ID: 'k',
    S3_SECRET_ACCESS_KEY: 's',
    S3_ENDPOINT: 'http://m:9000/',
  })
  expect(there.backups).toMatchObject({ to: BACKUP_TO, s3: { endpoint: 'http://m:9000', accessKeyId: 'k' } })
  for (const BACKUP_KEEP of ['0d', '7', '4w 7d', '7 days']) {
    expect(() => readConfig({ BACKUP_KEEP })).toThrow(/^BACKUP_KEEP: must say how many/)
  }
})

const CLUSTER = {
  CLUSTER_LOG_URL: 'postgres://db/stead',
  CLUSTER_NODE_URL: 'http://10.0.0.1:3001',
  ENCRYPTION_KEY: 'a key that all nodes share',
  AGENT_RUNTIME: 'swarm',
}
const S3_KEYS = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' }

test('OBJECTS_URL is a folder or a bucket with its keys, and holds backups unless BACKUP_TO is set', () => {
  const bucket = readConfig({ OBJECTS_URL: 's3://bucket/stead/', ...S3_KEYS })
  expect(bucket.objects).toMatchObject({ address: 's3://bucket/stead', s3: { accessKeyId: 'id' } })
  expect(bucket.backups.to).toBe('s3://bucket/stead/backups')
  const folder = readConfig({ OBJECTS_URL: 'file:/srv/objects', BACKUP_TO: '/mnt/backups' })
  expect([folder.objects, folder.backups.to]).toEqual([{ folder: '/srv/objects' }, '/mnt/backups'])
  expect(() => readConfig({ OBJECTS_URL: 's3://bucket' })).toThrow(/^S3_ACCESS_KEY_ID: must be set for OBJECTS_URL=/)
  for (const OBJECTS_URL of ['/srv/objects', 'https://bucket', 's3://', 's3://-'])
    expect(() => readConfig({ OBJECTS_URL, ...S3_KEYS })).toThrow(/^OBJECTS_URL: must be s3:/)
})

test('readConfig throws when a cluster has no OBJECTS_URL, because files of one node are lost with it', () => {
  expect(() => readConfig(CLUSTER)).toThrow(/^OBJECTS_URL: must be set in a cluster/)
  const config = readConfig({ ...CLUSTER, OBJECTS_URL: 's3://bucket/stead', ...S3_KEYS })
  expect(config.cluster).toMatchObject({ nodeUrl: 'http://10.0.0.1:3001' })
})

test('SWARM_VOLUME_OPTIONS is parsed as key=value pairs of a driver', () => {
  const SWARM_VOLUME_OPTIONS = 'type=nfs;o=addr=10.0.0.5,rw,nfsvers=4;device=:/agents/{volume}'
  const { volumeDriver } = readConfig({ SWARM_VOLUME_DRIVER: 'local', SWARM_VOLUME_OPTIONS }).agents
  const options = { type: 'nfs', o: 'addr=10.0.0.5,rw,nfsvers=4', device: ':/agents/{volume}' }
  expect(volumeDriver).toEqual({ name: 'local', options })
  expect(() => readConfig({ SWARM_VOLUME_OPTIONS })).toThrow(/^SWARM_VOLUME_DRIVER: must be set beside/)
  expect(() => readConfig({ SWARM_VOLUME_DRIVER: 'local', SWARM_VOLUME_OPTIONS: 'nfs' })).toThrow(
    /^SWARM_VOLUME_OPTIONS: /,
  )
  expect(readConfig({ AGENT_SNAPSHOT_MINUTES: '0' }).agents.snapshotEveryMs).toBeNull()
})
