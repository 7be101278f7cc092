import { useState } from 'react'
import type { Settings } from '../../src/features/accounts/accounts/schemas.ts'
import {
  TwoFactorCodeRequest,
  type TwoFactorSetup,
  TwoFactorSetupRequest,
} from '../../src/features/accounts/two-factor/schemas.ts'
import { buttonClass, FormButtons } from '../ui/button.tsx'
import { CodeField } from '../ui/code-field.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { PasswordField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { FormNotice, secretFieldOf } from './form-notice.tsx'
import { QrPicture } from './qr-picture.tsx'
import { enableTwoFactor, setUpTwoFactor } from './settings-api.ts'

type SetupProps = { settings: Settings; onEnabled: (recoveryCodes: string[]) => void; onCancel: () => void }

export function TwoFactorSetupSteps({ settings, onEnabled, onCancel }: SetupProps) {
  const [setup, setSetup] = useState<TwoFactorSetup | null>(null)
  return setup ? (
    <EnableForm setup={setup} onEnabled={onEnabled} onCancel={onCancel} />
  ) : (
    <BeginForm hasPassword={settings.hasPassword} onBegun={setSetup} onCancel={onCancel} />
  )
}

type BeginProps = { hasPassword: boolean; onBegun: (setup: TwoFactorSetup) => void; onCancel: () => void }

function BeginForm({ hasPassword, onBegun, onCancel }: BeginProps) {
  const { formRef, problem, isPending, onSubmit } = useForm(
    TwoFactorSetupRequest,
    async (body) => onBegun(await setUpTwoFactor(body)),
    secretFieldOf('password'),
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-4">
      <FormNotice problem={problem} />
      {hasPassword ? (
        <PasswordField
          label="Password"
          name="password"
          autoComplete="current-password"
          autoFocus
          error={problem?.fields.password}
        />
      ) : (
        <p>You need an authenticator app on your phone, such as Aegis, Ente Auth or 1Password.</p>
      )}
      <FormButtons verb="Continue" isPending={isPending} onCancel={onCancel} />
    </form>
  )
}

type EnableProps = { setup: TwoFactorSetup; onEnabled: (recoveryCodes: string[]) => void; onCancel: () => void }

function EnableForm({ setup, onEnabled, onCancel }: EnableProps) {
  const { formRef, problem, isPending, onSubmit } = useForm(
    TwoFactorCodeRequest,
    async ({ code }) => onEnabled(await enableTwoFactor(code)),
    secretFieldOf('code'),
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-5">
      <FormNotice problem={problem} />
      <div className="grid grid-cols-1 gap-3">
        <p className="text-sm font-medium">1. Scan this with your authenticator app</p>
        <QrPicture text={setup.uri} label="QR code" />
        <p className="text-sm text-muted">Or enter the key manually. On your phone, open it in the app.</p>
        <div className="flex flex-wrap items-center gap-2">
          <code className="rounded-md bg-sunken px-2.5 py-1.5 font-mono text-[0.8125rem]">{inFours(setup.secret)}</code>
          <CopyButton text={setup.secret} what="key" />
          <a href={setup.uri} className={buttonClass('plain')}>
            Open in app
          </a>
        </div>
      </div>
      <div className="grid max-w-md grid-cols-1 gap-3">
        <CodeField label="2. Enter the code from the app" isSixDigits error={problem?.fields.code} />
      </div>
      <FormButtons verb="Turn on" isPending={isPending} onCancel={onCancel} />
    </form>
  )
}

function inFours(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(' ') ?? secret
}
