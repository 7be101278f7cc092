import { z } from 'zod'
import { CreatedKey } from '../../../src/features/accounts/keys/schemas.ts'
import { ChatTurn } from '../../../src/features/conversations/chat/schemas.ts'
import { Task } from '../../../src/features/conversations/scheduled-tasks/schemas.ts'
import { PASSWORD, type Person } from '../../harness/client.ts'
import { bearer, json } from '../../harness/requests.ts'
import { SERVICE_KEY } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

/** Interval between writes, unless too many are pending. */
const EVERY_MS = 10
const MAX_OPEN = 64
const PROBE_EVERY_MS = 50
const ANSWER_MS = 15_000
const PROBE_ANSWER_MS = 4000
/** Below the limit of 25 keys per user. */
const MAX_KEYS = 20
const PAUSE_MS = 200

const OneTurn = z.object({ turn: ChatTurn })

/** Acknowledged writes, and those that were only sent. */
export type Acknowledged = {
  writes: number
  emails: string[]
  generations: string[]
  keys: Set<string>
  deletedKeys: Set<string>
  /** The numbers of the last acknowledged and the last sent probe. */
  probe: { acknowledged: number; sent: number }
  payments: { key: string; recipient: string }[]
  turns: number
}

export type Load = {
  acknowledged: Acknowledged
  /** Returns the milliseconds from `sinceMs` until the first acknowledgement of a write sent after it. */
  untilWritten(sinceMs: number): Promise<number>
  stop(): Promise<void>
}

type LoadParts = { web: string; backend: string; people: readonly Person[]; payer: Person; agentId: string }

/** Sends about 100 writes of all kinds per second through the load balancer until it is stopped. */
export async function startLoad(parts: LoadParts): Promise<Load> {
  const acknowledged: Acknowledged = {
    ...{ writes: 0, emails: [], generations: [], keys: new Set(), deletedKeys: new Set() },
    ...{ probe: { acknowledged: 0, sent: 0 }, payments: [], turns: 0 },
  }
  const task = await createProbe(parts)
  let isStopped = false
  const open = new Set<Promise<unknown>>()
  const answers: { sentAtMs: number; answeredAtMs: number }[] = []
  const begin = (work: () => Promise<boolean>) => {
    const sentAtMs = performance.now()
    const running = work()
      .then(
        (isDone) => {
          if (!isDone) return
          acknowledged.writes++
          answers.push({ sentAtMs, answeredAtMs: performance.now() })
          if (answers.length > 1000) answers.shift()
        },
        // An unanswered request is not acknowledged.
        () => undefined,
      )
      .finally(() => open.delete(running))
    open.add(running)
  }
  let turn = 0
  const writing = setInterval(() => {
    if (open.size < MAX_OPEN) begin(() => writeOne(parts, acknowledged, turn++))
  }, EVERY_MS)
  const probing = setInterval(() => begin(() => probe(parts, task, acknowledged)), PROBE_EVERY_MS)
  const turns = keepAsking(parts, acknowledged, () => isStopped)
  return {
    acknowledged,
    async untilWritten(sinceMs) {
      const found = await until('an acknowledged write', () => answers.find(({ sentAtMs }) => sentAtMs > sinceMs))
      return found.answeredAtMs - sinceMs
    },
    async stop() {
      isStopped = true
      clearInterval(writing)
      clearInterval(probing)
      await turns
      while (open.size > 0) await Promise.all(open)
    },
  }
}

/** Of 20 writes, one is a registration, one a payment, six are chats, and twelve create or delete keys. */
async function writeOne(parts: LoadParts, acknowledged: Acknowledged, turn: number): Promise<boolean> {
  const kind = turn % 20
  if (kind === 0) return signUp(parts, acknowledged, turn)
  if (kind === 1) return pay(parts, acknowledged, turn)
  if (kind % 3 === 0) return complete(parts, acknowledged)
  const person = parts.people[turn % parts.people.length]
  return person ? changeKeys(person, acknowledged) : false
}

async function signUp({ web }: LoadParts, { emails }: Acknowledged, turn: number): Promise<boolean> {
  const email = `new-${turn}@example.com`
  // Each account has its own address, because each network may create only a few per day.
  const from = { 'x-forwarded-for': `11.${(turn >> 16) & 255}.${(turn >> 8) & 255}.${turn & 255}` }
  const response = await send(`${web}/api/register`, json('POST', { email, password: PASSWORD, name: 'Ada' }, from))
  if (response.ok) emails.push(email)
  return response.ok
}

/** Sends a dollar to a new address, repeating the order with its idempotency key until it is accepted. */
async function pay({ web, payer }: LoadParts, { payments }: Acknowledged, turn: number): Promise<boolean> {
  const recipient = `0x${(1_000_000 + turn).toString(16).padStart(40, 'b')}`
  const key = `payment-${turn}`
  payments.push({ key, recipient })
  const headers = { ...payer.cookie, 'idempotency-key': key }
  return repeat(() => send(`${web}/api/wallet/send`, json('POST', { recipient, amount: 1 }, headers)))
}

async function complete({ backend }: LoadParts, { generations }: Acknowledged): Promise<boolean> {
  const headers = {
    ...bearer(SERVICE_KEY),
    ...{ 'x-user-id': 'customer', 'x-user-plan': 'network', 'x-billing-subscription-id': 'sub_1' },
  }
  const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] }
  const response = await send(`${backend}/v1/chat/completions`, json('POST', body, headers))
  await response.text()
  if (response.ok) generations.push(response.headers.get('x-generation-id') ?? '')
  return response.ok
}

const keysOf = new WeakMap<Person, string[]>()

async function changeKeys(person: Person, { keys, deletedKeys }: Acknowledged): Promise<boolean> {
  const own = keysOf.get(person) ?? []
  keysOf.set(person, own)
  const oldest = own.length >= MAX_KEYS ? own.shift() : undefined
  if (oldest !== undefined) keys.delete(oldest)
  const response = oldest
    ? await send(`${person.web}/api/keys/${oldest}`, { method: 'DELETE', headers: person.cookie })
    : await send(`${person.web}/api/keys`, json('POST', { name: 'k' }, person.cookie))
  const body: unknown = await response.json()
  if (!response.ok) return false
  if (oldest) deletedKeys.add(oldest)
  else {
    const { id } = CreatedKey.parse(body)
    keys.add(id)
    own.push(id)
  }
  return true
}

async function createProbe({ payer, agentId }: LoadParts): Promise<string> {
  const request = { name: 'Probe', agentId, cronSchedule: '0 0 1 1 *', prompt: 'Probe 0' }
  return Task.parse(await (await payer.post('/api/scheduled-tasks', request)).json()).id
}

/** Updates a schedule to the next number. */
async function probe({ web, payer }: LoadParts, taskId: string, { probe: numbers }: Acknowledged): Promise<boolean> {
  const number = ++numbers.sent
  const request = json('PUT', { taskId, prompt: `Probe ${number}` }, payer.cookie)
  const response = await send(`${web}/api/scheduled-tasks`, request, PROBE_ANSWER_MS)
  if (response.ok) numbers.acknowledged = Math.max(numbers.acknowledged, number)
  return response.ok
}

export const questionOf = (round: number) => `Question ${round}!`
export const answerOf = (round: number) => `This is the whole answer to question ${round}.`

/** Sends the agent one message after another, each with an idempotency key until it is accepted. */
async function keepAsking(
  { web, payer, agentId }: LoadParts,
  acknowledged: Acknowledged,
  isStopped: () => boolean,
): Promise<void> {
  for (let round = 1; !isStopped(); round++) {
    const body = { agentId, message: questionOf(round) }
    const headers = { ...payer.cookie, 'idempotency-key': `question-${round}`, prefer: 'respond-async' }
    const id = await until(`question ${round} to be accepted`, async () => {
      const response = await send(`${web}/api/chat`, json('POST', body, headers)).catch(() => null)
      return response?.status === 202 ? OneTurn.parse(await response.json()).turn.id : null
    })
    acknowledged.turns = round
    await until(`the end of question ${round}`, async () => {
      const request = { headers: { ...payer.cookie } }
      const response = await send(`${web}/api/chat/turns/${id}`, request).catch(() => null)
      const found = response?.ok ? OneTurn.safeParse(await response.json()) : null
      return found?.success && found.data.turn.state !== 'running'
    })
    await Bun.sleep(PAUSE_MS)
  }
}

async function repeat(attempt: () => Promise<Response>): Promise<boolean> {
  return until('an accepted order', async () => {
    const response = await attempt().catch(() => null)
    await response?.body?.cancel()
    if (!response?.ok) await Bun.sleep(PAUSE_MS)
    return response?.ok
  })
}

function send(url: string, request: RequestInit, timeoutMs = ANSWER_MS): Promise<Response> {
  return fetch(url, { ...request, signal: AbortSignal.timeout(timeoutMs) })
}
