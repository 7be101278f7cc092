import type { Settings } from '../../src/features/accounts/accounts/schemas.ts'
import { TwoFactorCodeRequest, TwoFactorDisableRequest } from '../../src/features/accounts/two-factor/schemas.ts'
import { FormButtons } from '../ui/button.tsx'
import { CodeField } from '../ui/code-field.tsx'
import { PasswordField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { FormNotice, secretFieldOf } from './form-notice.tsx'
import { disableTwoFactor, renewRecoveryCodes } from './settings-api.ts'

export function RecoveryCodesForm(on: { onRenewed: (codes: string[]) => void; onCancel: () => void }) {
  const { formRef, problem, isPending, onSubmit } = useForm(
    TwoFactorCodeRequest,
    async ({ code }) => on.onRenewed(await renewRecoveryCodes(code)),
    secretFieldOf('code'),
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-4">
      <FormNotice problem={problem} />
      <p className="text-sm text-muted">New codes replace the old ones.</p>
      <CodeField label="Code" error={problem?.fields.code} />
      <FormButtons verb="Create new codes" isPending={isPending} onCancel={on.onCancel} />
    </form>
  )
}

export function TurnOffForm({ settings, ...on }: { settings: Settings; onDone: () => void; onCancel: () => void }) {
  const { formRef, problem, isPending, onSubmit } = useForm(
    TwoFactorDisableRequest,
    async (body) => {
      await disableTwoFactor(body)
      on.onDone()
    },
    secretFieldOf('password'),
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-4">
      <FormNotice problem={problem} />
      {settings.hasPassword && (
        <PasswordField
          label="Password"
          name="password"
          autoComplete="current-password"
          error={problem?.fields.password}
        />
      )}
      <CodeField label="Code" error={problem?.fields.code} />
      <FormButtons verb="Turn off two-factor authentication" isPending={isPending} onCancel={on.onCancel} />
    </form>
  )
}
