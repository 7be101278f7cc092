import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { Billing, BillingDone } from '../../src/features/payments/billing/schemas.ts'
import { PaymentPage } from '../../src/features/payments/cards/schemas.ts'
import { LedgerPage } from '../../src/features/payments/ledger/schemas.ts'
import { ReceiptList } from '../../src/features/payments/receipts/schemas.ts'
import { api, request } from '../api/request.ts'

/** A value of an address, which the router makes a number when it looks like one. */
const searchText = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined)

/** What the page is opened with: by the card service, and by ways that lead back here. */
export const BillingSearch = z.object({
  paid: searchText,
  payment_cancelled: searchText,
  error: searchText,
  admin: searchText,
})

const POLL_MS = 3000
/** Some minutes: the card service may take its time. */
const POLLS = 100

/** Asks again while a payment is awaited, and not for ever. */
export const untilConfirmed = (query: { state: { dataUpdateCount: number } }) =>
  query.state.dataUpdateCount < POLLS ? POLL_MS : false

/** Plan, credits, storage and what there is to buy. */
export const billingPageQuery = queryOptions({
  queryKey: ['billing'],
  queryFn: ({ signal }) => request(Billing, api.GET('/api/billing', { signal })),
})

export const receiptsQuery = queryOptions({
  queryKey: ['billing', 'receipts'],
  queryFn: ({ signal }) => request(ReceiptList, api.GET('/api/receipts', { params: { query: { limit: 50 } }, signal })),
})

/** The newest movements of the caller's money. */
export const ledgerQuery = queryOptions({
  queryKey: ['billing', 'ledger'],
  queryFn: ({ signal }) => request(LedgerPage, api.GET('/api/ledger', { params: { query: { limit: 50 } }, signal })),
})

/** Where the browser downloads every movement as CSV. */
export const LEDGER_EXPORT_PATH = '/api/ledger/export'

/** Orders that lead to a page of the card service. */
export type PayOrder =
  | { action: 'create-checkout'; plan: string }
  | { action: 'buy-credits'; pack: string }
  | { action: 'open-portal' }
  | { action: 'upgrade-storage' }

/** Opens a page of the card service. @returns its address. */
export async function openPayPage(order: PayOrder): Promise<string> {
  const answer =
    order.action === 'upgrade-storage'
      ? api.POST('/api/payments/storage-upgrade')
      : api.POST('/api/billing', { body: order })
  return (await request(PaymentPage, answer)).url
}

/** Orders that the card service carries out without a page. */
export type ChangeOrder =
  | { action: 'change-plan'; plan: string }
  | { action: 'cancel' | 'restore'; subscriptionId: string }

export function changeSubscription(order: ChangeOrder): Promise<BillingDone> {
  return request(BillingDone, api.POST('/api/billing', { body: order }))
}
