import { Link } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import type { PlanList } from '../../src/features/payments/billing/schemas.ts'
import { buttonClass } from '../ui/button.tsx'

export function Plans({ offers: { plans, currency, signUp } }: { offers: PlanList }) {
  const money = new Intl.NumberFormat('en-GB', { style: 'currency', currency, maximumFractionDigits: 0 })
  return (
    <section aria-labelledby="plans" className="mx-auto grid max-w-6xl gap-6 px-5 pt-14 sm:px-8">
      <div className="grid gap-1">
        <h2 id="plans" className="text-2xl font-semibold">
          Plans
        </h2>
        <p className="text-muted">
          Billed monthly, cancel anytime. With your own provider keys, you pay the provider for models.
        </p>
      </div>
      <ul className="grid gap-4 sm:grid-cols-2 lg:grid-cols-4">
        {plans.map(({ name, price, features }) => (
          <li key={name} className="flex flex-col gap-4 rounded-xl border border-line bg-surface p-5">
            <h3 className="font-semibold">{name}</h3>
            <p>
              <span className="text-3xl font-semibold tabular-nums">{money.format(price)}</span>
              <span className="text-muted"> per month</span>
            </p>
            <ul className="grid flex-1 content-start gap-2 text-sm">
              {features.map((feature) => (
                <li key={feature} className="flex gap-2">
                  <Check aria-hidden className="mt-0.5 size-4 shrink-0 text-accent" />
                  {feature}
                </li>
              ))}
            </ul>
            {signUp !== 'closed' && (
              <Link
                to="/signup"
                search={{ redirect: '/billing' }}
                aria-label={`Choose ${name}`}
                className={buttonClass('plain')}
              >
                Choose {name}
              </Link>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
