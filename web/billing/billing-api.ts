import { queryOptions, useMutation } from '@tanstack/react-query'
import { z } from 'zod'
import { Billing, BillingDone } from '../../src/features/payments/billing/schemas.ts'
import { PaymentPage } from '../../src/features/payments/cards/schemas.ts'
import { LedgerPage } from '../../src/features/payments/ledger/schemas.ts'
import { ReceiptList } from '../../src/features/payments/receipts/schemas.ts'
import { api, request } from '../api/request.ts'

/** The router parses values that look like numbers. */
const searchText = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined)

/** Search of `/billing`, also set by Stripe's redirects. */
export const BillingSearch = z.object({
  paid: searchText,
  payment_cancelled: searchText,
  error: searchText,
  admin: searchText,
})

const POLL_MS = 3000
/** A few minutes: Stripe may take time to confirm. */
const POLLS = 100

/** Polls a limited number of times while a payment is pending. */
export const untilConfirmed = (query: { state: { dataUpdateCount: number } }) =>
  query.state.dataUpdateCount < POLLS ? POLL_MS : false

export const billingPageQuery = queryOptions({
  queryKey: ['billing'],
  queryFn: ({ signal }) => request(Billing, api.GET('/api/billing', { signal })),
})

export const receiptsQuery = queryOptions({
  queryKey: ['billing', 'receipts'],
  queryFn: ({ signal }) => request(ReceiptList, api.GET('/api/receipts', { params: { query: { limit: 50 } }, signal })),
})

export const ledgerQuery = queryOptions({
  queryKey: ['billing', 'ledger'],
  queryFn: ({ signal }) => request(LedgerPage, api.GET('/api/ledger', { params: { query: { limit: 50 } }, signal })),
})

export const LEDGER_EXPORT_PATH = '/api/ledger/export'

/** Orders that open a Stripe page. */
type PayOrder =
  | { action: 'create-checkout'; plan: string }
  | { action: 'buy-credits'; pack: string }
  | { action: 'open-portal' }
  | { action: 'upgrade-storage' }

async function openPayPage(order: PayOrder): Promise<string> {
  const answer =
    order.action === 'upgrade-storage'
      ? api.POST('/api/payments/storage-upgrade')
      : api.POST('/api/billing', { body: order })
  return (await request(PaymentPage, answer)).url
}

/** Orders that need no Stripe page. */
export type ChangeOrder =
  | { action: 'change-plan'; plan: string }
  | { action: 'cancel' | 'restore'; subscriptionId: string }

export function changeSubscription(order: ChangeOrder): Promise<BillingDone> {
  return request(BillingDone, api.POST('/api/billing', { body: order }))
}

export function usePay() {
  return useMutation({ mutationFn: openPayPage, onSuccess: (url) => location.assign(url) })
}
