import { join } from 'node:path'
import type { AiProvider } from '../../adapters/models/provider.ts'
import { createTokenCounter, type TokenCounter } from '../../adapters/models/token-counter.ts'
import type { Config } from '../../core/config.ts'
import { createExports } from '../../http/streams/exports.ts'
import type { openAccounts } from '../accounts/open.ts'
import type { Plan } from '../accounts/plans/plans.ts'
import type { openAgents } from '../agents/open.ts'
import type { Base } from '../base.ts'
import { createBreakers } from './breakers/breakers.ts'
import { createDemoBudget } from './demo/budget.ts'
import { createCallerFinder } from './gateway/callers.ts'
import { createCatalogue } from './gateway/catalogue/catalogue.ts'
import { createAiHealth } from './gateway/health.ts'
import { createModelCheck } from './gateway/routing/check-model.ts'
import { createCooldowns } from './gateway/routing/cooldowns.ts'
import { findDefaultFor } from './gateway/routing/route.ts'
import { createServiceProviders } from './gateway/service-providers.ts'
import { createOwnKeys, type OpenProvider } from './own-keys/own-keys.ts'
import { createPriceFinder } from './prices/prices.ts'
import { createQuota } from './usage/quota.ts'
import { createUsageRecorder } from './usage/recording/record.ts'
import { createUsageWriter } from './usage/recording/save.ts'
import { createUsageSpool } from './usage/recording/spool.ts'
import { createUnderWayFile } from './usage/recording/under-way.ts'
import { createAgentSums, createDaySums, createKeySums, createUserSums } from './usage/running-sums.ts'
import { createSpendings } from './usage/spend.ts'

type AiSettings = Pick<Config, 'ai' | 'dataDir' | 'internalApiKey'>

type ModelsNeeds = {
  /** Who answers without a key, and what opens a provider with one: of the settings, of an administrator or of a user. */
  providers: AiProvider[]
  openProvider: OpenProvider
  /** In place of the platform's own counter. */
  tokens?: TokenCounter
  /** What a higher wing adds to what an agent asks; null for nothing. */
  instruct: (agentId: string) => string | null
}

type FromBelow = Pick<ReturnType<typeof openAccounts>, 'findUser' | 'rules' | 'verifyKey'> &
  Pick<ReturnType<typeof openAgents>, 'activity'>

/** Opens what the rooms of models share. */
export function openAi(
  base: Base,
  settings: AiSettings,
  { findUser, rules, verifyKey, activity }: FromBelow,
  { providers, openProvider, tokens = createTokenCounter(base), instruct }: ModelsNeeds,
) {
  const { db, clock, log } = base
  const { ai, dataDir, internalApiKey } = settings
  const serviceProviders = createServiceProviders({
    ...base,
    providers,
    known: ai.providers,
    custom: ai.customProviders,
    openProvider,
  })
  const ownKeys = createOwnKeys({ ...base, openProvider })
  const bookkeeping = openBookkeeping(base, dataDir)
  const catalogue = createCatalogue({
    ...{ providers: serviceProviders.all, aggregator: ai.aggregator, findSetPrice: createPriceFinder(db), log },
  })
  const breakers = createBreakers({ db, agentSums: bookkeeping.agentSums })
  const routes = { catalogue, aggregator: ai.aggregator, ownKeys }
  return {
    ...bookkeeping,
    breakers,
    instruct,
    /** For new agents. */
    modelChoice: {
      findDefault: (plan: Plan, userId: string | null) => findDefaultFor(routes, plan, userId),
    },
    tokens,
    ownKeys,
    callers: createCallerFinder({
      ...{ db, clock, verifyKey, rules, ownKeys, findUser, internalApiKey, breakers },
      touchAgent: activity.touch,
    }),
    serviceProviders,
    openProvider,
    catalogue,
    checkModel: createModelCheck({ catalogue, ownKeys, aggregator: ai.aggregator, providers: serviceProviders.all }),
    cooldowns: createCooldowns({ nowMs: () => performance.now() }),
    probeProviders: createAiHealth({ providers: serviceProviders.all, log }),
    demoBudget: createDemoBudget({ daySums: bookkeeping.daySums, dailyBudgetUsd: ai.demoDailyBudgetUsd }),
    exports: createExports(),
  }
}

/** What calls cost: set aside before they are made, booked after them, and kept in files where the database was not reached. */
function openBookkeeping({ db, clock, log }: Base, dataDir: string) {
  const file = join(dataDir, 'usage-spool.jsonl')
  const underWayFile = join(dataDir, 'usage-under-way.jsonl')
  const writer = createUsageWriter(db)
  const usageSpool = createUsageSpool({ file, underWayFile, writer, log })
  const userSums = createUserSums({ db, clock })
  const keySums = createKeySums({ db, clock })
  const daySums = createDaySums({ db, clock })
  const agentSums = createAgentSums({ db, clock })
  const usage = createUsageRecorder({ writer, spool: usageSpool, clock, log, userSums, keySums, daySums, agentSums })
  const spendings = createSpendings({
    quota: createQuota({ userSums, keySums }),
    usage,
    underWayFile: createUnderWayFile(underWayFile),
    clock,
  })
  return { userSums, keySums, daySums, agentSums, usage, usageSpool, spendings }
}
