import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Billing, Subscription } from '../../src/features/money/billing/schemas.ts'
import { messageFor } from '../api/request.ts'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { formatBytes, StorageSection } from '../settings/storage-section.tsx'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { billingPageQuery, type ChangeOrder, changeSubscription, openPayPage, type PayOrder } from './billing-api.ts'
import { MovementsSection, ReceiptsSection } from './records.tsx'

const route = getRouteApi('/signed-in/billing')

/** `/billing`: the plan, credits and storage of the caller, and every payment. */
export function BillingPage() {
  const { data, error, refetch } = useQuery(billingPageQuery)
  const pay = usePay()
  return (
    <SettingsFrame title="Billing" lead="Your plan, credits and receipts.">
      <Outcome />
      {pay.error && <Notice tone="problem">{messageFor(pay.error)}</Notice>}
      {data ? (
        <>
          {!data.cardsConfigured && (
            <Notice tone="note" title="No card payments here">
              <p>
                Whoever runs this server gives plans and credits by hand. To take cards, they set STRIPE_SECRET_KEY and
                STRIPE_WEBHOOK_SECRET.
              </p>
            </Notice>
          )}
          <PlanSection billing={data} pay={pay.mutate} />
          <CreditsSection billing={data} pay={pay.mutate} />
          {data.storage && <StorageSection storage={data.storage} />}
          <MoreStorage billing={data} pay={pay.mutate} />
          <ReceiptsSection />
          <MovementsSection />
        </>
      ) : error ? (
        <LoadProblem what="Your billing" error={error} onRetry={refetch} />
      ) : (
        <Skeleton className="h-64 rounded-xl" />
      )}
    </SettingsFrame>
  )
}

type Pay = (order: PayOrder) => void

/** Leads the browser to a page of the card service. */
function usePay() {
  return useMutation({ mutationFn: openPayPage, onSuccess: (url) => location.assign(url) })
}

const PROBLEMS: Readonly<Record<string, string>> = {
  invalid_plan: 'There is no such plan.',
  invalid_price: 'There is no such pack of credits.',
  stripe_not_configured: 'Cards are not taken here.',
  already_subscribed: 'You have a plan that is paid by card: change it below.',
}

/** What became of the payment that the caller comes back from. */
function Outcome() {
  const { paid, payment_cancelled, error } = route.useSearch()
  if (error) return <Notice tone="problem">{PROBLEMS[error] ?? 'The payment page could not be opened.'}</Notice>
  if (payment_cancelled) return <Notice tone="note">The payment was called off. Nothing was charged.</Notice>
  if (!paid) return null
  return (
    <Notice tone="good" title="Thank you">
      <p>What you paid for is here as soon as the card service confirms it, usually within a minute.</p>
    </Notice>
  )
}

function PlanSection({ billing, pay }: { billing: Billing; pay: Pay }) {
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: changeSubscription,
    onSuccess: () => client.invalidateQueries({ queryKey: billingPageQuery.queryKey }),
  })
  const own = billing.subscriptions.find(({ purpose }) => purpose === 'plan')
  return (
    <Section
      title="Plan"
      lead={billing.subscriptionStatus === 'active' ? 'Paid a month at a time.' : 'You have no active plan.'}
      actions={
        billing.hasCustomer && billing.cardsConfigured ? (
          <Button onClick={() => pay({ action: 'open-portal' })}>Card and invoices</Button>
        ) : undefined
      }
    >
      {change.data && <Notice tone="good">{change.data.message}</Notice>}
      {change.error && <Notice tone="problem">{messageFor(change.error)}</Notice>}
      {billing.subscriptions.map((subscription) => (
        <SubscriptionLine
          key={subscription.id}
          subscription={subscription}
          isPending={change.isPending}
          onChange={change.mutate}
        />
      ))}
      <ul className="grid gap-3 sm:grid-cols-2">
        {Object.entries(billing.plans).map(([plan, { name, price, features }]) => (
          <li key={plan} className="grid content-start gap-2 rounded-lg border border-line p-4">
            <p className="font-semibold">
              {name} <span className="font-normal text-muted">£{price} a month</span>
            </p>
            <ul className="text-sm text-muted">
              {features.map((feature) => (
                <li key={feature}>{feature}</li>
              ))}
            </ul>
            {billing.currentPlan === plan && billing.subscriptionStatus === 'active' ? (
              <p className="text-sm font-medium">Your plan</p>
            ) : (
              billing.cardsConfigured && (
                <Button
                  className="justify-self-start"
                  isPending={change.isPending}
                  onClick={() =>
                    own ? change.mutate({ action: 'change-plan', plan }) : pay({ action: 'create-checkout', plan })
                  }
                >
                  {own ? `Change to ${name}` : `Choose ${name}`}
                </Button>
              )
            )}
          </li>
        ))}
      </ul>
    </Section>
  )
}

type LineProps = { subscription: Subscription; isPending: boolean; onChange: (order: ChangeOrder) => void }

function SubscriptionLine({ subscription, isPending, onChange }: LineProps) {
  const { id, purpose, plan, state, isEnding, paidUntil, graceEndsAt } = subscription
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 rounded-lg bg-sunken px-4 py-3 text-sm">
      <p>
        <span className="font-medium capitalize">{purpose === 'storage' ? 'Storage' : `Plan ${plan ?? ''}`}</span>{' '}
        {state === 'past_due' && (
          <span className="text-bad">
            The last payment failed{graceEndsAt && <>; it goes on until {<Moment at={graceEndsAt} />}</>}.
          </span>
        )}
        {state === 'active' && paidUntil && (
          <span className="text-muted">
            {isEnding ? 'ends' : 'is renewed'} <Moment at={paidUntil} />
          </span>
        )}
      </p>
      <Button
        isPending={isPending}
        onClick={() => onChange({ action: isEnding ? 'restore' : 'cancel', subscriptionId: id })}
      >
        {isEnding ? 'Keep it' : 'Cancel'}
      </Button>
    </div>
  )
}

function CreditsSection({ billing, pay }: { billing: Billing; pay: Pay }) {
  return (
    <Section title="Credits" lead="For work that is paid by the request. One credit is a US cent.">
      <p className="text-2xl font-semibold tabular-nums">
        {billing.credits.toLocaleString('en')} <span className="text-sm font-normal text-muted">credits</span>
      </p>
      {billing.cardsConfigured && (
        <div className="flex flex-wrap gap-2">
          {billing.packs.map(({ pack, credits, price }) => (
            <Button key={pack} onClick={() => pay({ action: 'buy-credits', pack })}>
              {credits.toLocaleString('en')} for {price}
            </Button>
          ))}
        </div>
      )}
    </Section>
  )
}

function MoreStorage({ billing, pay }: { billing: Billing; pay: Pay }) {
  if (!billing.cardsConfigured || billing.subscriptionStatus !== 'active') return null
  const { bytes, price } = billing.storageUpgrade
  return (
    <Section title="More storage" lead="On top of your plan, a month at a time.">
      <Button className="justify-self-start" onClick={() => pay({ action: 'upgrade-storage' })}>
        {formatBytes(bytes)} more for {price} a month
      </Button>
    </Section>
  )
}
