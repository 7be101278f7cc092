import type { DayLimit } from '../../src/features/ai/breakers/schemas.ts'
import { SelectField } from '../ui/field.tsx'

type LimitActionFieldProps = { label: string; name: string; action: DayLimit['action'] }

/** Chooses what happens when an agent reaches a daily limit. */
export function LimitActionField({ label, name, action }: LimitActionFieldProps) {
  return (
    <SelectField label={label} name={name} defaultValue={action}>
      <option value="ask">Ask me</option>
      <option value="pause">Pause until midnight</option>
      <option value="stop">Stop the agent</option>
    </SelectField>
  )
}
