import { and, asc, eq, inArray } from 'drizzle-orm'
import { z } from 'zod'
import { AppError } from '../../../../core/errors.ts'
import { newOrderedId } from '../../../../core/ids.ts'
import { formatMicroUsd, parseMicroUsd, shareOut, toUsd } from '../../../../core/money.ts'
import type { Db } from '../../../../db/open.ts'
import { write } from '../../../../db/write.ts'
import type { Once } from '../../../../http/env.ts'
import { executeSplit, insertSplit } from '../../splits/create-split.ts'
import { getSplit, listParts } from '../../splits/list-splits.ts'
import { chainAddress, percentage, positiveAmount, WHOLE } from '../../splits/schemas.ts'
import { royaltyParts, royaltySplits, type SplitRow, type SplitRuleRow, splitRules } from '../../splits/tables.ts'
import { amount } from '../../underground/schemas.ts'
import { readTokenBalance } from '../../wallets/balance.ts'
import { getWallet } from '../../wallets/create.ts'
import { toOwner } from '../../wallets/state.ts'
import { line, parseCall, type RunnerDeps, type SkillCall } from './calls.ts'

const ROLES = ['artist', 'producer', 'label', 'writer', 'engineer'] as const
const TRIGGERS = ['streaming', 'sync', 'booking', 'manual'] as const
const MAX_RULES = 100
const MAX_PENDING = 100
/** 50 USDC in millionths. */
const USUAL_THRESHOLD = 50_000_000
const badStreams = 'streams must be a whole number from 0 to 1000000000'

const agentId = line('agentId', 100).optional()
const Call = z.discriminatedUnion(
  'action',
  [
    z.object({ action: z.literal('list_pending') }),
    z.object({ action: z.literal('list_rules') }),
    z.object({
      action: z.literal('create_split_rule'),
      splits: z.object(
        {
          recipientAddress: chainAddress('splits.recipientAddress'),
          percentage: percentage('splits.percentage'),
          role: z.enum(ROLES, `splits.role must be one of ${ROLES.join(', ')}`).default('artist'),
          name: line('splits.name', 100),
        },
        'splits is required',
      ),
      threshold: amount('threshold').default(USUAL_THRESHOLD),
    }),
    z.object({ action: z.literal('delete_split_rule'), ruleId: line('ruleId', 100) }),
    z.object({
      action: z.literal('create_split'),
      amount: positiveAmount('amount'),
      agentId,
      release: line('release', 200),
      trigger: z.enum(TRIGGERS, `trigger must be one of ${TRIGGERS.join(', ')}`).default('manual'),
    }),
    z.object({
      action: z.literal('execute_split'),
      splitId: z.coerce.number('splitId must be a number').int('splitId must be a number'),
    }),
    z.object({ action: z.literal('get_balance'), agentId }),
    z.object({
      action: z.literal('simulate'),
      streams: z.int(badStreams).min(0, badStreams).max(1_000_000_000, badStreams).default(100_000),
      rate: z.union([z.string(), z.number()], 'rate must be an amount with at most 6 decimal places').default('0.003'),
    }),
  ],
  'Invalid action',
)

/** Facts of `GET /api/skills/instant-split`. */
export const SPLIT_FACTS = {
  triggers: TRIGGERS,
  features: [
    'Exact division to the last millionth of a dollar',
    'Each recipient is paid once on the chain, also after a crash',
    'Thresholds below which a part is not sent',
    'Limits and approvals of the wallet are kept',
  ],
  pricing: { transactionFee: '0% and the fees of the chain', minimumThreshold: 0 },
  security: { usesCDP: false, network: 'USDC on the configured chain', custody: 'platform' },
} as const

/** Runs an action of the instant split skill. @throws AppError as the functions of `splits` and `wallets`. */
export async function useInstantSplit(deps: RunnerDeps, { user, body, once }: SkillCall): Promise<object> {
  const call = parseCall(Call, body)
  switch (call.action) {
    case 'list_pending':
      return { success: true, splits: listPending(deps.db, user.id) }
    case 'list_rules':
      return { success: true, rules: listRules(deps.db, user.id).map(toRule) }
    case 'create_split_rule': {
      const rule = await addRule(deps, user.id, { ...call.splits, threshold: call.threshold })
      return {
        success: true,
        rule: toRule(rule),
        message: `${rule.name} gets ${toShare(rule)} percent of every new split`,
      }
    }
    case 'delete_split_rule':
      await deleteRule(deps.db, user.id, call.ruleId)
      return { success: true }
    case 'create_split': {
      const owner = toOwner(deps.db, user, call.agentId)
      const split = once.made
        ? getSplit(deps.db, { kind: 'user', user }, Number(once.made))
        : await prepare(deps, owner, { ...call, note: once.note })
      return { success: true, split: toPending(deps.db, split) }
    }
    case 'execute_split':
      return execute(deps, user.id, call.splitId)
    case 'get_balance':
      return describeBalance(deps, toOwner(deps.db, user, call.agentId))
    case 'simulate':
      return estimateSplit(listRules(deps.db, user.id), call)
  }
}

function listRules(db: Db, userId: string): SplitRuleRow[] {
  return db.select().from(splitRules).where(eq(splitRules.userId, userId)).orderBy(asc(splitRules.id)).all()
}

type NewRule = { recipientAddress: string; percentage: number; role: string; name: string; threshold: number }

/** All rules together may not exceed 100 percent. */
function addRule({ db, clock }: RunnerDeps, userId: string, rule: NewRule): Promise<SplitRuleRow> {
  return write(db, (tx) => {
    const others = listRules(tx, userId)
    if (others.length >= MAX_RULES) throw new AppError('limited', `${MAX_RULES} rules at most`)
    const given = others.reduce((sum, { shareMillionths }) => sum + shareMillionths, 0)
    if (given + rule.percentage > WHOLE) {
      throw new AppError('invalid', `All rules together would give away more than 100 percent`)
    }
    const row = {
      id: newOrderedId('rule'),
      userId,
      address: rule.recipientAddress.toLowerCase(),
      name: rule.name,
      role: rule.role,
      shareMillionths: rule.percentage,
      minimumMicroUsd: rule.threshold,
      createdAt: clock.now(),
    }
    return tx.insert(splitRules).values(row).returning().get()
  })
}

function deleteRule(db: Db, userId: string, id: string): Promise<void> {
  return write(db, (tx) => {
    const isThis = and(eq(splitRules.id, id), eq(splitRules.userId, userId))
    if (tx.delete(splitRules).where(isThis).run().changes === 0) throw new AppError('not_found', 'Rule not found')
  })
}

type Wanted = { amount: number; release: string; trigger: string; note: Once['note'] }

/** Creates a split that is paid when it is executed. */
function prepare(
  deps: RunnerDeps,
  owner: { userId: string; agentId: string | null },
  { amount: totalAmount, release, trigger, note }: Wanted,
): Promise<SplitRow> {
  return write(deps.db, (tx) => {
    const wallet = getWallet(tx, owner)
    const rules = listRules(tx, owner.userId)
    const sum = rules.reduce((all, { shareMillionths }) => all + shareMillionths, 0)
    if (sum !== WHOLE) throw new AppError('invalid', `Your rules add up to ${formatMicroUsd(sum)} percent, not to 100`)
    const recipients = rules.map(({ address, shareMillionths, name, minimumMicroUsd }) => ({
      address,
      share: shareMillionths,
      name,
      minimumMicroUsd,
    }))
    const whose = { userId: owner.userId, agentId: owner.agentId ?? '', fromAddress: wallet.address }
    const split = insertSplit(tx, deps, { ...whose, name: release, totalAmount, recipients, trigger, isHeld: true })
    note(tx, String(split.id))
    return split
  })
}

/** Lists open splits, oldest first. */
function listPending(db: Db, userId: string) {
  const isOpen = and(eq(royaltySplits.ownerId, userId), inArray(royaltySplits.status, ['queued', 'processing']))
  const rows = db.select().from(royaltySplits).where(isOpen).orderBy(asc(royaltySplits.id)).limit(MAX_PENDING).all()
  return rows.map((row) => toPending(db, row))
}

function toPending(db: Db, row: SplitRow) {
  const parts = db
    .select()
    .from(royaltyParts)
    .where(eq(royaltyParts.splitId, row.id))
    .orderBy(royaltyParts.position)
    .all()
  return {
    id: row.id,
    amount: String(row.totalMicroUsd),
    currency: 'USDC',
    trigger: row.trigger,
    release: row.name,
    splits: parts.map(({ position, address, name, shareMillionths, amountMicroUsd, isSkipped }) => ({
      id: `${row.id}:${position}`,
      recipientAddress: address,
      percentage: toUsd(shareMillionths),
      name,
      amount: String(amountMicroUsd),
      isSkipped,
    })),
    status: row.isHeld || row.status === 'queued' ? 'pending' : 'processing',
    reason: row.reason,
    createdAt: row.createdAt.toISOString(),
  }
}

/** Executes a split. Its payments settle on the chain later. */
async function execute(deps: RunnerDeps, userId: string, id: number) {
  const split = await executeSplit(deps, userId, id)
  const parts = listParts(deps.db, split.id)
  const skipped = parts.filter(({ status }) => status === 'skipped').length
  return {
    success: true,
    splitId: split.id,
    executedAt: deps.clock.now().toISOString(),
    results: parts.map(({ name, address, amount: due, status }) => ({
      recipient: name ?? address,
      address,
      amount: String(parseMicroUsd(due)),
      status: status === 'skipped' ? 'skipped' : 'pending',
      ...(status === 'skipped' && { reason: 'The part is below the threshold of the recipient' }),
    })),
    summary: { total: `${formatMicroUsd(split.totalMicroUsd)} USDC`, pending: parts.length - skipped, skipped },
  }
}

async function describeBalance(deps: RunnerDeps, owner: { userId: string; agentId: string | null }) {
  const wallet = getWallet(deps.db, owner)
  const held = await readTokenBalance(deps.tokenChains, 'USDC', wallet.address)
  const { network } = deps.tokenChains.USDC.terms
  const open = listPending(deps.db, owner.userId).reduce((sum, split) => sum + Number(split.amount), 0)
  return {
    success: true,
    balance: formatMicroUsd(Number(held), 2),
    currency: 'USDC',
    pending: formatMicroUsd(open, 2),
    network,
  }
}

/** Customary shares, used without rules. */
const USUAL = [
  { role: 'artist', shareMillionths: 50_000_000 },
  { role: 'label', shareMillionths: 25_000_000 },
  { role: 'producer', shareMillionths: 25_000_000 },
]

/** Estimates the income of streams and its division, without paying. */
function estimateSplit(rules: SplitRuleRow[], { streams, rate }: { streams: number; rate: string | number }) {
  const microUsd = parseMicroUsd(rate)
  if (microUsd === null) throw new AppError('invalid', 'rate must be an amount with at most 6 decimal places')
  const total = Number(BigInt(streams) * BigInt(microUsd))
  if (!Number.isSafeInteger(total)) throw new AppError('invalid', 'This is more than can be counted exactly')
  const shares = rules.length > 0 ? rules : USUAL
  const amounts = shareOut(
    total,
    shares.map(({ shareMillionths }) => shareMillionths),
  )
  return {
    success: true,
    input: { streams, rate: formatMicroUsd(microUsd) },
    estimatedEarnings: formatMicroUsd(total, 2),
    currency: 'USDC',
    splits: shares.map(({ role, shareMillionths }, index) => ({
      role,
      percentage: toUsd(shareMillionths),
      amount: formatMicroUsd(amounts[index] ?? 0, 2),
    })),
    note: rules.length > 0 ? 'In proportion to your rules' : 'By usual shares: you have no rules yet',
  }
}

function toRule(rule: SplitRuleRow) {
  return {
    id: rule.id,
    recipientAddress: rule.address,
    percentage: toUsd(rule.shareMillionths),
    role: rule.role,
    name: rule.name,
    minimumThreshold: toUsd(rule.minimumMicroUsd),
  }
}

function toShare({ shareMillionths }: SplitRuleRow): string {
  return formatMicroUsd(shareMillionths)
}
