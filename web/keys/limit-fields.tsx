import { z } from 'zod'
import { Limits } from '../../src/features/accounts/keys/schemas.ts'
import { TextField } from '../ui/field.tsx'

/** An empty field sets no limit. */
const optional = <T,>(schema: z.ZodType<T, number | null>) =>
  z
    .string()
    .default('')
    .transform((text) => (text.trim() === '' ? null : Number(text)))
    .pipe(schema)

/** Form fields of `LimitFields`; null removes a limit. */
export const limitShape = {
  monthlyBudgetUsd: optional(Limits.shape.monthlyBudgetUsd),
  monthlyTokens: optional(Limits.shape.monthlyTokens),
  requestsPerMinute: optional(Limits.shape.requestsPerMinute),
  endUserBudgetUsd: optional(Limits.shape.endUserBudgetUsd),
}

const fields = [
  { name: 'monthlyBudgetUsd', label: 'US dollars per month', inputMode: 'decimal' },
  { name: 'monthlyTokens', label: 'Tokens per month', inputMode: 'numeric' },
  { name: 'requestsPerMinute', label: 'Requests per minute', inputMode: 'numeric' },
  { name: 'endUserBudgetUsd', label: 'US dollars per month and end user', inputMode: 'decimal' },
] as const

type LimitFieldsProps = {
  errors: Record<string, string | undefined>
  limits?: Limits
  /** The key has permissions beyond calling models, which rules out spending limits. */
  isForMore?: boolean
}

export function LimitFields({ errors, limits, isForMore = false }: LimitFieldsProps) {
  return (
    <fieldset className="grid grid-cols-1 gap-3">
      <legend className="mb-2 text-sm font-medium">
        Model limits <span className="font-normal text-muted">(leave empty for no limit; months are in UTC)</span>
      </legend>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        {fields.map(({ name, label, inputMode }) => (
          <TextField
            key={name}
            label={label}
            name={name}
            inputMode={inputMode}
            autoComplete="off"
            defaultValue={limits?.[name] ?? ''}
            disabled={isForMore && name !== 'requestsPerMinute'}
            error={errors[name]}
          />
        ))}
      </div>
    </fieldset>
  )
}
