import { z } from 'zod'

/** URL of a page at the card service. */
export const PaymentPage = z.object({ url: z.string() })

/** An id, or an expanded object with it: the card service sends either. */
const Id = z.union([z.string(), z.object({ id: z.string() }).transform(({ id }) => id)])
const Tags = z
  .record(z.string(), z.string())
  .nullish()
  .transform((tags) => tags ?? {})
const Time = z
  .number()
  .int()
  .transform((seconds) => new Date(seconds * 1000))

export const SessionEvent = z.object({
  id: z.string(),
  mode: z.string(),
  payment_status: z.string(),
  amount_total: z.number().int().nullish(),
  currency: z.string().nullish(),
  customer: Id.nullish(),
  payment_intent: Id.nullish(),
  metadata: Tags,
})
export type SessionEvent = z.infer<typeof SessionEvent>

const Item = z.object({
  current_period_end: Time.nullish(),
  price: z.object({ currency: z.string(), unit_amount: z.number().int().nullish() }),
})

/** Older API versions put the end of the period on the subscription, newer ones on its items. */
export const SubscriptionEvent = z
  .object({
    id: z.string(),
    status: z.string(),
    customer: Id,
    cancel_at_period_end: z.boolean().nullish(),
    cancel_at: Time.nullish(),
    current_period_end: Time.nullish(),
    items: z.object({ data: z.array(Item).min(1) }),
    metadata: Tags,
  })
  .transform(({ items, current_period_end, ...rest }) => {
    const [item] = items.data
    return {
      ...rest,
      paidUntil: current_period_end ?? item?.current_period_end ?? null,
      currency: item?.price.currency ?? '',
      minorUnits: item?.price.unit_amount ?? 0,
    }
  })
export type SubscriptionEvent = z.infer<typeof SubscriptionEvent>

const Details = z.object({ subscription: Id.nullish(), metadata: Tags })

/** The subscription id is in one of two places, by API version. */
export const InvoiceEvent = z
  .object({
    id: z.string(),
    currency: z.string(),
    amount_paid: z.number().int(),
    number: z.string().nullish(),
    customer: Id.nullish(),
    subscription: Id.nullish(),
    subscription_details: Details.nullish(),
    parent: z.object({ subscription_details: Details.nullish() }).nullish(),
  })
  .transform(({ subscription, subscription_details, parent, ...rest }) => {
    const details = parent?.subscription_details ?? subscription_details
    return { ...rest, subscription: subscription ?? details?.subscription ?? null, metadata: details?.metadata ?? {} }
  })
export type InvoiceEvent = z.infer<typeof InvoiceEvent>

export const RefundEvent = z.object({
  id: z.string(),
  currency: z.string(),
  amount_refunded: z.number().int(),
  payment_intent: Id.nullish(),
})
export type RefundEvent = z.infer<typeof RefundEvent>
