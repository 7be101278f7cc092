import { useMutation, useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import type { ManagedWallet } from '../../src/features/payments/wallets/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ErrorNotice, Loaded, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { PaymentTable } from './payment-table.tsx'
import { changePolicy, createWallet, holdingsQuery, walletsQuery } from './wallets-api.ts'

/** Page `/settings/wallets`. */
export function WalletsPage() {
  return (
    <SettingsFrame title="Wallets" lead="Wallets for you and your agents, with spending limits.">
      <PaymentTable />
      <Wallets />
      <NewWallet />
    </SettingsFrame>
  )
}

function Wallets() {
  const query = useQuery(walletsQuery)
  const names = useAgentNames()
  return (
    <Loaded
      query={query}
      what="wallets"
      placeholder={
        <div aria-busy="true">
          <p role="status" className="sr-only">
            Loading your wallets
          </p>
          <Skeleton className="h-44 rounded-xl" />
        </div>
      }
    >
      {(wallets) =>
        wallets.map((wallet) => (
          <WalletSection key={wallet.id} wallet={wallet} name={nameOf(wallet.kind, names.get(wallet.agentId ?? ''))} />
        ))
      }
    </Loaded>
  )
}

function nameOf(kind: 'user' | 'agent', agent: string | undefined): string {
  if (kind === 'user') return 'Your wallet'
  return agent ? `Wallet of ${agent}` : 'Wallet of a deleted agent'
}

function NewWallet() {
  const { data: wallets } = useQuery(walletsQuery)
  const { data: agents } = useQuery(agentsQuery)
  const creation = useMutation({ mutationFn: (agentId: string | null) => createWallet(agentId) })
  if (!wallets || !agents) return null
  const without = agents.filter(({ id }) => wallets.every(({ agentId }) => agentId !== id))
  const hasOwn = wallets.some(({ kind }) => kind === 'user')
  if (hasOwn && without.length === 0) return null
  return (
    <Section title="New wallet" lead="One address on every chain. The key is encrypted on the server.">
      <ErrorNotice error={creation.error} />
      <div className="flex flex-wrap gap-2">
        {!hasOwn && (
          <Button look="primary" isPending={creation.isPending} onClick={() => creation.mutate(null)}>
            For yourself
          </Button>
        )}
        {without.map(({ id, name }) => (
          <Button key={id} isPending={creation.isPending} onClick={() => creation.mutate(id)}>
            For {name}
          </Button>
        ))}
      </div>
    </Section>
  )
}

function useAgentNames(): Map<string, string> {
  const { data: agents = [] } = useQuery(agentsQuery)
  return new Map(agents.map(({ id, name }) => [id, name]))
}

const BAD_LIMIT = 'Enter an amount in dollars with up to six decimals, or leave empty'
const limit = z
  .string()
  .trim()
  .regex(/^(?:\d{1,9}(?:\.\d{1,6})?)?$/, BAD_LIMIT)
  .transform((text) => (text === '' ? null : text))
const PolicyFields = z.object({
  perPayment: limit,
  perDay: limit,
  perMonth: limit,
  approvalAbove: limit,
  recipients: z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter(Boolean))
    .refine(
      (list) => list.every((one) => /^0x[0-9a-fA-F]{40}$/.test(one)),
      'Each address is 0x followed by 40 hex digits',
    )
    .transform((list) => (list.length === 0 ? null : list)),
})

type OfWallet = { wallet: ManagedWallet; name: string }

export function WalletSection({ wallet, name }: OfWallet) {
  return (
    <Section
      title={name}
      badge={wallet.policy.frozen ? <Badge tone="warning">Frozen</Badge> : null}
      lead={`Spent or reserved: $${wallet.spentToday} today, $${wallet.spentThisMonth} this month.`}
      actions={<FreezeButton wallet={wallet} name={name} />}
    >
      <div className="flex flex-wrap items-center gap-3">
        <code className="font-mono text-[0.8125rem] break-all">{wallet.address}</code>
        <CopyButton text={wallet.address} what={`address of ${name}`} />
      </div>
      {wallet.kind === 'user' || wallet.agentId !== null ? (
        <>
          <Holdings wallet={wallet} />
          <PolicyFormOf key={JSON.stringify(wallet.policy)} wallet={wallet} name={name} />
        </>
      ) : (
        <p className="text-sm text-muted">The administrator can export its key with `stead wallet export`.</p>
      )}
    </Section>
  )
}

function Holdings({ wallet }: { wallet: ManagedWallet }) {
  const { data, error, refetch } = useQuery(holdingsQuery(wallet))
  if (error) return <LoadProblem what="balance" error={error} onRetry={refetch} />
  if (!data) return <Skeleton className="h-10" />
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-6 gap-y-1 text-sm">
      {data.balances?.map(({ currency, network, balance, problem }) => (
        <div key={currency} className="contents">
          <dt className="text-muted">
            {currency} on {network}
          </dt>
          <dd className={balance === null ? 'text-muted' : 'font-medium tabular-nums'}>{balance ?? problem}</dd>
        </div>
      ))}
    </dl>
  )
}

function FreezeButton({ wallet, name }: OfWallet) {
  const isFrozen = wallet.policy.frozen
  const change = useMutation({ mutationFn: () => changePolicy(wallet, { frozen: !isFrozen }) })
  if (wallet.kind === 'agent' && wallet.agentId === null) return null
  const verb = isFrozen ? 'Unfreeze' : 'Freeze'
  return (
    <>
      <Button
        aria-label={`${verb} ${name}`}
        look={isFrozen ? 'plain' : 'danger'}
        isPending={change.isPending}
        onClick={() => change.mutate()}
      >
        {verb}
      </Button>
      <ErrorNotice error={change.error} />
    </>
  )
}

function PolicyFormOf({ wallet, name }: OfWallet) {
  const { policy } = wallet
  const form = useForm(PolicyFields, (change) => changePolicy(wallet, change))
  const fields = [
    ['perPayment', 'Limit per payment', policy.perPayment],
    ['perDay', 'Limit per day', policy.perDay],
    ['perMonth', 'Limit per month', policy.perMonth],
    ['approvalAbove', 'Ask for approval above', policy.approvalAbove],
  ] as const
  return (
    <Form form={form} label={`Limits of ${name}`} verb="Save limits">
      {form.isDone && <Notice tone="good">Limits saved.</Notice>}
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        {fields.map(([field, label, value]) => (
          <TextField
            key={field}
            label={`${label}, in dollars`}
            name={field}
            inputMode="decimal"
            placeholder="No limit"
            defaultValue={value ?? ''}
            error={form.problem?.fields[field]}
          />
        ))}
      </div>
      <TextField
        label="Allowed recipients"
        name="recipients"
        placeholder="Any address"
        defaultValue={policy.recipients?.join(' ') ?? ''}
        hint="Separated by spaces. Leave empty to allow any address."
      />
    </Form>
  )
}
