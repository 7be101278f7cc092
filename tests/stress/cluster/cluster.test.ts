import { afterAll, describe, expect, test } from 'bun:test'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { openDatabase } from '../../../src/db/open.ts'
import { checkLedger } from '../../../src/features/payments/ledger/check.ts'
import { TOKEN_CODE } from '../../harness/chain/contract-code.ts'
import { startTestChain } from '../../harness/chain/test-chain.ts'
import { createAgent, PASSWORD, type Person } from '../../harness/client.ts'
import {
  type Answer,
  type ProviderDouble,
  type ProviderRequest,
  startProvider,
} from '../../harness/doubles/provider.ts'
import { tally } from '../../harness/killing.ts'
import { relayFrom } from '../../harness/machines/relay.ts'
import { fund, readToken, USDC } from '../../harness/paying-platform.ts'
import { json } from '../../harness/requests.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { addMigratedDatabase } from '../../harness/rows/migrated-file.ts'
import { addPeople } from '../../harness/rows/people.ts'
import type { Program } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import {
  listAccounts,
  listGenerations,
  readStatus,
  untilEqual,
  untilSameRows,
} from '../../integration/cluster/nodes.ts'
import { answerWithNote, expectAgentMoves, onSecondMachine } from './agent-move.ts'
import { type Acknowledged, answerOf, type Load, questionOf, startLoad } from './load.ts'
import { cutFrom, type MachineNode, type Machines, openMachines, toDatabaseFile, whyNoMachines } from './machines.ts'

/** Number of losses of each kind; without it the test is skipped: it takes at least ten minutes. */
const ROUNDS = roundsOf('CLUSTER_ROUNDS', 0)
const LIMIT_MS = 1_200_000 + ROUNDS * 600_000
/** Writes have to go on this soon after the loss of a node, and after a plain client of the database could write. */
const MAX_NODE_GAP_MS = 5000
const MAX_DATABASE_GAP_MS = 2000
/** Longer than the lease of 3 s. */
const OUTAGE_MS = 6000
const REFUSED_MS = 5000
const DOLLAR = 1_000_000n
const EVERY_MINUTE = 'Say something each minute.'

const reason = ROUNDS === 0 ? 'CLUSTER_ROUNDS is not set' : whyNoMachines()
if (reason !== null) console.warn(`The cluster on machines of its own is not tested: ${reason}.`)

type Stage = Machines & { load: Load; programs: Map<MachineNode, Program>; gaps: Record<string, number[]> }

describe.skipIf(reason !== null)('a cluster on machines of its own', () => {
  const stack = new AsyncDisposableStack()
  afterAll(() => stack.disposeAsync(), LIMIT_MS)

  test(
    `${ROUNDS} losses each of a node, the primary, the leader's database and its time: nothing acknowledged is lost`,
    async () => {
      const provider = stack.use(await startProvider(answer))
      const chain = stack.use(await startTestChain(8453))
      await chain.putCode(USDC, TOKEN_CODE)
      const machines = stack.use(
        await openMachines(async ({ hostAddress }) => ({
          OPENROUTER_API_KEY: 'sk-or-the-double-takes-any',
          OPENROUTER_BASE_URL: stack.use(await relayFrom(hostAddress, provider.baseUrl)).url,
          BASE_RPC_URL: stack.use(await relayFrom(hostAddress, chain.rpcUrl)).url,
          USDC_ADDRESS: USDC,
        })),
      )
      const { nodes, balancer } = machines
      const [first] = nodes
      if (!first) throw new Error('There is no node')
      await addMigratedDatabase(first.dataDir)
      const [payer, ...people] = addPeople(toDatabaseFile(first), balancer.web, 20)
      if (!payer) throw new Error('There is no account')
      makeAdmin(first, payer)
      const programs = new Map<MachineNode, Program>()
      for (const node of nodes) {
        programs.set(node, await node.start())
        await until(`a leader beside ${node.id}`, () => readLeader(node))
      }
      await until('a synchronous log', async () => (await readStatus(first)).log.synchronous)
      await until('the balancer', async () => (await fetch(`${balancer.web}/api/auth/providers`)).ok)
      const { address } = z
        .object({ address: z.string() })
        .parse(await (await payer.post('/api/wallet', { action: 'create' })).json())
      await fund(chain, USDC, address, 1_000_000n * DOLLAR)
      const agentId = await onSecondMachine(machines, () => createAgent(payer, { model: 'openai/gpt-4o-mini' }))
      for (const { backend } of nodes) {
        expect(await (await fetch(`${backend}/health`)).json()).toMatchObject({ status: 'ok', docker: 'available' })
      }
      await payer.post('/api/scheduled-tasks', {
        name: 'Often',
        agentId,
        cronSchedule: '* * * * *',
        prompt: EVERY_MINUTE,
      })

      const startedAt = performance.now()
      const load = await startLoad({ ...balancer, people, payer, agentId })
      const stage: Stage = { ...machines, load, programs, gaps: {} }
      stack.defer(() => printClusterLines(programs))
      for (let round = 1; round <= ROUNDS; round++) {
        for (const [name, lose] of Object.entries(LOSSES)) {
          await Bun.sleep(2000 + Math.random() * 4000)
          const gapMs = await lose(stage)
          stage.gaps[name] = [...(stage.gaps[name] ?? []), Math.round(gapMs)]
          console.info(`round ${round}, ${name}: ${Math.round(gapMs)} ms`)
          await untilWhole(stage)
        }
      }
      await load.stop()
      const seconds = (performance.now() - startedAt) / 1000
      await untilEqual(nodes)
      const [one, two] = nodes
      if (one && two) await untilSameRows(one, two)
      for (const node of nodes) expectAcknowledged(node, load.acknowledged)
      const turns = expectTurns(first, provider, load.acknowledged.turns)
      expectRuns(first)
      for (const node of nodes) await expectNoDifference(node, programs)
      const movedMs = await expectAgentMoves(machines, payer, provider, agentId)
      console.info(`the machine of the agent is lost: it answers on the other one after ${movedMs} ms`)
      for (const program of programs.values()) await program.stop()
      await expectPaid(first, load.acknowledged, (recipient) => readToken(chain, USDC, recipient))
      for (const node of nodes) expectBalanced(node)
      report(load.acknowledged, turns, stage.gaps, seconds)
      expectShort(stage.gaps)
    },
    LIMIT_MS,
  )
})

/** Each returns the time without a write: for the database, how much longer than for a client of its own. */
const LOSSES: Record<string, (stage: Stage) => Promise<number>> = {
  async 'a node is killed'(stage) {
    const leader = await findLeader(stage)
    const killedAt = performance.now()
    await stage.programs.get(leader)?.kill()
    const gapMs = await stage.load.untilWritten(killedAt)
    stage.programs.set(leader, await leader.start())
    return gapMs
  },

  async 'the primary is killed'({ databases, load, gaps }) {
    const primary = await databases.getPrimary()
    const killedAt = performance.now()
    await primary.kill()
    const plain = until('a plain write', () =>
      databases.write().then(
        () => true,
        () => false,
      ),
    ).then(() => performance.now() - killedAt)
    const [ownMs, gapMs] = await Promise.all([plain, load.untilWritten(killedAt)])
    gaps['a plain client of the database'] = [...(gaps['a plain client of the database'] ?? []), Math.round(ownMs)]
    console.info(`a plain client of the database: ${Math.round(ownMs)} ms`)
    primary.start()
    return gapMs
  },

  async 'the leader is cut from the database'(stage) {
    const leader = await findLeader(stage)
    const cutAt = performance.now()
    const heal = cutFrom(leader.machine, stage.databases.machines)
    try {
      const gapMs = await stage.load.untilWritten(cutAt)
      const sentAt = performance.now()
      const account = { email: 'cut@example.com', password: PASSWORD, name: 'Ada' }
      const refused = await fetch(`${leader.web}/api/register`, json('POST', account))
      expect([503, performance.now() - sentAt < REFUSED_MS]).toEqual([refused.status, true])
      expect((await fetch(`${leader.web}/api/auth/providers`)).status).toBe(200)
      await Bun.sleep(Math.max(0, OUTAGE_MS - (performance.now() - cutAt)))
      return gapMs
    } finally {
      heal()
    }
  },

  async 'the leader is paused'(stage) {
    const leader = await findLeader(stage)
    const pid = stage.programs.get(leader)?.pid ?? 0
    const pausedAt = performance.now()
    process.kill(pid, 'SIGSTOP')
    try {
      const gapMs = await stage.load.untilWritten(pausedAt)
      await Bun.sleep(Math.max(0, OUTAGE_MS - (performance.now() - pausedAt)))
      return gapMs
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  },
}

/** Prints what the nodes logged about the cluster, without its requests. */
function printClusterLines(programs: Map<MachineNode, Program>): void {
  for (const [{ id }, { lines }] of programs) {
    const found = lines.filter((line) => /role|answers again|snapshot|differ/.test(line) && !line.includes('requestId'))
    console.info([`${id}:`, ...found.slice(-30).map((line) => line.slice(0, 200))].join('\n  '))
  }
}

/** Administrators need no subscription. */
function makeAdmin(node: MachineNode, { email }: Person): void {
  const sqlite = new Database(toDatabaseFile(node))
  sqlite.prepare('UPDATE users SET is_admin = 1 WHERE email = ?').run(email)
  sqlite.close()
}

function answer(request: ProviderRequest): Answer {
  const round = Number(/Question (\d+)!/.exec(JSON.stringify(request.body.messages.at(-1)))?.[1])
  return round > 0 ? { text: answerOf(round).split(/(?<= )/) } : (answerWithNote(request) ?? { text: 'Noted.' })
}

async function readLeader(node: MachineNode): Promise<string | null> {
  return readStatus(node).then(
    ({ leader }) => leader,
    () => null,
  )
}

async function findLeader({ nodes }: Stage): Promise<MachineNode> {
  return until('a leader', async () => {
    const [first] = nodes
    const id = first && (await readLeader(first))
    return nodes.find((node) => node.id === id)
  })
}

/** Both nodes follow the log, which is synchronous. */
async function untilWhole({ nodes, databases, load }: Stage): Promise<void> {
  await databases.untilWhole()
  for (const node of nodes) {
    await until(`${node.id} is up to date`, async () => {
      const status = await readStatus(node).catch(() => null)
      const present = status?.nodes.filter(({ role }) => role !== 'gone') ?? []
      return status?.log.synchronous && present.length === nodes.length && present.every(({ lag }) => lag < 200)
    })
  }
  await load.untilWritten(performance.now())
}

function expectAcknowledged(node: MachineNode, { emails, generations, keys, deletedKeys, probe }: Acknowledged): void {
  const accounts = listAccounts(node)
  const recorded = listGenerations(node)
  const kept = new Set(query(node, 'SELECT id FROM api_keys').map(({ id }) => id))
  expect(emails.filter((email) => !accounts.has(email))).toEqual([])
  expect(generations.filter((id) => !recorded.has(id))).toEqual([])
  expect([...keys].filter((id) => !kept.has(id))).toEqual([])
  expect([...deletedKeys].filter((id) => kept.has(id))).toEqual([])
  const [row] = query(node, "SELECT prompt FROM scheduled_tasks WHERE name = 'Probe'")
  const number = Number(String(row?.prompt).replace('Probe ', ''))
  // Requests that were not answered may have been carried out, in any order.
  expect(number).toBeGreaterThan(0)
  expect(number).toBeLessThanOrEqual(probe.sent)
}

/**
 * Every question exists once and has one whole answer, or failed with a reason because it met a loss. An agent asks the
 * model again only when it lost the answer with a node. @returns the number of turns in each state.
 */
function expectTurns(node: MachineNode, provider: ProviderDouble, rounds: number): Record<string, number> {
  const rows = query(
    node,
    `SELECT question.content AS question, reply.content AS reply, turn.state, turn.restarts, turn.error
      FROM chat_turns AS turn JOIN messages AS question ON question.id = turn.question_id
      LEFT JOIN messages AS reply ON reply.id = turn.reply_id`,
  )
  const calls = provider.chats.map(({ body }) => JSON.stringify(body.messages.at(-1)))
  const states: string[] = []
  for (let round = 1; round <= rounds; round++) {
    const [turn, ...others] = rows.filter(({ question }) => question === questionOf(round))
    expect([round, others]).toEqual([round, []])
    if (turn?.state === 'done') expect(turn.reply).toBe(answerOf(round))
    else expect(turn).toMatchObject({ state: 'failed', error: expect.stringMatching(/./) })
    const asked = calls.filter((text) => text.includes(questionOf(round))).length
    states.push(String(turn?.state), ...(asked > 1 ? ['asked again'] : []))
  }
  return tally(states)
}

/** Each minute has at most one run, and each run one prompt. */
function expectRuns(node: MachineNode): void {
  const runs = query(node, "SELECT due_at, message_id FROM scheduled_runs WHERE trigger = 'schedule'")
  expect(runs.length).toBeGreaterThan(0)
  expect(new Set(runs.map(({ due_at }) => due_at)).size).toBe(runs.length)
  const prompts = query(node, `SELECT id FROM messages WHERE content = '${EVERY_MINUTE}'`)
  const sent = new Set(runs.map(({ message_id }) => message_id))
  expect(prompts.filter(({ id }) => !sent.has(id))).toEqual([])
}

/** The hourly comparisons, which are more frequent here, found no difference, and no file was replaced. */
async function expectNoDifference(node: MachineNode, programs: Map<MachineNode, Program>): Promise<void> {
  const metrics = await (await fetch(`${node.backend}/metrics`)).text()
  expect(metrics).not.toMatch(/comparisons_total\{result="different"\} [1-9]/)
  const lines = programs.get(node)?.lines ?? []
  expect(lines.filter((line) => /tables differ|another history|it is replaced/.test(line))).toEqual([])
}

/** Every accepted order was paid once, and no other. */
async function expectPaid(
  node: MachineNode,
  { payments }: Acknowledged,
  readBalance: (recipient: string) => Promise<bigint>,
): Promise<void> {
  const rows = query(node, 'SELECT recipient, status FROM wallet_payments')
  for (const { recipient } of payments) {
    const own = rows.filter((row) => row.recipient === recipient)
    expect([recipient, own.length]).toEqual([recipient, 1])
    expect([recipient, await readBalance(recipient)]).toEqual([recipient, own[0]?.status === 'succeeded' ? DOLLAR : 0n])
  }
}

function expectBalanced(node: MachineNode): void {
  const books = openDatabase(toDatabaseFile(node))
  expect(checkLedger(books.db).faults).toEqual([])
  books.close()
}

function query(node: MachineNode, text: string): Record<string, unknown>[] {
  const sqlite = new Database(toDatabaseFile(node), { readonly: true })
  try {
    return sqlite.prepare<[], Record<string, unknown>>(text).all()
  } finally {
    sqlite.close()
  }
}

function expectShort(gaps: Record<string, number[]>): void {
  expect(gaps['a node is killed']?.filter((gapMs) => gapMs > MAX_NODE_GAP_MS)).toEqual([])
  const own = gaps['a plain client of the database'] ?? []
  const more = gaps['the primary is killed']?.map((gapMs, index) => gapMs - (own[index] ?? 0))
  expect(more?.filter((gapMs) => gapMs > MAX_DATABASE_GAP_MS)).toEqual([])
}

function report(
  acknowledged: Acknowledged,
  turns: Record<string, number>,
  gaps: Record<string, number[]>,
  seconds: number,
): void {
  const { writes, emails, generations, payments } = acknowledged
  const counts = `${emails.length} sign-ups, ${generations.length} chats, ${payments.length} payments, turns ${JSON.stringify(turns)}`
  console.info(
    `${writes} acknowledged writes in ${Math.round(seconds)} s (${Math.round(writes / seconds)}/s): ${counts}; 0 lost`,
  )
  for (const [name, list] of Object.entries(gaps)) {
    console.info(`${name}: longest ${Math.max(...list)} ms of ${list.map((ms) => Math.round(ms)).join(', ')}`)
  }
}
