import { createSealer } from '../core/secrets.ts'
import type { Connection } from '../db/open.ts'
import { openAccounts } from '../features/accounts/open.ts'
import { openAdmin } from '../features/admin/open.ts'
import { openAgents } from '../features/agents/open.ts'
import { openAi } from '../features/ai/open.ts'
import type { Base } from '../features/base.ts'
import { openConversations } from '../features/conversations/open.ts'
import { countQuestions } from '../features/monitoring/metrics/queries.ts'
import { openMonitoring } from '../features/monitoring/open.ts'
import { openPayments } from '../features/payments/open.ts'
import { openWebTools } from '../features/web-tools/open.ts'
import { createJobQueue } from '../jobs/queue.ts'
import { createCallbacks, type PlatformParts, toAdminParts } from './platform-parts.ts'
import { refuseAgentJobs } from './standby.ts'

export type Platform = ReturnType<typeof openPlatform>

/**
 * Opens the domains in dependency order. Each domain takes the named parts of the domains below it and adds its own; effects
 * in a higher domain are passed down as callbacks. Closing the platform closes the database.
 */
export function openPlatform(parts: PlatformParts) {
  const { clock, log, fetch, connection, passwordCost, isStandby, bound } = parts
  const { db } = connection
  const queue = createJobQueue({ db, clock, log })
  const enqueue = isStandby ? refuseAgentJobs(queue.enqueue) : queue.enqueue
  const base: Base = { db, clock, log, sealer: createSealer(parts.encryptionKey), enqueue, fetch }
  const settings = { ...parts.config, passwordCost, appUrl: parts.config.appUrl ?? bound.webUrl }

  const callbacks = createCallbacks(base, parts)
  const accounts = { ...base, ...openAccounts(base, settings, callbacks.accounts) }
  const agents = {
    ...base,
    ...pick(accounts, ACCOUNTS_FOR_AGENTS),
    ...openAgents(base, settings, accounts, callbacks.agents),
  }
  const ai = {
    ...base,
    ...pick(accounts, ACCOUNTS_FOR_AI),
    aggregator: agents.aggregator,
    ...openAi(
      base,
      settings,
      { ...pick(accounts, CALLER_PARTS), activity: agents.activity, diskFloor: agents.diskFloor },
      callbacks.ai,
    ),
  }
  const payments = {
    ...base,
    ...pick(accounts, ACCOUNTS_FOR_PAYMENTS),
    ...pick(agents, AGENTS_FOR_PAYMENTS),
    ...pick(ai, AI_FOR_PAYMENTS),
    ...openPayments(base, settings, { countQuestions: (agentIds) => countQuestions(db, agentIds), isStandby }),
  }
  const conversations = {
    ...base,
    ...pick(accounts, ACCOUNTS_FOR_CONVERSATIONS),
    ...pick(agents, AGENTS_FOR_CONVERSATIONS),
    ...pick(ai, AI_FOR_CONVERSATIONS),
    approvalExpiryMinutes: payments.approvalExpiryMinutes,
    ...openConversations(base, settings, {
      gateway: agents.gateway,
      egress: accounts.egress,
      egressOf: agents.egressEnforcement.egressOf,
    }),
  }
  const webTools = {
    ...base,
    ...pick(accounts, ACCOUNTS_FOR_WEB_TOOLS),
    ...pick(agents, AGENTS_FOR_WEB_TOOLS),
    ...pick(ai, ['callers', 'spendings']),
    webhooks: conversations.webhooks,
    ...openWebTools(base, settings, accounts),
  }
  const monitoring = {
    ...base,
    ...pick(accounts, ACCOUNTS_FOR_MONITORING),
    ...pick(agents, AGENTS_FOR_MONITORING),
    ...pick(payments, ['plansArePaid', 'tokenChains']),
    usage: ai.usage,
    turns: conversations.turns,
    ...pick(webTools, ['browseRoot', 'git', 'workspaceLinks']),
    ...openMonitoring(
      { ...base, egressCounts: agents.egressEnforcement.counts },
      settings,
      { ...pick(agents, ['diskFloor', 'runtimes']), turns: conversations.turns },
      { countUnderWay: bound.countUnderWay, measureCluster: () => parts.cluster?.measure() ?? null },
    ),
  }
  const admin = {
    ...base,
    ...pick(accounts, ACCOUNTS_FOR_ADMIN),
    ...pick(agents, ['diskFloor', 'imageRules', 'runtimes']),
    ...pick(ai, AI_FOR_ADMIN),
    ...pick(monitoring, ['findFailing', 'measureDatabase', 'probeHost']),
    ...openAdmin(base, settings, { ...toAdminParts(parts), canRetry: queue.canRetry }),
  }

  const domains = { accounts, agents, ai, payments, conversations, webTools, monitoring, admin }
  return { ...domains, queue, close: () => closePlatform(domains, connection) }
}

function closePlatform(
  {
    agents,
    ai,
    conversations,
    webTools,
    monitoring,
  }: Pick<Platform, 'agents' | 'ai' | 'conversations' | 'webTools' | 'monitoring'>,
  connection: Connection,
): void {
  // Not awaited: the database closes below. A server awaits the turns before this.
  void conversations.turns.close()
  const parsers = [webTools.pages, webTools.git, webTools.pdf, webTools.mailReader, ai.tokens]
  for (const part of [agents.changes, ...parsers, monitoring.exposition]) part.close()
  void webTools.workspaceLinks.close()
  agents.machineLinks.close()
  connection.close()
}

// The parts of lower domains that the features of a domain use.
const CALLER_PARTS = ['egress', 'findUser', 'rules', 'verifyKey'] as const
const ACCOUNTS_FOR_AGENTS = [
  ...CALLER_PARTS,
  'appUrl',
  'bodies',
  'chain',
  'guards',
  'idempotency',
  'internalKey',
  'notify',
  'requestsPerMinute',
  'sendNotice',
] as const
const ACCOUNTS_FOR_AI = [
  'guards',
  'internalKey',
  'plannedEndpoints',
  'requestsPerMinute',
  'rules',
  'sendNotice',
  'verifyKey',
] as const
const ACCOUNTS_FOR_PAYMENTS = [
  'appUrl',
  'chain',
  'egress',
  'findUser',
  'guards',
  'idempotency',
  'internalKey',
  'requestsPerMinute',
  'signUp',
] as const
const AGENTS_FOR_PAYMENTS = ['addresses', 'aggregator', 'egressEnforcement', 'gateway', 'isStandby', 'storage'] as const
const AI_FOR_PAYMENTS = [
  'callers',
  'catalogue',
  'cooldowns',
  'exports',
  'ownKeys',
  'bodyLog',
  'spendings',
  'tokens',
  'userSums',
] as const
const ACCOUNTS_FOR_CONVERSATIONS = [
  'appUrl',
  'egress',
  'findUser',
  'guards',
  'isHttps',
  'mailer',
  'openMessenger',
  'requestsPerMinute',
  'rules',
  'sendNotice',
] as const
const AGENTS_FOR_CONVERSATIONS = [
  'agentMail',
  'aggregator',
  'diskFloor',
  'egressSettings',
  'gateway',
  'liveStreams',
  'runtimes',
  'storage',
] as const
const AI_FOR_CONVERSATIONS = [
  'askForMore',
  'bodyLog',
  'callers',
  'catalogue',
  'cooldowns',
  'exports',
  'ownKeys',
  'spendings',
  'tokens',
] as const
const ACCOUNTS_FOR_WEB_TOOLS = [
  'appUrl',
  'egress',
  'guards',
  'internalKey',
  'plannedEndpoints',
  'requestsPerMinute',
  'tokenGate',
] as const
const AGENTS_FOR_WEB_TOOLS = [
  'agentMail',
  'agentsFolder',
  'egressEnforcement',
  'objects',
  'runtimes',
  'storage',
] as const
const ACCOUNTS_FOR_MONITORING = [
  'appUrl',
  'findUser',
  'guards',
  'internalKey',
  'requestsPerMinute',
  'sendNotice',
  'verifyKey',
] as const
const AGENTS_FOR_MONITORING = [
  'addresses',
  'agentLocks',
  'agentsFolder',
  'changes',
  'clonePayments',
  'gateway',
  'imageRules',
  'killSwitch',
  'liveStreams',
  'logViewers',
  'revokeAccess',
  'runtimes',
  'objects',
  'storage',
] as const
const ACCOUNTS_FOR_ADMIN = [
  'appUrl',
  'findUser',
  'guards',
  'isHttps',
  'mailOptions',
  'mailer',
  'passwords',
  'requestsPerMinute',
  'rules',
  'signUp',
  'sendNotice',
] as const
const AI_FOR_ADMIN = ['catalogue', 'exports', 'openProvider', 'ownKeys', 'serviceProviders', 'userSums'] as const

function pick<Parts extends object, Name extends keyof Parts>(parts: Parts, names: readonly Name[]): Pick<Parts, Name> {
  return Object.fromEntries(names.map((name) => [name, parts[name]])) as Pick<Parts, Name>
}
