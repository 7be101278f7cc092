import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  ManagedWallet,
  OnePayment,
  PaymentList,
  WalletList,
  WalletState,
} from '../../src/features/payments/wallets/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'

export const walletsQuery = queryOptions({
  queryKey: ['wallets'],
  queryFn: async ({ signal }) => (await request(WalletList, api.GET('/api/wallet/list', { signal }))).wallets,
  refetchInterval: 15_000,
})

/** Read from the chains. The wallet of a deleted agent has no balance. */
export function holdingsQuery({ agentId, id }: Pick<ManagedWallet, 'agentId' | 'id'>) {
  return queryOptions({
    queryKey: ['wallets', id, 'holdings'],
    queryFn: ({ signal }) =>
      request(WalletState, api.GET('/api/wallet', { params: { query: { agentId: agentId ?? undefined } }, signal })),
    refetchInterval: 30_000,
  })
}

export const paymentsQuery = queryOptions({
  queryKey: ['payments'],
  queryFn: async ({ signal }) =>
    (await request(PaymentList, api.GET('/api/wallet/payments', { params: { query: { limit: 50 } }, signal })))
      .payments,
  refetchInterval: 10_000,
})

const Address = z.object({ address: z.string() })
const Changed = z.object({ wallet: ManagedWallet })

export async function createWallet(agentId: string | null): Promise<void> {
  const body = { action: 'create', agentId: agentId ?? undefined } as const
  await request(Address, api.POST('/api/wallet', { body }))
  await refresh({ queryKey: ['wallets'] })
}

/** Amounts in dollars as text; empty removes a limit. */
type PolicyForm = {
  perPayment?: string | null
  perDay?: string | null
  perMonth?: string | null
  approvalAbove?: string | null
  recipients?: string[] | null
  frozen?: boolean
}

export async function changePolicy({ agentId }: ManagedWallet, change: PolicyForm): Promise<void> {
  const body = { ...change, ...(agentId !== null && { agentId }) }
  await request(Changed, api.PATCH('/api/wallet/policy', { body }))
  await refresh(walletsQuery)
}

export async function decidePayment(id: string, verb: 'approve' | 'deny'): Promise<void> {
  await request(OnePayment, api.POST(`/api/wallet/payments/{id}/${verb}`, inPath({ id })))
  await Promise.all([refresh(paymentsQuery), refresh(walletsQuery)])
}

/** Resolves a payment whose outcome the gateway does not know. */
export async function resolve(id: string, status: 'succeeded' | 'failed'): Promise<void> {
  await request(OnePayment, api.POST('/api/wallet/payments/{id}/resolve', { ...inPath({ id }), body: { status } }))
  await refresh(paymentsQuery)
}
