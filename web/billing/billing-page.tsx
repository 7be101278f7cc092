import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Billing } from '../../src/features/payments/billing/schemas.ts'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { formatBytes, StorageSection } from '../settings/storage-section.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorNotice, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { billingPageQuery, untilConfirmed, usePay } from './billing-api.ts'
import { PlanSection } from './plan-section.tsx'
import { MovementsSection, ReceiptsSection } from './records.tsx'

const route = getRouteApi('/signed-in/billing')

/** Page `/billing`. */
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
        <LoadProblem what="billing" error={error} onRetry={refetch} />
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
    <Notice tone="note" title="Card payments are not set up">
      <p>
        The administrator assigns plans and credits in Admin → Users or with <code>stead user</code>. Card payments
        require STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET.
      </p>
    </Notice>
  )
}

const PROBLEMS: Readonly<Record<string, string>> = {
  invalid_plan: 'This plan does not exist.',
  invalid_price: 'This credit pack does not exist.',
  already_subscribed: 'You already pay for a plan by card. Change it below.',
}

function Outcome({ isConfigured }: { isConfigured: boolean }) {
  const { paid, payment_cancelled, error, admin } = route.useSearch()
  if (error) {
    if (!isConfigured) return null
    return <Notice tone="problem">{PROBLEMS[error] ?? 'Could not open the payment page.'}</Notice>
  }
  if (payment_cancelled) return <Notice tone="note">Payment canceled. You were not charged.</Notice>
  if (admin)
    return (
      <Notice tone="note">Administrators have the limits of the largest plan and do not need a subscription.</Notice>
    )
  if (!paid || !isConfigured) return null
  return (
    <Notice tone="good" title="Thank you">
      <p>Your purchase appears below once Stripe confirms it, usually within a minute. No need to reload.</p>
    </Notice>
  )
}

function CreditsSection({ billing }: { billing: Billing }) {
  const pay = usePay()
  return (
    <Section title="Credits" lead="Pay-per-request balance. One credit is one US cent.">
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
      <ErrorNotice error={pay.error} />
    </Section>
  )
}

function MoreStorage({ billing }: { billing: Billing }) {
  const pay = usePay()
  if (!billing.cardsConfigured || billing.subscriptionStatus !== 'active') return null
  const { bytes, price } = billing.storageUpgrade
  return (
    <Section title="Additional storage" lead="Added to your plan, billed monthly.">
      <Button
        className="justify-self-start"
        isPending={pay.isPending}
        onClick={() => pay.mutate({ action: 'upgrade-storage' })}
      >
        {formatBytes(bytes)} for {price} per month
      </Button>
      <ErrorNotice error={pay.error} />
    </Section>
  )
}
