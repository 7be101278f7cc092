import { useQuery } from '@tanstack/react-query'
import { plansQuery } from './plans-api.ts'

/** Puts `free` first; `current` stays listed while plans load. */
export function PlanOptions({ current }: { current?: string }) {
  const plans = useQuery(plansQuery).data?.plans.map(({ name }) => name) ?? []
  const names = ['free', ...plans]
  const shown = current === undefined || names.includes(current) ? names : [...names, current]
  return shown.map((name) => (
    <option key={name} value={name}>
      {toPlanLabel(name)}
    </option>
  ))
}

/** Its value is ''; its label names the default plan once known. */
export function DefaultPlanOption() {
  const list = useQuery(plansQuery).data
  return <option value="">{list ? `Default (${toPlanLabel(list.defaultPlan ?? 'free')})` : 'Default'}</option>
}

/** `family` → `Family`; `free` means no plan. */
export function toPlanLabel(name: string): string {
  return name === 'free' ? 'No plan' : `${name.charAt(0).toUpperCase()}${name.slice(1)}`
}
