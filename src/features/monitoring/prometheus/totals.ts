import { sql } from 'drizzle-orm'
import { Counter, Gauge, type Registry } from 'prom-client'
import { type MicroUsd, toUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'

type StateCount = { subject: 'agents' | 'jobs'; state: string; rows: number }
type UsageTotal = {
  provider: string
  calls: number
  inputTokens: number
  outputTokens: number
  costMicroUsd: MicroUsd
}
type LedgerTotal = { kind: string; currency: string; millionths: number }

const MILLION = 1_000_000

/** What `WATCHING_FIGURES` keeps: a few dozen rows, however large the database is. */
function readTotals(db: Db): { states: StateCount[]; usage: UsageTotal[]; ledger: LedgerTotal[] } {
  return { states: readStateCounts(db), usage: readUsageTotals(db), ledger: readLedgerTotals(db) }
}

function readUsageTotals(db: Db): UsageTotal[] {
  return db
    .select({
      provider: sql<string>`provider`,
      calls: sql<number>`calls`,
      inputTokens: sql<number>`input_tokens`,
      outputTokens: sql<number>`output_tokens`,
      costMicroUsd: sql<MicroUsd>`cost_micro_usd`,
    })
    .from(sql`usage_totals`)
    .all()
}

function readLedgerTotals(db: Db): LedgerTotal[] {
  return db
    .select({ kind: sql<string>`kind`, currency: sql<string>`currency`, millionths: sql<number>`balance` })
    .from(sql`ledger_totals`)
    .all()
}

/** How many agents and jobs there are in each state: a dozen rows that triggers keep. */
export function readStateCounts(db: Db): StateCount[] {
  return db
    .select({ subject: sql<StateCount['subject']>`subject`, state: sql<string>`state`, rows: sql<number>`rows` })
    .from(sql`state_counts`)
    .all()
}

/** Figures of the database. What is returned reads them anew. */
export function registerTotals(registry: Registry, db: Db): () => void {
  const setStates = registerStates(registry)
  const setUsage = registerUsage(registry)
  const setLedger = registerLedger(registry)
  return () => {
    const totals = readTotals(db)
    setStates(totals.states)
    setUsage(totals.usage)
    setLedger(totals.ledger)
  }
}

function registerLedger(registry: Registry) {
  const balance = new Gauge({
    name: 'stead_ledger_balance',
    help: 'What the accounts of a kind add up to, in whole units of their currency.',
    labelNames: ['account', 'currency'],
    registers: [registry],
  })
  return (ledger: readonly LedgerTotal[]) => {
    for (const { kind, currency, millionths } of ledger) balance.set({ account: kind, currency }, millionths / MILLION)
  }
}

function registerStates(registry: Registry) {
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames: ['state'], registers: [registry] })
  const gauges = {
    agents: gauge('stead_agents', 'Agents by state; down is one that should run and does not answer.'),
    jobs: gauge('stead_jobs', 'Durable work by state: queued waits, running is under way, dead was given up.'),
  }
  return (states: readonly StateCount[]) => {
    for (const { subject, state, rows } of states) gauges[subject].set({ state }, rows)
  }
}

function registerUsage(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames: ['provider', ...labelNames], registers: [registry] })
  const calls = counter('stead_model_calls_total', 'Calls of models, ever, by provider.')
  const tokens = counter(
    'stead_model_tokens_total',
    'Tokens of models, ever: input was read, output written.',
    'direction',
  )
  const cost = counter('stead_model_cost_usd_total', 'Known cost of calls of models, ever, in US dollars.')
  return (usage: readonly UsageTotal[]) => {
    // The database knows the whole sum: what was counted before is part of it.
    for (const counted of [calls, tokens, cost]) counted.reset()
    for (const { provider, ...total } of usage) {
      calls.inc({ provider }, total.calls)
      tokens.inc({ provider, direction: 'input' }, total.inputTokens)
      tokens.inc({ provider, direction: 'output' }, total.outputTokens)
      cost.inc({ provider }, toUsd(total.costMicroUsd))
    }
  }
}
