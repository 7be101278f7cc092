import { dirname, join } from 'node:path'
import { createAttestations } from '../../adapters/chain/attestations.ts'
import { createEns } from '../../adapters/chain/ens.ts'
import { createTokenPayments } from '../../adapters/chain/token-payments.ts'
import { createTokenTrial } from '../../adapters/channels/try-tokens.ts'
import { createEgress, type Network } from '../../adapters/egress/egress.ts'
import type { AgentGateway } from '../../adapters/gateways/gateway.ts'
import { openObjects } from '../../adapters/objects/open-objects.ts'
import type { Runtime } from '../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../adapters/runtimes/contract/runtimes.ts'
import { createMachineRuntime } from '../../adapters/runtimes/machine/machine.ts'
import { withMachines } from '../../adapters/runtimes/machine/with-machines.ts'
import { createMachineLinks, type MachineLinks } from '../../adapters/tunnel/links.ts'
import type { Config } from '../../core/config.ts'
import { VERSION } from '../../core/version.ts'
import { createChangeFeed } from '../../db/changes.ts'
import type { Tx } from '../../db/open.ts'
import { createLiveStreams } from '../../http/streams/sse.ts'
import type { SendNotice } from '../accounts/notifications/send-notice.ts'
import type { openAccounts } from '../accounts/open.ts'
import type { Base } from '../base.ts'
import type { BookClonePayment, OpenAgentWallet } from './cloning/clone.ts'
import { createEgressEnforcement } from './egress/enforce.ts'
import { type EgressSettings, isPrivateAllowed } from './egress/policy.ts'
import { createMachineFinder, createTunnelRecorder } from './installations/tunnel-state.ts'
import { createLogViewers } from './logs/read.ts'
import { createImageRules } from './operations/images.ts'
import { createAgentLocks } from './operations/operations.ts'
import { createTokenCheck } from './registry/checks.ts'
import { createAgentActivity } from './sleep/sleep.ts'
import { createWaker, createWakingGateway } from './sleep/wake.ts'
import { createDiskFloor, createFreeDiskProbe } from './storage/disk.ts'
import { createStorageQuota } from './storage/quota.ts'
import { createSteadyClock } from './watchdog/record.ts'
import { toWatchdogSettings } from './watchdog/rules.ts'

type AgentsSettings = Pick<
  Config,
  | 'agentMail'
  | 'agents'
  | 'agentsDomain'
  | 'ai'
  | 'baseRpcUrl'
  | 'clone'
  | 'dataDir'
  | 'databaseFile'
  | 'minFreeDiskBytes'
  | 'objects'
  | 'ports'
  | 'siweChainId'
  | 'verification'
  | 'watchdog'
>

/** Opens the tunnels of users' machines and the runtime that reaches agents through them. */
function openMachines(
  base: Base,
  options: { sendNotice: SendNotice; isStandby: boolean; ownRuntimes: Runtimes },
): { machineLinks: MachineLinks; runtimes: Runtimes } {
  const { sendNotice, isStandby, ownRuntimes } = options
  const onChange = createTunnelRecorder({ ...base, sendNotice }, () => machineLinks)
  const machineLinks: MachineLinks = createMachineLinks({ log: base.log, version: VERSION, onChange })
  const machines = createMachineRuntime({ links: machineLinks, findMachine: createMachineFinder(base.db) })
  return { machineLinks, runtimes: isStandby ? ownRuntimes : withMachines(ownRuntimes, machines) }
}

/** Parts of the server and of higher domains. */
type FromServer = {
  runtimes: Runtimes
  gateway: AgentGateway
  /** A standby instance speaks to no agent and provisions none. */
  isStandby: boolean
  webPort: number
  /** Returns the URL of the backend for the agents of a runtime. */
  urlForAgents: (runtime: Runtime) => Promise<string>
  /** Returns the URL of the egress proxy for the agents of a runtime, without credentials. */
  proxyForAgents: (runtime: Runtime) => Promise<string>
  /** Replaces DNS and routing of what agents request, in tests. */
  agentNetwork?: Network | undefined
  clearMemory: (tx: Tx, agentId: string) => void
  /** Queues the revocation of a deleted agent's tokens at other services. */
  revokeAccess: (tx: Tx, agentId: string) => void
  /** Records clone payments in the ledger. */
  bookClonePayment: BookClonePayment
  /** Returns the address of an agent's wallet, which it creates at the first call. */
  openAgentWallet: OpenAgentWallet
}

/** Opens the parts that features of agents share. */
export function openAgents(
  base: Base,
  settings: AgentsSettings,
  {
    isHttps,
    rules,
    mailer,
    sendNotice,
  }: Pick<ReturnType<typeof openAccounts>, 'isHttps' | 'rules' | 'mailer' | 'sendNotice'>,
  {
    runtimes: ownRuntimes,
    gateway,
    isStandby,
    webPort,
    urlForAgents,
    proxyForAgents,
    agentNetwork,
    clearMemory,
    revokeAccess,
    bookClonePayment,
    openAgentWallet,
  }: FromServer,
) {
  const { db, clock } = base
  const { agents, agentsDomain, ai, baseRpcUrl, dataDir, databaseFile, siweChainId, verification, watchdog } = settings
  const { telegram, discord, slack } = watchdog
  const channelUrls = { telegram: telegram.apiUrl, discord: discord.apiUrl, slack: slack.apiUrl }
  const addresses = { agentsDomain, isHttps, webPort }
  const imageRules = createImageRules(agents)
  const agentLocks = createAgentLocks()
  const activity = createAgentActivity(clock)
  const { machineLinks, runtimes } = openMachines(base, { sendNotice, isStandby, ownRuntimes })
  const reachable = { urlForAgents, proxyForAgents }
  const placing = { addresses, runtimes, ...reachable, imageRules, channelUrls, basePort: agents.basePort }
  const wake = createWaker({ ...base, ...placing, gateway, agentLocks })
  return {
    ...placing,
    ...{ machineLinks, version: VERSION, pairingCodeMinutes: agents.pairingCodeMinutes },
    ...openEgress(base, agents.egress, agentNetwork),
    backendPort: settings.ports.backend,
    clearMemory,
    revokeAccess,
    bookClonePayment,
    openAgentWallet,
    gateway: createWakingGateway(gateway, { ...base, activity, wake }),
    activity,
    wake,
    ...{ isStandby, sleepAfterMs: agents.sleepAfterMs, snapshotEveryMs: agents.snapshotEveryMs },
    killSwitch: agents.killSwitch || isStandby,
    checkTokens: createTokenCheck({ tryTokens: createTokenTrial(channelUrls, base.fetch), runtimes }),
    aggregator: ai.aggregator,
    aiProviderUrls: Object.fromEntries(ai.providers.map(({ id, baseUrl }) => [id, baseUrl])),
    agentMail: {
      ...settings.agentMail,
      get sends() {
        return mailer.isConfigured
      },
    },
    agentsFolder: join(dataDir, 'agents'),
    objects: openObjects(settings.objects),
    ...{ agentLocks, changes: createChangeFeed(db) },
    liveStreams: createLiveStreams(),
    logViewers: createLogViewers(clock),
    storage: createStorageQuota({ rules }),
    diskFloor: createDiskFloor(createFreeDiskProbe([dataDir, dirname(databaseFile)]), settings.minFreeDiskBytes),
    watchdog,
    watchdogSettings: toWatchdogSettings(watchdog),
    steady: createSteadyClock(clock),
    clonePayments: createTokenPayments(settings.clone),
    attestations: createAttestations({ rpcUrl: baseRpcUrl, chainId: siweChainId, easAddress: verification.easAddress }),
    ens: createEns({ rpcUrl: verification.ensRpcUrl }),
  }
}

/** Opens what agents request: by the proxy, and through the platform. Private addresses need the operator's permission. */
function openEgress(base: Base, egressSettings: EgressSettings, network: Network | undefined) {
  const mayBePrivate = (host: string, port: number) => isPrivateAllowed(egressSettings, host, port)
  const egress = createEgress({ allowPrivate: false, mayBePrivate, ...(network && { network }) })
  return {
    egressSettings,
    egressEnforcement: createEgressEnforcement({ ...base, egress, mayBePrivate }, egressSettings),
  }
}
