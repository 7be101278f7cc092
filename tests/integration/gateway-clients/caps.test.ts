import { describe, expect, test } from 'bun:test'
import { until } from '../../harness/until.ts'
import { readEvents } from '../../harness/wires/events.ts'
import { DIALECT_CLIENTS } from './dialect-clients.ts'
import { openGateway, VENDORS } from './installation.ts'

const PARALLEL = 100
const BUDGET_USD = 0.1
/** One response costs $0.00504, so the budget allows 19. */
const USAGE = { input: 20, output: 500 }
const FITTING = 19
/** Number of a stream event after the fourth text chunk in every dialect. */
const FAULTY_EVENT = 12

const CASES = DIALECT_CLIENTS.flatMap((client) =>
  VENDORS.filter(([, dialects]) => client.dialect !== 'chat' || dialects.length === 1).map(
    ([vendor, dialects]) => ({ client, vendor, dialects, name: client.path }) as const,
  ),
)

describe.each(CASES)('$name with $vendor', ({ client, dialects }) => {
  test.each([false, true])(
    `POST ${client.path}: ${PARALLEL} concurrent calls stay within a budget, stream %p`,
    async (stream) => {
      await using gateway = await openGateway(dialects, { monthlyBudgetUsd: BUDGET_USD })
      const { vendor } = gateway
      vendor.answerWith({ usage: USAGE })
      const calls = await Promise.all(
        Array.from({ length: PARALLEL }, async () => {
          const response = await gateway.post(client.path, { ...client.ask('Hi', 500), stream })
          if (response.ok) await response.text()
          else expect(client.isError(await response.json())).toBe(true)
          return response.status
        }),
      )
      const answered = calls.filter((status) => status === 200).length
      expect(answered).toBeGreaterThan(FITTING / 2)
      expect(answered).toBeLessThanOrEqual(FITTING)
      expect(calls.filter((status) => status === 429)).toHaveLength(PARALLEL - answered)
      expect(vendor.refused).toEqual([])
      expect(vendor.calls).toHaveLength(answered)
      expect(await gateway.recorded(answered)).toHaveLength(answered)
      const { key } = await gateway.usage()
      expect(key?.costUsd.used).toBeCloseTo(answered * 0.00504, 6)
      expect(key?.costUsd.used).toBeLessThanOrEqual(BUDGET_USD)
    },
    300_000,
  )

  test(`POST ${client.path}: a stream ends at the vendor and is recorded once when the client disconnects`, async () => {
    await using gateway = await openGateway(dialects)
    const { vendor } = gateway
    const pieces = Array.from({ length: 40 }, (_, index) => `piece ${index} `)
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    vendor.answerWith({ text: pieces, beforeEvent: async (index) => (index < 20 ? undefined : released) })
    const leaving = new AbortController()
    const response = await gateway.post(client.path, { ...client.ask('Hi', 500), stream: true }, leaving.signal)
    let text = ''
    for await (const { data } of readEvents(response)) {
      text += data
      if (text.includes('piece 3')) break
    }
    leaving.abort()
    expect(await vendor.calls[0]?.ended).toBe('aborted')
    release()
    const [call, ...others] = await gateway.recorded(1)
    expect(others).toEqual([])
    expect(call).toMatchObject({ succeeded: false, isEstimated: true })
    expect(call?.outputTokens).toBeGreaterThan(3)
    await vendor.calls[0]?.ended
    const again = await gateway.post(client.path, client.ask('Hi', 500))
    expect(again.status).toBe(200)
    await again.text()
    expect(await gateway.recorded(2)).toHaveLength(2)
  }, 300_000)

  test.each([
    { name: 'disconnects', fault: { cutAfterEvents: FAULTY_EVENT } },
    { name: 'sends an error', fault: { errorAfterEvents: FAULTY_EVENT } },
  ])(
    `POST ${client.path}: 200 with an error event, recorded, when the vendor $name during a stream`,
    async ({ fault }) => {
      await using gateway = await openGateway(dialects)
      const { vendor } = gateway
      const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
      const text = Array.from({ length: 40 }, (_, index) => `piece ${index} `)
      vendor.answerWith({ text, fault, beforeEvent: async (index) => (index < FAULTY_EVENT ? undefined : isRead) })
      const response = await gateway.post(client.path, { ...client.ask('Hi', 500), stream: true })
      expect(response.status).toBe(200)
      const events = []
      for await (const event of readEvents(response)) {
        events.push(event)
        if (event.data.includes('piece 3 ')) read()
      }
      const last = events.at(-1)
      expect([last, last && client.isErrorEvent(last)]).toEqual([last, true])
      const [call, ...others] = await gateway.recorded(1)
      expect(others).toEqual([])
      expect(call).toMatchObject({ succeeded: false, isEstimated: true })
      expect(call?.outputTokens).toBeGreaterThan(3)
      expect(call?.outputTokens).toBeLessThan(400)
    },
    300_000,
  )

  test(`POST ${client.path}: a call without a response ends at the vendor when the client disconnects`, async () => {
    await using gateway = await openGateway(dialects)
    const { vendor } = gateway
    vendor.answerWith({ fault: 'silence' })
    const leaving = new AbortController()
    const asking = gateway.post(client.path, client.ask('Hi', 500), leaving.signal).catch((error: unknown) => error)
    const call = await until('the call at the vendor', () => vendor.calls[0])
    leaving.abort()
    expect(await call.ended).toBe('aborted')
    await asking
    expect(await gateway.recorded(1)).toHaveLength(1)
  }, 300_000)
})
