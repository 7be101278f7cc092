import { z } from 'zod'
import { parseMicroUsd } from '../../../core/money.ts'
import { webUrl } from '../../../core/text/names.ts'

const required = (name: string, max: number) =>
  z
    .string(`${name} is required`)
    .trim()
    .min(1, `${name} is required`)
    .max(max, `${name} must be at most ${max} characters`)

/** An amount in USDC as decimal text; some clients send a number. */
export const amount = (name: string) => {
  const message = `${name} must be an amount in USDC with at most 6 decimal places`
  return z.union([z.string(message), z.number(message)], message).transform((given, context) => {
    const microUsd = parseMicroUsd(given)
    if (microUsd !== null) return microUsd
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
}

/** `2026-12-31`, or a time with offset. */
const time = (name: string) =>
  z
    .union(
      [z.iso.datetime({ offset: true }), z.iso.date()],
      `${name} must be an ISO 8601 time, such as 2026-12-31T20:00:00Z`,
    )
    .transform((text) => new Date(text))

const badPrice = 'ticketPriceUsdc must be a decimal text in USDC with at most 6 decimal places'
const badTickets = 'totalTickets must be a whole number from 1 to 10000000'

/** `POST /api/underground/events`. */
export const CreateEventRequest = z
  .object({
    agentId: required('agentId', 100),
    name: required('name', 200),
    description: required('description', 10_000),
    venue: required('venue', 300),
    eventDate: time('eventDate'),
    ticketPriceUsdc: z.string(badPrice).refine((text) => parseMicroUsd(text) !== null, badPrice),
    totalTickets: z.int(badTickets).min(1, badTickets).max(10_000_000, badTickets),
  })
  .meta({
    examples: [
      {
        agentId: 'ada',
        name: 'Summer night',
        description: 'Open air',
        venue: 'Old harbour',
        eventDate: '2027-07-01T20:00:00Z',
        ticketPriceUsdc: '12.50',
        totalTickets: 200,
      },
    ],
  })
export type CreateEventRequest = z.infer<typeof CreateEventRequest>

const badLimit = 'limit must be a whole number from 1 to 1000'
const badOffset = 'offset must be a whole number'

/** `GET /api/underground/events?limit=&offset=`. */
export const EventQuery = z.object({
  limit: z.coerce.number(badLimit).int(badLimit).min(1, badLimit).max(1000, badLimit).default(1000),
  offset: z.coerce.number(badOffset).int(badOffset).min(0, badOffset).default(0),
})
export type EventQuery = z.infer<typeof EventQuery>

/** An event in responses; the price is decimal text in USDC. */
export const UndergroundEvent = z.object({
  id: z.number(),
  agent_id: z.string(),
  name: z.string(),
  description: z.string(),
  venue: z.string(),
  event_date: z.string(),
  ticket_price_usdc: z.string(),
  total_tickets: z.number(),
  tickets_sold: z.number(),
  created_at: z.string(),
})
export type UndergroundEvent = z.infer<typeof UndergroundEvent>
export const UndergroundEventList = z.array(UndergroundEvent)

/** `POST /api/underground/bus/send`: the signed fields are among the others, which are forwarded unchanged. */
export const BusMessage = z
  .looseObject({
    messageId: required('messageId', 200),
    action: required('action', 100),
  })
  .meta({
    examples: [
      {
        messageId: 'msg-1',
        action: 'BOOKING_OFFER',
        version: '1.0',
        timestamp: '2026-12-01T20:00:00Z',
        from: { agentId: 'ada', walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7' },
        to: { agentId: 'bo' },
        payload: { talentName: 'Bo', amount: '500' },
        signature: '0x…',
      },
    ],
  })
export type BusMessage = z.infer<typeof BusMessage>

/** `POST /v1/bus/send`: a message of an agent with a managed wallet. */
export const OwnMessage = z
  .object({
    messageId: required('messageId', 200).optional(),
    to: z.object({ agentId: required('to.agentId', 300), agentType: z.string().max(100).optional() }, 'to is required'),
    action: required('action', 100),
    payload: z.unknown().optional(),
  })
  .meta({
    examples: [
      { to: { agentId: 'bo' }, action: 'BOOKING_OFFER', payload: { talentName: 'Bo', amount: '500', deposit: '100' } },
    ],
  })
export type OwnMessage = z.infer<typeof OwnMessage>

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Sender and time, which the signature check needs. */
export const SignedPart = z.object({
  version: z.string().min(1).max(20),
  timestamp: z.iso.datetime({ offset: true }),
  from: z.object({
    agentId: z.string().min(1).max(100),
    agentType: z.string().max(100).optional(),
    walletAddress: z.string().regex(EVM_ADDRESS),
    signature: z.string().optional(),
  }),
  signature: z.string().optional(),
})

/** The recipient's agent id or host name. */
export const BusRecipient = z.object({ agentId: z.string().min(1).max(300) })

/** Payload of `BOOKING_OFFER`. Without a deposit, all is due at the end. */
export const BookingOffer = z.object({
  talentName: required('payload.talentName', 200),
  amount: amount('payload.amount'),
  backend: amount('payload.backend').default(0),
  deposit: amount('payload.deposit').default(0),
  eventId: z.int('payload.eventId must be the number of an event').optional(),
  venue: required('payload.venue', 300).optional(),
  date: time('payload.date').optional(),
})

/** Payload of answers: the id of the booking or of the message that offered it. */
export const BookingAnswer = z.object({ bookingId: required('payload.bookingId', 200) })

export const AmplifyRequest = z.object({ reward: amount('payload.reward') })
export const AmplifyAnswer = z.object({ campaignId: required('payload.campaignId', 200) })
export const AmplifyCompletion = AmplifyAnswer.extend({
  postUrl: webUrl('payload.postUrl must be an http or https URL'),
})

/** A message for its sender's owner and admins. */
export const ShownMessage = z.object({
  id: z.number(),
  messageId: z.string(),
  action: z.string(),
  from: z.string(),
  to: z.string(),
  status: z.enum(['pending', 'delivered', 'dead']),
  attempts: z.number(),
  lastError: z.string().nullable(),
  createdAt: z.string(),
  deliveredAt: z.string().nullable(),
})
export type ShownMessage = z.infer<typeof ShownMessage>

/** Newest first; `next` is the `before` of the next page, null on the last. */
export const MessagePage = z.object({ messages: z.array(ShownMessage), next: z.number().nullable() })
export type MessagePage = z.infer<typeof MessagePage>

const badBefore = 'before must be a whole number'
export const BusMessageQuery = z.object({
  before: z.coerce.number(badBefore).int(badBefore).min(1, badBefore).optional(),
})
export type BusMessageQuery = z.infer<typeof BusMessageQuery>

/** `POST /api/underground/bus/send` and `POST /v1/bus/send`. */
export const BusReceipt = z.object({ success: z.literal(true), messageId: z.string() })

/** `POST /api/admin/bus/dead-letters/:id/replay`. */
export const ReplayedMessage = z.object({ message: ShownMessage })
