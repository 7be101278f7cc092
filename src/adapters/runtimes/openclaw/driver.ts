import { type AgentDriver, toSecretFiles } from '../contract/agent-image.ts'
import type { AgentSpec } from '../contract/runtime.ts'
import start from './start.sh' with { type: 'text' }

/** The gateway's port inside every container. */
const OPENCLAW_PORT = 18_789
const STATE_DIR = '/home/node/.openclaw'
const MEGABYTE = 1024 ** 2
const AMPLE_BYTES = 3 * 1024 ** 3
/** From this version on OpenClaw needs twice the memory. */
const HUNGRY_SINCE = [2026, 9, 6]

/** OpenClaw as an agent: an image labelled `agent-platform.runtime=openclaw`, built by `scripts/openclaw-image.sh`. */
export const openClawDriver: AgentDriver = {
  kind: 'openclaw',
  stateDir: STATE_DIR,
  user: '1000:1000',
  port: OPENCLAW_PORT,
  entrypoint: ['/bin/sh', '-c', start],
  tmpfs: {
    '/tmp': 'rw,nosuid,nodev,noexec,size=128m,mode=1777',
    '/home/node': 'rw,nosuid,nodev,noexec,size=64m,mode=700,uid=1000,gid=1000',
  },
  repairFile: '.repair-requested',
  toInputs(spec, image) {
    const secrets = toSecretFiles(spec.secrets)
    const own = {
      STEAD_SETTINGS: JSON.stringify(toOpenClawConfig(spec)),
      OPENCLAW_NODE_FLAGS: toNodeFlags(spec, image.version),
      NO_COLOR: '1',
    }
    return { environment: { ...spec.environment, ...own, ...secrets.environment }, files: secrets.files }
  },
}

/**
 * Fits new versions into small containers: 846 MiB instead of 1,003 after two turns, for two thirds more CPU time at
 * the start.
 */
function toNodeFlags({ limits }: AgentSpec, version: string | null): string {
  if (limits.memoryBytes >= AMPLE_BYTES || !isHungry(version)) return ''
  const heapMegabytes = Math.floor(limits.memoryBytes / 2 / MEGABYTE)
  return `--optimize-for-size --max-semi-space-size=4 --max-old-space-size=${heapMegabytes}`
}

/** Treats an unreadable version as new. */
function isHungry(version: string | null): boolean {
  const parts = (version ?? '').split('.').map((part) => Number.parseInt(part, 10))
  for (const [index, since] of HUNGRY_SINCE.entries()) {
    const part = parts[index] ?? Number.NaN
    if (part !== since) return !(part < since)
  }
  return true
}

/** OpenClaw's name for this platform's `/v1`. */
const PROVIDER = 'platform'
const CONTEXT_WINDOW_TOKENS = 128_000
const MAX_OUTPUT_TOKENS = 8192
const MODEL_TIMEOUT_SECONDS = 120

/**
 * All clients share the platform's address, so the default lockout after ten failed logins would let a stranger lock
 * the platform out for five minutes. Tokens have 256 random bits, which cannot be guessed.
 */
const LOGIN_LIMIT = { maxAttempts: 1_000_000, windowMs: 60_000, lockoutMs: 1000 }

/** Maps a secret to the environment variable that the configuration refers to. */
const OPENCLAW_SECRETS: Readonly<Record<string, string>> = {
  GATEWAY_TOKEN: 'OPENCLAW_GATEWAY_TOKEN',
  PLATFORM_TOKEN: 'STEAD_PLATFORM_TOKEN',
  TELEGRAM_TOKEN: 'STEAD_TELEGRAM_TOKEN',
  DISCORD_TOKEN: 'STEAD_DISCORD_TOKEN',
}

type Settings = { [name: string]: unknown }

/**
 * Builds the platform's part of `openclaw.json` as a JSON merge patch (RFC 7396): null removes a value, and values that
 * are not named stay the agent's own. Secrets are written as `${NAME}`.
 */
function toOpenClawConfig(spec: AgentSpec): Settings {
  const { AGENT_MODEL: model = '', AGENT_PLAN: plan, AGENT_ORIGIN: origin } = spec.environment
  return {
    gateway: toGateway(origin),
    discovery: { mdns: { mode: 'off' } },
    update: { checkOnStart: false },
    telemetry: { enabled: false },
    plugins: {
      entries: {
        'admin-http-rpc': { enabled: true },
        // Disables nightly model calls.
        'memory-core': { config: { dreaming: { enabled: false } } },
      },
    },
    // Keep all memory in files that a reset clears: no transcript index and no archives.
    memory: { search: { provider: 'none', sources: ['memory'], rememberAcrossConversations: false } },
    session: { maintenance: { resetArchiveRetention: '1h' } },
    models: { mode: 'merge', providers: { [PROVIDER]: toProvider(spec, model) } },
    agents: {
      defaults: { model: { primary: `${PROVIDER}/${model}` }, heartbeat: { every: '0m' }, skipBootstrap: true },
    },
    tools: { profile: plan === 'solo' ? 'messaging' : 'coding', deny: ['browser', 'canvas'] },
    messages: { groupChat: { mentionPatterns: ['@agent', 'agent'] } },
    channels: toChannels(spec),
  }
}

/** Limits the gateway's pages to the agent's own origin. */
function toGateway(origin: string | undefined): Settings {
  return {
    mode: 'local',
    port: OPENCLAW_PORT,
    bind: 'lan',
    auth: { mode: 'token', token: named('GATEWAY_TOKEN'), rateLimit: LOGIN_LIMIT },
    controlUi: { allowedOrigins: origin ? [origin] : [] },
    http: { endpoints: { chatCompletions: { enabled: true }, responses: { enabled: true } } },
  }
}

function toProvider(spec: AgentSpec, model: string): Settings {
  return {
    baseUrl: `${spec.environment.PLATFORM_URL ?? ''}/v1`,
    apiKey: named('PLATFORM_TOKEN'),
    api: 'openai-completions',
    timeoutSeconds: MODEL_TIMEOUT_SECONDS,
    headers: { 'x-agent-id': spec.id },
    models: [toModel(model)],
  }
}

function toModel(id: string): Settings {
  return {
    id,
    name: id,
    reasoning: false,
    input: ['text'],
    contextWindow: CONTEXT_WINDOW_TOKENS,
    maxTokens: MAX_OUTPUT_TOKENS,
  }
}

/** Builds the channels: groups are ignored unless allowed, and direct messages come from owners or people they pair. */
function toChannels(spec: AgentSpec): Record<string, Settings | null> {
  const { OWNER_IDS = '', TELEGRAM_USER_ID = '' } = spec.environment
  const policy = (ownerIds: string[]) => ({
    enabled: true,
    groupPolicy: 'allowlist',
    ...(ownerIds.length > 0
      ? { dmPolicy: 'allowlist', allowFrom: ownerIds }
      : { dmPolicy: 'pairing', allowFrom: null }),
  })
  const owners = toIds(OWNER_IDS)
  const { TELEGRAM_TOKEN, DISCORD_TOKEN, WHATSAPP_TOKEN } = spec.secrets
  return {
    telegram: TELEGRAM_TOKEN
      ? {
          ...policy([...new Set([...owners, ...toIds(TELEGRAM_USER_ID)])]),
          botToken: named('TELEGRAM_TOKEN'),
          historyLimit: 50,
          streaming: { mode: 'partial' },
        }
      : null,
    discord: DISCORD_TOKEN
      ? { ...policy(owners), token: named('DISCORD_TOKEN'), historyLimit: 20, dm: { groupEnabled: false } }
      : null,
    whatsapp: WHATSAPP_TOKEN
      ? { ...policy(owners), sendReadReceipts: true, groups: { '*': { requireMention: true } } }
      : null,
  }
}

function toIds(text: string): string[] {
  return text
    .split(',')
    .map((id) => id.trim())
    .filter(Boolean)
}

/** Returns a reference that OpenClaw resolves when it reads the file and keeps when it writes it. */
function named(secret: string): string {
  return `\${${OPENCLAW_SECRETS[secret]}}`
}
