import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { sessionQuery } from '../account/session.ts'
import { buttonClass } from '../ui/button.tsx'
import { billingPageQuery } from './billing-api.ts'

/** Is the account known to have no active plan, without which it gets no agents? Administrators need none. */
export function useNeedsPlan(): boolean {
  const user = useQuery(sessionQuery).data?.user
  const billing = useQuery({ ...billingPageQuery, enabled: user?.isAdmin === false })
  return user?.isAdmin === false && billing.data !== undefined && billing.data.subscriptionStatus !== 'active'
}

/** What somebody without a plan is told in the place of a way to a new agent. */
export const PLAN_NEEDED = 'Agents require a plan, and your account has none yet.'

/** The way to a plan. */
export function PlanLink() {
  return (
    <Link to="/billing" className={`${buttonClass('primary')} justify-self-start`}>
      View plans
    </Link>
  )
}
