import { join } from 'node:path'
import type { AiProvider } from '../../adapters/models/provider.ts'
import { createTokenCounter, type TokenCounter } from '../../adapters/models/token-counter.ts'
import type { Config } from '../../core/config.ts'
import { isLogged } from '../../db/write.ts'
import { createExports } from '../../http/streams/exports.ts'
import type { openAccounts } from '../accounts/open.ts'
import type { Plan } from '../accounts/plans/plans.ts'
import type { openAgents } from '../agents/open.ts'
import type { Base } from '../base.ts'
import { createBreakers } from './breakers/breakers.ts'
import type { AskForMore } from './breakers/reach-limit.ts'
import { createCatalogue } from './catalogue/catalogue.ts'
import { createDemoBudget } from './demo/chat.ts'
import type { CachedAnswer } from './gateway/cached-completions.ts'
import { createCallerFinder } from './gateway/callers.ts'
import { createModelCheck } from './gateway/model-choice.ts'
import { createAiHealth, createServiceProviders } from './gateway/providers.ts'
import { createCooldowns, findDefaultFor } from './gateway/routing.ts'
import { toStoredBody } from './guardrails/stored-body.ts'
import { createOwnKeys, type OpenProvider } from './own-keys/own-keys.ts'
import { createPriceFinder } from './prices/prices.ts'
import { createBodyLog } from './requests/bodies.ts'
import { createResponseCache } from './response-cache/response-cache.ts'
import { createResponseStore } from './responses/store.ts'
import {
  createAgentSums,
  createDaySums,
  createEndUserSums,
  createKeySums,
  createQuota,
  createUserSums,
} from './usage/quota.ts'
import { createUsageRecorder } from './usage/recorder.ts'
import { createUnderWayFile, createUnderWayRows } from './usage/running-calls/under-way.ts'
import { createSpendings } from './usage/spend.ts'
import { createUsageSpool } from './usage/spool.ts'
import { createUsageWriter } from './usage/writer.ts'

type AiSettings = Pick<Config, 'ai' | 'dataDir' | 'internalApiKey'>

type ModelsNeeds = {
  /** Providers without a key, and the function that opens one with a key. */
  providers: AiProvider[]
  openProvider: OpenProvider
  /** Replaces the built-in token counter. */
  tokens?: TokenCounter
  /** Returns the system message that a higher domain adds to an agent's requests, or null. */
  instruct: (agentId: string) => string | null
  /** Asks an agent's owner for more of something today. */
  askForMore: AskForMore
}

type FromBelow = Pick<ReturnType<typeof openAccounts>, 'egress' | 'findUser' | 'rules' | 'verifyKey'> &
  Pick<ReturnType<typeof openAgents>, 'activity' | 'diskFloor'>

/** Creates the services of the AI domain. */
export function openAi(
  base: Base,
  settings: AiSettings,
  { egress, findUser, rules, verifyKey, activity, diskFloor }: FromBelow,
  { providers, openProvider, tokens = createTokenCounter(base), instruct, askForMore }: ModelsNeeds,
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
  const breakers = createBreakers({ db, clock, agentSums: bookkeeping.agentSums })
  const routes = { catalogue, aggregator: ai.aggregator, ownKeys }
  return {
    ...bookkeeping,
    breakers,
    instruct,
    askForMore,
    /** For new agents. */
    modelChoice: {
      findDefault: (plan: Plan, userId: string | null) => findDefaultFor(routes, plan, userId),
    },
    tokens,
    ownKeys,
    callers: createCallerFinder({
      ...{ db, clock, verifyKey, rules, ownKeys, findUser, internalApiKey, breakers, egress },
      touchAgent: activity.touch,
    }),
    serviceProviders,
    openProvider,
    catalogue,
    checkModel: createModelCheck({ catalogue, ownKeys, aggregator: ai.aggregator, providers: serviceProviders.all }),
    responseCache: createResponseCache<CachedAnswer>({ nowMs: () => performance.now() }),
    cooldowns: createCooldowns({ nowMs: () => performance.now() }),
    probeProviders: createAiHealth({ providers: serviceProviders.all, log }),
    demoBudget: createDemoBudget({ daySums: bookkeeping.daySums, dailyBudgetUsd: ai.demoDailyBudgetUsd }),
    exports: createExports(),
    responses: createResponseStore({ db, clock }),
    diskFloor,
  }
}

/** Creates the accounting of calls: reservations, usage records, and files for records that the database did not take. */
function openBookkeeping({ db, clock, log }: Base, dataDir: string) {
  const file = join(dataDir, 'usage-spool.jsonl')
  // With a log, another node records the calls of a lost leader.
  const underWay = isLogged(db) ? createUnderWayRows(db) : createUnderWayFile(join(dataDir, 'usage-under-way.jsonl'))
  const writer = createUsageWriter(db)
  const usageSpool = createUsageSpool({ file, underWay, writer, log })
  const userSums = createUserSums({ db, clock })
  const keySums = createKeySums({ db, clock })
  const endUserSums = createEndUserSums({ db, clock })
  const daySums = createDaySums({ db, clock })
  const agentSums = createAgentSums({ db, clock })
  const usage = createUsageRecorder({
    ...{ writer, spool: usageSpool, clock, log },
    ...{ userSums, keySums, endUserSums, daySums, agentSums },
  })
  const spendings = createSpendings({
    quota: createQuota({ userSums, keySums, endUserSums }),
    usage,
    underWay,
    log,
    clock,
    db,
  })
  return {
    userSums,
    keySums,
    daySums,
    agentSums,
    usage,
    usageSpool,
    spendings,
    bodyLog: createBodyLog({ db, clock, log }, toStoredBody),
  }
}
