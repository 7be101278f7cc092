import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { agentsQuery } from '../agents/agents-api.ts'
import { messageFor } from '../api/request.ts'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Button } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { PaymentTable } from './payment-table.tsx'
import { WalletSection } from './wallet-section.tsx'
import { createWallet, walletsQuery } from './wallets-api.ts'

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
  const client = useQueryClient()
  const { data: wallets } = useQuery(walletsQuery)
  const { data: agents } = useQuery(agentsQuery)
  const creation = useMutation({ mutationFn: (agentId: string | null) => createWallet(client, agentId) })
  if (!wallets || !agents) return null
  const without = agents.filter(({ id }) => wallets.every(({ agentId }) => agentId !== id))
  const hasOwn = wallets.some(({ kind }) => kind === 'user')
  if (hasOwn && without.length === 0) return null
  return (
    <Section title="New wallet" lead="One address on every chain. The key is encrypted on the server.">
      {creation.error && <Notice tone="problem">{messageFor(creation.error)}</Notice>}
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
