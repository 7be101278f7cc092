import type { Network } from '../adapters/egress/egress.ts'
import type { AgentGateway } from '../adapters/gateways/gateway.ts'
import type { AiProvider } from '../adapters/models/provider.ts'
import type { TokenCounter } from '../adapters/models/token-counter.ts'
import type { Runtime } from '../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../adapters/runtimes/contract/runtimes.ts'
import type { Config } from '../core/config.ts'
import type { ShownSetting } from '../core/settings/show.ts'
import type { Connection, Tx } from '../db/open.ts'
import { createSendNotice } from '../features/accounts/notifications/send-notice.ts'
import type { PasswordCost } from '../features/accounts/passwords/passwords.ts'
import type { RunStead } from '../features/admin/backups/run-backup.ts'
import type { Cluster } from '../features/admin/cluster/schemas.ts'
import { createLogTail, type LogTail } from '../features/admin/logs/log-tail.ts'
import { takeOver } from '../features/admin/take-over/take-over.ts'
import type { OpenProvider } from '../features/ai/own-keys/own-keys.ts'
import { copyKeyUsage } from '../features/ai/usage/key-usage.ts'
import type { Base } from '../features/base.ts'
import { createAskForMore } from '../features/conversations/approvals/raise-limit.ts'
import { enqueueRevocations } from '../features/conversations/mcp-servers/revoke.ts'
import { createMemoryInstruction } from '../features/conversations/memory/read.ts'
import { clearMemory } from '../features/conversations/memory/save.ts'
import type { ExpositionDeps, UnderWay } from '../features/monitoring/prometheus/registry.ts'
import { createGrantCredits } from '../features/payments/ledger/credits.ts'
import { createClonePaymentPosting } from '../features/payments/ledger/post.ts'
import { createWallet } from '../features/payments/wallets/create.ts'
import type { ApiName } from '../http/env.ts'
import { createConfiguredBackupStore } from './backups/store.ts'
import { gatewayOf } from './standby.ts'

/** Parts that differ between the server, tests and CLI commands. */
export type PlatformParts = Pick<Base, 'clock' | 'log' | 'fetch'> & {
  config: Config
  connection: Connection
  encryptionKey: string
  /** Tests pass less than `PASSWORD_COST` to save time. */
  passwordCost: PasswordCost
  runtimes: Runtimes
  /** A standby server contacts, changes and creates no agents. */
  isStandby: boolean
  providers: AiProvider[]
  /** Replaces DNS and routing of what agents request, in tests. */
  agentNetwork?: Network
  /**
   * Addresses of the listeners; `urlForAgents` resolves to the backend API as seen from agents of a runtime, and
   * `proxyForAgents` to the egress proxy.
   */
  bound: {
    webUrl: string
    webPort: number
    urlForAgents: (runtime: Runtime) => Promise<string>
    proxyForAgents: (runtime: Runtime) => Promise<string>
    countUnderWay: () => Record<ApiName, UnderWay>
  }
  /** Opens a provider with a user's own key. */
  openProvider: OpenProvider
  /** Traces the turns of agents. */
  traceGateway?: ((gateway: AgentGateway) => AgentGateway) | null
  /** Runs a command of this program in a child process; null in tests. */
  runStead?: RunStead | null
  /** Effective settings, as administrators see them. */
  shownSettings?: readonly ShownSetting[]
  /** Latest log lines for administrators; empty by default. */
  logTail?: LogTail
  /** Replaces the platform's token counter. */
  tokens?: TokenCounter
  /** The cluster that this node belongs to; null for a single node. */
  cluster?: (Cluster & { measure: ExpositionDeps['measureCluster'] }) | null
}

/** Returns the callbacks by which lower domains cause effects in higher ones. */
export function createCallbacks(base: Base, parts: PlatformParts) {
  const { approvalExpiryMinutes } = parts.config
  const accounts = {
    takeOver: (tx: Tx, userId: string) => takeOver(tx, base, userId),
    copyKeyUsage,
    grantCredits: createGrantCredits(base),
  }
  const agents = {
    ...parts,
    ...parts.bound,
    gateway: parts.traceGateway?.(gatewayOf(parts)) ?? gatewayOf(parts),
    clearMemory,
    revokeAccess: (tx: Tx, agentId: string) => enqueueRevocations(base.enqueue, tx, agentId),
    bookClonePayment: createClonePaymentPosting(base),
    openAgentWallet: async (userId: string, agentId: string) => {
      const { wallet } = await createWallet(base, { userId, agentId })
      return wallet.address
    },
  }
  const sendNotice = createSendNotice(base)
  const ai = {
    ...parts,
    instruct: createMemoryInstruction(base.db),
    askForMore: createAskForMore({ clock: base.clock, sendNotice, approvalExpiryMinutes }),
  }
  return { accounts, agents, ai }
}

/** Returns the parts that the admin domain receives. */
export function toAdminParts({
  connection,
  config,
  isStandby,
  runStead,
  shownSettings,
  logTail,
  cluster,
}: PlatformParts) {
  return {
    connection,
    // A standby copy must not run commands.
    runStead: isStandby ? null : (runStead ?? null),
    openConfiguredBackupStore: (readPlace: () => string) => createConfiguredBackupStore(readPlace, config.backups),
    shownSettings: shownSettings ?? [],
    logTail: logTail ?? createLogTail(),
    cluster: cluster ?? null,
  }
}
