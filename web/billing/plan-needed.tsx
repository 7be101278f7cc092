import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { sessionQuery } from '../account/session.ts'
import { buttonClass } from '../ui/button.tsx'
import { billingPageQuery } from './billing-api.ts'

/** Returns whether the account is known to have no active plan. Administrators need none. */
export function useNeedsPlan(): boolean {
  const user = useQuery(sessionQuery).data?.user
  const billing = useQuery({ ...billingPageQuery, enabled: user?.isAdmin === false })
  return user?.isAdmin === false && billing.data !== undefined && billing.data.subscriptionStatus !== 'active'
}

export const PLAN_NEEDED = 'Agents require a plan, and your account has none yet.'

export function PlanLink() {
  return (
    <Link to="/billing" className={`${buttonClass('primary')} justify-self-start`}>
      View plans
    </Link>
  )
}
