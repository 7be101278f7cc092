import { mkdir } from 'node:fs/promises'
import type { Client } from '@modelcontextprotocol/client'
import QuickLRU from 'quick-lru'
import {
  type McpCommand,
  McpCommands,
  type McpResult,
  type McpTool,
  toMcpResult,
  toMcpTools,
} from '../../core/agents/mcp.ts'
import { orLate } from '../../core/concurrency/race.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { sha256 } from '../../core/secrets.ts'
import { VERSION } from '../../core/version.ts'
import type { PlatformCall } from '../platform.ts'
import { type CommandPlaces, SEARCH_PATH } from './command-tools.ts'
import { createMcpTransport } from './mcp-transport.ts'

/** A server's launcher may have to download it first. */
const START_TIMEOUT_MS = 60_000
const CALL_TIMEOUT_MS = 60_000
/** Slower servers are available in a later turn. */
const TURN_WAIT_MS = 5000
const IDLE_MS = 5 * 60_000
/** Keeps a server that failed to start from being retried in every turn. */
const FAILED_FOR_MS = 60_000

/** MCP servers that this agent starts. Each runs while it is used and for some idle minutes. */
export type McpServers = {
  /** Lists the tools for a new turn; servers that do not answer are left out. */
  listForTurn(signal: AbortSignal): Promise<{ server: McpCommand; tools: McpTool[] }[]>
  /** @throws AppError `not_found`, `upstream_failed`, `upstream_timeout`. */
  listTools(name: string, signal: AbortSignal): Promise<McpTool[]>
  callTool(server: McpCommand | string, use: ToolUse, signal: AbortSignal): Promise<McpResult>
  /** Stops all other servers, each after its last call. */
  keepOnly(servers: readonly McpCommand[]): void
  close(): Promise<void>
}
type ToolUse = { tool: string; input: Record<string, unknown> }

/** `uses` counts running calls. A server that is `isLeft` takes no new calls and stops after the last one. */
type Conversation = { client: Client; tools: McpTool[]; uses: number; isLeft: boolean; idle?: Timer }

export function createMcpServers(places: CommandPlaces, call: PlatformCall): McpServers {
  const conversations = createConversations(places)
  const load = async (signal: AbortSignal) => (await call(McpCommands, { path: '/v1/mcp/commands', signal })).servers
  const find = async (name: string, signal: AbortSignal) => {
    const server = (await load(signal)).find((one) => one.name === name)
    if (!server) throw new AppError('not_found', `There is no MCP server ${name} here`)
    return server
  }
  return {
    async listForTurn(signal) {
      const enabled = (await load(signal)).filter((server) => server.enabled)
      conversations.keepOnly(enabled)
      const servers = enabled.filter((server) => !conversations.hasFailed(server))
      const listed = servers.map(async (server) => {
        const conversation = await orLate(conversations.begin(server), TURN_WAIT_MS, null).catch(() => null)
        const isAllowed = ({ name }: McpTool) => server.allowedTools === null || server.allowedTools.includes(name)
        return { server, tools: (conversation?.tools ?? []).filter(isAllowed) }
      })
      return Promise.all(listed)
    },
    listTools: async (name, signal) => (await conversations.begin(await find(name, signal))).tools,
    async callTool(which, { tool, input }, signal) {
      const server = typeof which === 'string' ? await find(which, signal) : which
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(CALL_TIMEOUT_MS)])
      return conversations.use(server, async ({ client }, leave) => {
        try {
          const options = { signal: bounded, timeout: CALL_TIMEOUT_MS }
          return toMcpResult(await client.callTool({ name: tool, arguments: input }, options))
        } catch (cause) {
          signal.throwIfAborted()
          // The server hangs: the next call starts another one, and running calls are not cut off.
          if (bounded.aborted) leave()
          throw toServerError(server.name, cause, bounded.aborted)
        }
      })
    },
    keepOnly: conversations.keepOnly,
    close: conversations.close,
  }
}

const MAX_FAILED = 100

/** Keeps the running servers; calls with the same settings share one. */
function createConversations(places: CommandPlaces) {
  const begun = new Map<string, Promise<Conversation>>()
  const failedUntil = new QuickLRU<string, number>({ maxSize: MAX_FAILED })

  const leave = async (key: string, conversation: Conversation) => {
    // `onclose` may arrive late, when another server already has this key.
    if (conversation.isLeft) return
    conversation.isLeft = true
    clearTimeout(conversation.idle)
    begun.delete(key)
    if (conversation.uses === 0) await conversation.client.close()
  }
  const rest = (key: string, conversation: Conversation) => {
    conversation.idle = setTimeout(() => void leave(key, conversation), IDLE_MS).unref()
  }
  const leaveWhenBegun = (key: string, starting: Promise<Conversation>) =>
    starting.then((conversation) => leave(key, conversation)).catch(() => undefined)
  const begin = (server: McpCommand): Promise<Conversation> => {
    const key = toKey(server)
    const known = begun.get(key)
    if (known) return known
    // Changed settings replace the server that runs with the former ones.
    for (const [other, former] of begun) {
      if (other.startsWith(`${server.name} `)) void leaveWhenBegun(other, former)
    }
    const starting = start(places, server)
    begun.set(key, starting)
    starting.then(
      (conversation) => {
        conversation.client.onclose = () => void leave(key, conversation)
        // Listing tools alone counts as no use.
        if (conversation.uses === 0 && !conversation.isLeft) rest(key, conversation)
      },
      () => {
        failedUntil.set(key, performance.now() + FAILED_FOR_MS)
        begun.delete(key)
      },
    )
    return starting
  }
  return {
    begin,
    hasFailed: (server: McpCommand) => (failedUntil.get(toKey(server)) ?? 0) > performance.now(),
    /** Runs `work` with the server, which then stays for some idle minutes; `leave` stops it after its last call. */
    async use<Answer>(server: McpCommand, work: (conversation: Conversation, leave: () => void) => Promise<Answer>) {
      const key = toKey(server)
      const conversation = await begin(server)
      conversation.uses += 1
      clearTimeout(conversation.idle)
      try {
        return await work(conversation, () => void leave(key, conversation))
      } finally {
        conversation.uses -= 1
        if (conversation.isLeft && conversation.uses === 0) await conversation.client.close()
        if (!conversation.isLeft && conversation.uses === 0) rest(key, conversation)
      }
    },
    keepOnly(servers: readonly McpCommand[]) {
      const kept = new Set(servers.map(toKey))
      for (const [key, starting] of begun) if (!kept.has(key)) void leaveWhenBegun(key, starting)
    },
    async close() {
      const running = await Promise.all([...begun.values()].map((starting) => starting.catch(() => null)))
      await Promise.all(running.map((conversation) => conversation?.client.close()))
    },
  }
}

/** Changed settings make a different server. */
function toKey({ name, command, args, environment }: McpCommand): string {
  return `${name} ${sha256(JSON.stringify([command, args, environment]))}`
}

/** @throws AppError `upstream_failed` with the last error output of the program, `upstream_timeout`. */
async function start(
  { home, proxyVariables, loadOrphanReaper }: CommandPlaces,
  server: McpCommand,
): Promise<Conversation> {
  await mkdir(home, { recursive: true, mode: 0o700 })
  const own = { PATH: SEARCH_PATH, HOME: home, TMPDIR: '/tmp', LANG: 'C.UTF-8' }
  const environment = { ...own, ...proxyVariables, ...server.environment }
  const { Client } = await import('@modelcontextprotocol/client')
  const client = new Client({ name: 'stead', version: VERSION })
  // Not in the workspace: some programs read settings from their working directory.
  const transport = createMcpTransport({
    ...toProgram(server, environment),
    folder: home,
    orphanReaper: await loadOrphanReaper(),
  })
  const time = AbortSignal.timeout(START_TIMEOUT_MS)
  try {
    await client.connect(transport, { signal: time, timeout: START_TIMEOUT_MS })
    const { tools } = await client.listTools(undefined, { signal: time, timeout: START_TIMEOUT_MS })
    return { client, tools: toMcpTools(tools), uses: 0, isLeft: false }
  } catch (cause) {
    await transport.close()
    const words = (await transport.lastWords()).trim()
    throw toServerError(server.name, words === '' ? cause : new Error(words, { cause }), time.aborted)
  }
}

/** This executable contains Bun, so `bun` needs no installation. */
function toProgram({ command, args }: McpCommand, environment: Record<string, string>) {
  if (command !== 'bun') return { cmd: [command, ...args], environment }
  return { cmd: [process.execPath, ...args], environment: { ...environment, BUN_BE_BUN: '1' } }
}

function toServerError(name: string, cause: unknown, isLate: boolean): AppError {
  if (isLate) return new AppError('upstream_timeout', `The MCP server ${name} did not answer in time`, {}, { cause })
  return new AppError('upstream_failed', `The MCP server ${name} failed: ${errorMessage(cause)}`, {}, { cause })
}
