import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { createAgentGateway } from '../../adapters/gateways/gateway.ts'
import type { AgentEndpoint } from '../../adapters/gateways/http.ts'
import type { AgentKind } from '../../adapters/runtimes/contract/runtime.ts'
import { AppError } from '../../core/errors.ts'
import { addExample } from '../example.ts'
import { UsageError } from '../exit.ts'
import { addMachineOptions, type Gateway, type MachineOptions, readSecret, readUrl, runMachine } from './machine.ts'

const PROBE_TIMEOUT_MS = 5000

type LinkOptions = MachineOptions & {
  url: string
  kind: string
  token?: string
  tokenFile?: string
  workspace?: string
}

/** Adds `link`, which registers a gateway that already runs. */
export function linkCommand(program: Command): void {
  addExample(
    addMachineOptions(program.command('link')),
    `stead link --url http://127.0.0.1:18789 --token-file ~/.openclaw/token \\
  --platform https://stead.example:3001 --code ABCD-EFGH`,
    `The gateway is asked for its health and readiness, with its token, before it is registered and before every heartbeat:
while it is not healthy the platform hears nothing, and after 15 minutes shows it as inactive.`,
  )
    .description('connects a gateway that already runs, such as OpenClaw’s, to a platform')
    .option('--url <url>', 'address of the gateway', 'http://127.0.0.1:18789')
    .option('--token <token>', 'its token; others can read it in a list of processes (GATEWAY_TOKEN)')
    .option('--token-file <file>', 'a file with its token (GATEWAY_TOKEN_FILE)')
    .option('--kind <kind>', 'its program: openclaw or stead', 'openclaw')
    .option('--workspace <folder>', 'the folder that the file pages of the platform show; default: none')
    .option('--dir <folder>', 'the credentials of its pairing', join(homedir(), '.stead', 'link'))
    .action((options: LinkOptions) => {
      const agentKind = readKind(options.kind)
      const open = () => openLink(options, agentKind)
      return runMachine(options, { mode: 'link', agentKind, checkOptions: open }, open)
    })
}

function readKind(text: string): AgentKind {
  if (text === 'openclaw' || text === 'stead') return text
  throw new UsageError(`--kind: must be openclaw or stead, not ${JSON.stringify(text)}`)
}

async function openLink(options: LinkOptions, kind: AgentKind): Promise<Gateway> {
  const baseUrl = readUrl('--url', options.url)
  const gatewayToken = readSecret(options.token, options.tokenFile, 'GATEWAY_TOKEN')
  if (!gatewayToken) throw new UsageError('--token-file: is required (or GATEWAY_TOKEN, GATEWAY_TOKEN_FILE, --token)')
  const endpoint: AgentEndpoint = { baseUrl, gatewayToken, kind }
  return {
    machine: { mode: 'link', agentKind: kind, gatewayUrl: baseUrl, gatewayToken },
    services: { log: null, files: options.workspace ? { base: resolve(options.workspace), below: [] } : null },
    check: (signal) => checkGateway(endpoint, signal),
    stop: async () => undefined,
  }
}

/** Checks the token. @throws AppError `unauthenticated` for a wrong one, `unavailable` when a retry may succeed. */
async function checkGateway(endpoint: AgentEndpoint, signal: AbortSignal): Promise<void> {
  const gateway = createAgentGateway({ fetch })
  if (!(await gateway.isLive(endpoint))) throw new AppError('unavailable', `No gateway answers at ${endpoint.baseUrl}`)
  await checkToken(endpoint, signal)
  const { ready, failing } = await gateway.readiness(endpoint)
  if (!ready) throw new AppError('unavailable', `The gateway is not ready: ${failing.join(', ') || 'no reason given'}`)
}

/**
 * Requests a session that does not exist: 404 with the right token, 401 with a wrong one. Health probes accept both.
 */
async function checkToken({ baseUrl, gatewayToken }: AgentEndpoint, signal: AbortSignal): Promise<void> {
  const response = await fetch(`${baseUrl}/sessions/stead-link-check/history?limit=1`, {
    headers: { authorization: `Bearer ${gatewayToken}` },
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]),
  }).catch((error) => {
    throw new AppError('unavailable', `No gateway answers at ${baseUrl}`, {}, { cause: error })
  })
  await response.body?.cancel()
  if (response.status === 401) throw new AppError('unauthenticated', 'The gateway refuses the token')
}
