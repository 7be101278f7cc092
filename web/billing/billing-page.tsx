import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Billing } from '../../src/features/payments/billing/schemas.ts'
import { messageFor } from '../api/request.ts'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { formatBytes, StorageSection } from '../settings/storage-section.tsx'
import { Button } from '../ui/button.tsx'
import { LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { billingPageQuery, untilConfirmed } from './billing-api.ts'
import { PlanSection } from './plan-section.tsx'
import { MovementsSection, ReceiptsSection } from './records.tsx'
import { usePay } from './use-pay.ts'

const route = getRouteApi('/signed-in/billing')

/** `/billing`: the plan, credits and storage of the caller, and every payment. */
export function BillingPage() {
  const isAwaited = route.useSearch().paid !== undefined
  const { data, error, refetch } = useQuery({ ...billingPageQuery, refetchInterval: isAwaited && untilConfirmed })
  return (
    <SettingsFrame title="Billing" lead="Your plan, credits and receipts.">
      {data ? (
        <>
          <Outcome isConfigured={data.cardsConfigured} />
          {!data.cardsConfigured && <NotConfigured />}
          <PlanSection billing={data} />
          <CreditsSection billing={data} />
          {data.storage && <StorageSection storage={data.storage} />}
          <MoreStorage billing={data} />
          <ReceiptsSection isAwaited={isAwaited} />
          <MovementsSection isAwaited={isAwaited} />
        </>
      ) : error ? (
        <LoadProblem what="Your billing" error={error} onRetry={refetch} />
      ) : (
        <div aria-busy="true">
          <p role="status" className="sr-only">
            Loading your billing
          </p>
          <Skeleton className="h-64 rounded-xl" />
        </div>
      )}
    </SettingsFrame>
  )
}

function NotConfigured() {
  return (
    <Notice tone="note" title="No card payments here">
      <p>
        Whoever runs this server gives plans and credits on the page Admin or with <code>stead user</code>. To take
        cards, they set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET.
      </p>
    </Notice>
  )
}

const PROBLEMS: Readonly<Record<string, string>> = {
  invalid_plan: 'There is no such plan.',
  invalid_price: 'There is no such pack of credits.',
  already_subscribed: 'You have a plan that is paid by card: change it below.',
}

/** What became of the payment that the caller comes back from. */
function Outcome({ isConfigured }: { isConfigured: boolean }) {
  const { paid, payment_cancelled, error, admin } = route.useSearch()
  if (error) {
    if (!isConfigured) return null
    return <Notice tone="problem">{PROBLEMS[error] ?? 'The payment page could not be opened.'}</Notice>
  }
  if (payment_cancelled) return <Notice tone="note">The payment was called off. Nothing was charged.</Notice>
  if (admin) return <Notice tone="note">You need no plan: an administrator has all of the largest one.</Notice>
  if (!paid || !isConfigured) return null
  return (
    <Notice tone="good" title="Thank you">
      <p>
        What you paid for appears below as soon as the card service confirms it, usually within a minute. You need not
        reload.
      </p>
    </Notice>
  )
}

function CreditsSection({ billing }: { billing: Billing }) {
  const pay = usePay()
  return (
    <Section title="Credits" lead="For work that is paid by the request. One credit is a US cent.">
      <p className="text-2xl font-semibold tabular-nums">
        {billing.credits.toLocaleString('en')} <span className="text-sm font-normal text-muted">credits</span>
      </p>
      {billing.cardsConfigured && (
        <div className="flex flex-wrap gap-2">
          {billing.packs.map(({ pack, credits, price }) => (
            <Button key={pack} isPending={pay.isPending} onClick={() => pay.mutate({ action: 'buy-credits', pack })}>
              {credits.toLocaleString('en')} for {price}
            </Button>
          ))}
        </div>
      )}
      {pay.error && <Notice tone="problem">{messageFor(pay.error)}</Notice>}
    </Section>
  )
}

function MoreStorage({ billing }: { billing: Billing }) {
  const pay = usePay()
  if (!billing.cardsConfigured || billing.subscriptionStatus !== 'active') return null
  const { bytes, price } = billing.storageUpgrade
  return (
    <Section title="More storage" lead="On top of your plan, a month at a time.">
      <Button
        className="justify-self-start"
        isPending={pay.isPending}
        onClick={() => pay.mutate({ action: 'upgrade-storage' })}
      >
        {formatBytes(bytes)} more for {price} a month
      </Button>
      {pay.error && <Notice tone="problem">{messageFor(pay.error)}</Notice>}
    </Section>
  )
}
