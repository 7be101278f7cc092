import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Billing, Subscription } from '../../src/features/payments/billing/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { refresh } from '../api/query-client.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Notice } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { billingPageQuery, type ChangeOrder, changeSubscription, untilConfirmed, usePay } from './billing-api.ts'

export function PlanSection({ billing }: { billing: Billing }) {
  const pay = usePay()
  const change = useChange()
  const [asked, setAsked] = useState<string | null>(null)
  const isAdmin = useQuery(sessionQuery).data?.user?.isAdmin ?? false
  const own = billing.subscriptions.find(({ purpose }) => purpose === 'plan')
  const choose = (plan: string) => (own ? setAsked(plan) : pay.mutate({ action: 'create-checkout', plan }))
  // Administrators have the largest plan and cannot buy one.
  const verb = own ? 'Change to' : billing.cardsConfigured && !isAdmin ? 'Choose' : null
  const error = pay.error ?? (asked === null ? change.error : null)
  return (
    <Section
      title="Plan"
      lead={describePlan(billing, { isPaid: own !== undefined, isAdmin })}
      actions={
        billing.hasCustomer && billing.cardsConfigured ? (
          <Button isPending={pay.isPending} onClick={() => pay.mutate({ action: 'open-portal' })}>
            Manage billing
          </Button>
        ) : undefined
      }
    >
      {change.data && <Notice tone="good">{change.data.message}</Notice>}
      <ErrorNotice error={error} />
      {billing.subscriptions.map((subscription) => (
        <SubscriptionLine
          key={subscription.id}
          subscription={subscription}
          isPending={change.isPending}
          onChange={billing.cardsConfigured ? change.mutate : null}
        />
      ))}
      <ul className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        {Object.entries(billing.plans).map(([plan, offer]) => (
          <Offer
            key={plan}
            offer={offer}
            isOwn={billing.currentPlan === plan && billing.subscriptionStatus === 'active'}
            verb={billing.cardsConfigured ? verb : null}
            isPending={pay.isPending || change.isPending}
            onChoose={() => choose(plan)}
          />
        ))}
      </ul>
      {asked !== null && (
        <ConfirmDialog
          title={`Change to ${billing.plans[asked]?.name ?? asked}?`}
          lead={`The plan costs £${billing.plans[asked]?.price} per month. The difference for the rest of this month is charged or credited on your next invoice.`}
          verb="Change plan"
          look="primary"
          isPending={change.isPending}
          error={change.error}
          onConfirm={() => change.mutate({ action: 'change-plan', plan: asked }, { onSuccess: () => setAsked(null) })}
          onClose={() => setAsked(null)}
        />
      )}
    </Section>
  )
}

/** Changes a paid plan; the page polls until Stripe confirms it. */
function useChange() {
  const change = useMutation({ mutationFn: changeSubscription, onSuccess: () => refresh(billingPageQuery) })
  useQuery({ ...billingPageQuery, refetchInterval: change.isSuccess && untilConfirmed })
  return change
}

function describePlan(
  { subscriptionStatus }: Billing,
  { isPaid, isAdmin }: { isPaid: boolean; isAdmin: boolean },
): string {
  if (isPaid) return 'Billed monthly by card.'
  if (isAdmin) return 'Administrators have the limits of the largest plan at no charge.'
  if (subscriptionStatus === 'active') return 'Assigned by the administrator, free of charge.'
  return 'You have no active plan.'
}

type OfferProps = {
  offer: Billing['plans'][string]
  isOwn: boolean
  /** Null for a plan that cannot be bought. */
  verb: string | null
  isPending: boolean
  onChoose: () => void
}

function Offer({ offer: { name, price, features }, isOwn, verb, isPending, onChoose }: OfferProps) {
  return (
    <li className="grid content-start gap-2 rounded-lg border border-line p-4">
      <p className="font-semibold">
        {name} <span className="font-normal text-muted">£{price} per month</span>
      </p>
      <ul className="text-sm text-muted">
        {features.map((feature) => (
          <li key={feature}>{feature}</li>
        ))}
      </ul>
      {isOwn && <p className="text-sm font-medium">Your plan</p>}
      {!isOwn && verb !== null && (
        <Button className="justify-self-start" isPending={isPending} onClick={onChoose}>
          {verb} {name}
        </Button>
      )}
    </li>
  )
}

type LineProps = {
  subscription: Subscription
  isPending: boolean
  /** Null when card payments are not configured. */
  onChange: ((order: ChangeOrder) => void) | null
}

function SubscriptionLine({ subscription, isPending, onChange }: LineProps) {
  const { id, purpose, plan, state, isEnding, paidUntil, graceEndsAt } = subscription
  const what = purpose === 'storage' ? 'Storage' : `Plan ${plan ?? ''}`
  const verb = isEnding ? 'Keep plan' : 'Cancel plan'
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 rounded-lg bg-sunken px-4 py-3 text-sm">
      <p>
        <span className="font-medium capitalize">{what}</span>{' '}
        {state === 'past_due' && (
          <span className="text-bad">
            is unpaid: the last payment failed.
            {graceEndsAt && (
              <>
                {' '}
                Active until <Moment at={graceEndsAt} />.
              </>
            )}
          </span>
        )}
        {state === 'active' && paidUntil && (
          <span className="text-muted">
            {isEnding ? 'ends' : 'renews on'} <Moment at={paidUntil} />
          </span>
        )}
      </p>
      {onChange && (
        <Button
          aria-label={`${verb} ${what}`}
          isPending={isPending}
          onClick={() => onChange({ action: isEnding ? 'restore' : 'cancel', subscriptionId: id })}
        >
          {verb}
        </Button>
      )}
    </div>
  )
}
