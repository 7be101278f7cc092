import { readFileSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { z } from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import type { ParserKind } from '../adapters/parsers/process.ts'
import { WORKSPACE_FOLDER } from '../adapters/runtimes/contract/agent-image.ts'
import { systemClock } from '../core/clock.ts'
import { errorMessage, StartupError } from '../core/errors.ts'
import { createLogOutput } from '../core/log/output.ts'
import { createLog, type Log } from '../core/log.ts'
import { describeFirstIssue, describeIssue } from '../core/settings/read.ts'
import { trimTrailing } from '../core/text/trim.ts'
import { addExample } from './example.ts'
import { UsageError } from './exit.ts'
import { listMisspelt } from './misspelt.ts'
import { firstSignal } from './signals.ts'

/** Just under the 30 s stop timeout of a container. */
export const STOP_GRACE_MS = 25_000
/** Time limits for the platform's response and for a turn of a built-in agent. */
export const PLATFORM_IDLE_MS = 100_000
export const MAX_TURN_MS = 600_000
const CHECK_MS = 4000
/** Intervals of channels: between connection attempts, and between edits of a streamed answer. */
const CHANNEL_RETRY_MS = 15_000
const CHANNEL_EDIT_EVERY_MS = 1200

/** Required settings; without them the agent is live but not ready. */
const REQUIRED = ['AGENT_MODEL', 'GATEWAY_TOKEN', 'PLATFORM_URL', 'PLATFORM_TOKEN'] as const

const Url = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .transform((text) => trimTrailing(text, '/'))

const Environment = z.object({
  PORT: z.coerce.number().int().min(0).max(65_535).default(18_789),
  HOST: z.string().default('127.0.0.1'),
  AGENT_ID: z.string().default('agent'),
  AGENT_NAME: z.string().max(200).default('Agent'),
  AGENT_MODEL: z.string().optional(),
  AGENT_DIR: z.string().default('./agent'),
  GATEWAY_TOKEN: z.string().optional(),
  PLATFORM_URL: Url.optional(),
  PLATFORM_TOKEN: z.string().optional(),
  EGRESS_PROXY: Url.optional(),
  EGRESS_TOKEN: z.string().optional(),
  AGENT_SOCKETS: z.string().optional(),
  TELEGRAM_TOKEN: z.string().optional(),
  TELEGRAM_API_URL: Url.default('https://api.telegram.org'),
  TELEGRAM_USER_ID: z.string().default(''),
  DISCORD_TOKEN: z.string().optional(),
  DISCORD_API_URL: Url.default('https://discord.com'),
  SLACK_BOT_TOKEN: z.string().optional(),
  SLACK_APP_TOKEN: z.string().optional(),
  SLACK_API_URL: Url.default('https://slack.com'),
  OWNER_IDS: z.string().default(''),
  AGENT_CONFINED: z.enum(['true', 'false']).default('false'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_FORMAT: z.enum(['pretty', 'json']).optional(),
})
const Complete = Environment.required({
  AGENT_MODEL: true,
  GATEWAY_TOKEN: true,
  PLATFORM_URL: true,
  PLATFORM_TOKEN: true,
})

type AgentOptions = {
  check?: boolean
  files?: string
  erase?: string
  makeFolder?: string
  state?: string
  parser?: string
}

/** Adds `agent`, which serves until SIGTERM or SIGINT. @throws StartupError from the action (exit code 78). */
export function agentCommand(program: Command): void {
  addExample(
    program.command('agent'),
    `PLATFORM_URL=http://127.0.0.1:3001 PLATFORM_TOKEN_FILE=token AGENT_MODEL=openai/gpt-4o-mini \\
  GATEWAY_TOKEN_FILE=gateway PORT=18789 AGENT_DIR=./agent stead agent`,
    'Without PLATFORM_URL, PLATFORM_TOKEN, AGENT_MODEL and GATEWAY_TOKEN it is live and not ready, and /readyz names them.',
  )
    .description('runs one built-in agent gateway in the foreground')
    .option('--check', 'exits with 0 when the agent on PORT of this machine answers, and with 1 when it does not')
    .addOption(new Option('--files <folder>').hideHelp())
    .addOption(new Option('--erase <folder>').hideHelp())
    .addOption(new Option('--make-folder <folder>').hideHelp())
    .addOption(new Option('--state <folder>').hideHelp())
    .addOption(new Option('--parser <kind>').hideHelp())
    .action(({ check, files, erase, makeFolder, state, parser }: AgentOptions) => {
      if (parser !== undefined) return parse(parser)
      if (files !== undefined) return serveFiles(files)
      if (erase !== undefined) return eraseFiles(erase)
      if (makeFolder !== undefined) return makeOwnFolder(makeFolder)
      if (state !== undefined) return serveStateFolder(state, process.env)
      return check ? checkAgent(process.env) : serveAgent(process.env)
    })
}

/**
 * Serves the files of `folder` over standard input and output until its input ends. The platform runs this in a
 * container with an agent's files.
 */
async function serveFiles(folder: string): Promise<void> {
  const { serveStandardStreams } = await import('../adapters/workspaces/server.ts')
  await serveStandardStreams({ base: folder, below: [WORKSPACE_FOLDER] })
  process.exit(0)
}

/** Deletes the content of `folder`. The platform runs this after an agent was deleted. */
async function eraseFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true })
  process.exit(0)
}

/** Creates `folder` for this user only. The platform runs this on a file server before an agent's first start. */
async function makeOwnFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  process.exit(0)
}

/** Serves `folder` until a signal. The platform runs this on the machine that has an agent's volume. */
async function serveStateFolder(folder: string, environment: Record<string, string | undefined>): Promise<void> {
  const { serveState, STATE_OWNER, STATE_TOKEN_HASH } = await import('../adapters/runtimes/swarm/state-server.ts')
  const { [STATE_TOKEN_HASH]: tokenHash = '', [STATE_OWNER]: owner = '' } = environment
  await serveState({ folder, tokenHash, owner })
  await firstSignal(STOP_GRACE_MS)
  process.exit(0)
}

const PARSERS = {
  git: async () => (await import('../adapters/git/parser.ts')).openParser,
  mail: async () => (await import('../adapters/mail/parser.ts')).openParser,
  pages: async () => (await import('../adapters/pages/parser.ts')).openParser,
  pdf: async () => (await import('../adapters/documents/parser.ts')).openParser,
  tokens: async () => (await import('../adapters/models/token-parser.ts')).openParser,
} as const satisfies Record<ParserKind, unknown>

/** Parses untrusted content until its input ends. The platform runs this as a child process. */
async function parse(kind: string): Promise<void> {
  const open = Object.entries(PARSERS).find(([name]) => name === kind)?.[1]
  if (!open) throw new UsageError(`there is no parser ${JSON.stringify(kind)}`)
  const { serveParser } = await import('../adapters/parsers/serve.ts')
  await serveParser(await open())
  process.exit(0)
}

/** Time limit of the container health check, below the engine's 5 s. */
async function checkAgent(environment: Record<string, string | undefined>): Promise<void> {
  const { PORT: port } = readEnvironment(environment)
  const isHealthy = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(CHECK_MS) }).then(
    (response) => response.ok,
    () => false,
  )
  process.exit(isHealthy ? 0 : 1)
}

async function serveAgent(environment: Record<string, string | undefined>): Promise<void> {
  const env = readEnvironment(environment)
  const log = createLog(env.LOG_LEVEL, createLogOutput(undefined, env.LOG_FORMAT))
  for (const sentence of listMisspelt(environment)) log.warn(sentence)
  const agent = await openAgent(env, log)
  log.info({ agentId: env.AGENT_ID, url: agent.url }, 'agent is listening')
  log.info({ signal: await firstSignal(STOP_GRACE_MS) }, 'agent is stopping')
  await agent.stop(STOP_GRACE_MS)
  process.exit(0)
}

/** Keeps a container without settings running and reports the problem, instead of restarting forever. */
async function openAgent(settings: z.infer<typeof Environment>, log: Log) {
  const missing = REQUIRED.filter((name) => settings[name] === undefined)
  if (missing.length > 0) {
    log.warn(`The agent waits for its settings: ${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} not set.`)
    const { startUnconfigured } = await import('../agent/unconfigured.ts')
    return startUnconfigured({ host: settings.HOST, port: settings.PORT }, missing, systemClock)
  }
  const env = Complete.parse(settings)
  const proxyVariables = await enterEgressProxy(env)
  const { serveAgent } = await import('../agent/server.ts')
  return serveAgent(
    {
      host: env.HOST,
      port: env.PORT,
      agentId: env.AGENT_ID,
      name: env.AGENT_NAME,
      model: env.AGENT_MODEL,
      version: manifest.version,
      folder: resolve(env.AGENT_DIR),
      gatewayToken: env.GATEWAY_TOKEN,
      platformUrl: env.PLATFORM_URL,
      platformToken: env.PLATFORM_TOKEN,
      idleMs: PLATFORM_IDLE_MS,
      maxTurnMs: MAX_TURN_MS,
      channels: toChannels(env, proxyVariables.HTTPS_PROXY),
      isConfined: env.AGENT_CONFINED === 'true',
      isSubreaper: true,
      proxyVariables,
    },
    { clock: systemClock, fetch, log },
  )
}

/**
 * Makes this process and its programs use the egress proxy; an agent without a network connects by sockets.
 * @returns the environment variables of programs.
 */
async function enterEgressProxy(env: z.infer<typeof Complete>): Promise<Record<string, string>> {
  const { EGRESS_PROXY: proxyUrl, EGRESS_TOKEN: token, AGENT_ID: agentId, PLATFORM_URL: platformUrl } = env
  if (proxyUrl === undefined || token === undefined) return {}
  const { toProxyVariables, routeWebSockets } = await import('../agent/network/proxy.ts')
  const variables = toProxyVariables({ proxyUrl, agentId, token, platformUrl })
  Object.assign(process.env, variables)
  routeWebSockets(variables.HTTPS_PROXY ?? '')
  if (env.AGENT_SOCKETS !== undefined) {
    const { openRelays } = await import('../agent/network/relays.ts')
    const localUrls = [env.TELEGRAM_API_URL, env.DISCORD_API_URL, env.SLACK_API_URL]
    const sockets = { folder: env.AGENT_SOCKETS, port: env.PORT, credentials: `${agentId}:${token}` }
    await openRelays({ ...sockets, platformUrl, proxyUrl, localUrls })
  }
  return variables
}

function toChannels(env: z.infer<typeof Complete>, proxyUrl: string | undefined) {
  const owners = toIds(env.OWNER_IDS)
  const toService = (token: string | undefined, apiUrl: string, people = owners) =>
    token === undefined ? undefined : { token, apiUrl, people }
  const slack = toService(env.SLACK_BOT_TOKEN, env.SLACK_API_URL)
  const onTelegram = toIds(`${env.TELEGRAM_USER_ID},${env.OWNER_IDS}`)
  return {
    telegram: toService(env.TELEGRAM_TOKEN, env.TELEGRAM_API_URL, onTelegram),
    discord: toService(env.DISCORD_TOKEN, env.DISCORD_API_URL),
    slack:
      slack && env.SLACK_APP_TOKEN !== undefined ? { ...slack, appToken: env.SLACK_APP_TOKEN, proxyUrl } : undefined,
    retryMs: CHANNEL_RETRY_MS,
    editEveryMs: CHANNEL_EDIT_EVERY_MS,
  }
}

/** Returns the distinct words of a list. */
function toIds(list: string): string[] {
  return [...new Set(list.split(',').map((id) => id.trim()))].filter(Boolean)
}

function readEnvironment(environment: Record<string, string | undefined>) {
  const given = {
    ...environment,
    GATEWAY_TOKEN: readSecret(environment, 'GATEWAY_TOKEN'),
    PLATFORM_TOKEN: readSecret(environment, 'PLATFORM_TOKEN'),
    EGRESS_TOKEN: readSecret(environment, 'EGRESS_TOKEN'),
    TELEGRAM_TOKEN: readSecret(environment, 'TELEGRAM_TOKEN'),
    DISCORD_TOKEN: readSecret(environment, 'DISCORD_TOKEN'),
    SLACK_BOT_TOKEN: readSecret(environment, 'SLACK_BOT_TOKEN'),
    SLACK_APP_TOKEN: readSecret(environment, 'SLACK_APP_TOKEN'),
  }
  // Treats an empty variable as unset: shells and compose files cannot unset one.
  const values = Object.fromEntries(Object.entries(given).filter(([, value]) => value))
  const parsed = Environment.safeParse(values, { error: describeIssue })
  if (parsed.success) return parsed.data
  throw new StartupError(describeFirstIssue(parsed.error, values))
}

function readSecret(environment: Record<string, string | undefined>, name: string): string | undefined {
  const file = environment[`${name}_FILE`]
  if (!file) return environment[name]
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`${name}_FILE: cannot be read (${errorMessage(error)})`)
  }
}
