import { z } from 'zod'

/** A change of one of the caller's accounts; amounts are decimal text in `currency`. */
export const LedgerLine = z.object({
  entry: z.number(),
  createdAt: z.string(),
  account: z.string(),
  currency: z.string(),
  amount: z.string(),
  balance: z.string(),
  memo: z.string(),
})
export type LedgerLine = z.infer<typeof LedgerLine>

/** `GET /api/ledger`: `next` is the `before` of the following page, null on the last. */
export const LedgerPage = z.object({
  balances: z.array(z.object({ kind: z.string(), currency: z.string(), balance: z.string() })),
  lines: z.array(LedgerLine),
  next: z.number().nullable(),
})
export type LedgerPage = z.infer<typeof LedgerPage>

export const LedgerQuery = z.object({
  before: z.coerce.number('before must be a number').int('before must be a whole number').positive().optional(),
  limit: z.coerce.number('limit must be a number').int('limit must be a whole number').min(1).max(100).default(50),
})

/** `GET /api/credits`. */
export const Credits = z.object({
  credits: z.number(),
  referralCode: z.string().nullable(),
  referralCount: z.number(),
  plan: z.string(),
  balanceUsd: z.string(),
})
export type Credits = z.infer<typeof Credits>
