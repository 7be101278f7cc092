import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Settings } from '../../src/features/accounts/settings/schemas.ts'
import {
  TwoFactorCodeRequest,
  TwoFactorDisableRequest,
  type TwoFactorSetup,
  TwoFactorSetupRequest,
} from '../../src/features/accounts/two-factor/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { CodeField, PasswordField } from '../ui/field.tsx'
import { Form, secretFieldOf, useForm } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { QrPicture } from './qr-picture.tsx'
import {
  disableTwoFactor,
  enableTwoFactor,
  renewRecoveryCodes,
  settingsQuery,
  setUpTwoFactor,
  twoFactorQuery,
} from './settings-api.ts'

type Step = { name: 'rest' | 'set-up' | 'renew' | 'turn-off' } | { name: 'codes'; codes: string[] }

export function TwoFactorSection({ settings }: { settings: Settings }) {
  const [step, setStep] = useState<Step>({ name: 'rest' })
  const rest = () => setStep({ name: 'rest' })
  const settle = (next: Step) => {
    setStep(next)
    // Prefix of all settings keys, so those are reloaded too.
    void refresh(settingsQuery)
  }
  const showCodes = (codes: string[]) => settle({ name: 'codes', codes })
  return (
    <Section
      title="Two-factor authentication"
      lead="Requires a code from an authenticator app in addition to your password."
      badge={settings.twoFactorEnabled ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>}
    >
      {step.name === 'codes' ? (
        <RecoveryCodeList codes={step.codes} email={settings.email} onDone={rest} />
      ) : step.name === 'set-up' ? (
        <TwoFactorSetupSteps settings={settings} onEnabled={showCodes} onCancel={rest} />
      ) : step.name === 'renew' ? (
        <RecoveryCodesForm onRenewed={showCodes} onCancel={rest} />
      ) : step.name === 'turn-off' ? (
        <TurnOffForm settings={settings} onDone={() => settle({ name: 'rest' })} onCancel={rest} />
      ) : settings.twoFactorEnabled ? (
        <OnActions onRenew={() => setStep({ name: 'renew' })} onTurnOff={() => setStep({ name: 'turn-off' })} />
      ) : (
        <Button className="justify-self-start" onClick={() => setStep({ name: 'set-up' })}>
          Set up two-factor authentication
        </Button>
      )}
    </Section>
  )
}

function OnActions({ onRenew, onTurnOff }: { onRenew: () => void; onTurnOff: () => void }) {
  const left = useQuery(twoFactorQuery).data?.recoveryCodesLeft
  return (
    <>
      {left !== undefined && left < 4 && (
        <Notice tone="warning" title={left === 0 ? 'No recovery codes left' : `${left} recovery codes left`}>
          Create new ones to avoid being locked out if you lose your phone.
        </Notice>
      )}
      {left !== undefined && left >= 4 && <p className="text-sm text-muted">{left} recovery codes left.</p>}
      <div className="flex flex-wrap gap-2">
        <Button onClick={onRenew}>New recovery codes</Button>
        <Button onClick={onTurnOff}>Turn off</Button>
      </div>
    </>
  )
}

function RecoveryCodesForm(on: { onRenewed: (codes: string[]) => void; onCancel: () => void }) {
  const form = useForm(
    TwoFactorCodeRequest,
    async ({ code }) => on.onRenewed(await renewRecoveryCodes(code)),
    secretFieldOf('code'),
  )
  return (
    <Form form={form} verb="Create new codes" onCancel={on.onCancel} className="grid max-w-md grid-cols-1 gap-4">
      <p className="text-sm text-muted">New codes replace the old ones.</p>
      <CodeField label="Code" />
    </Form>
  )
}

function TurnOffForm({ settings, ...on }: { settings: Settings; onDone: () => void; onCancel: () => void }) {
  const form = useForm(
    TwoFactorDisableRequest,
    async (body) => {
      await disableTwoFactor(body)
      on.onDone()
    },
    secretFieldOf('password'),
  )
  return (
    <Form
      form={form}
      verb="Turn off two-factor authentication"
      onCancel={on.onCancel}
      className="grid max-w-md grid-cols-1 gap-4"
    >
      {settings.hasPassword && <PasswordField label="Password" name="password" autoComplete="current-password" />}
      <CodeField label="Code" />
    </Form>
  )
}

type SetupProps = { settings: Settings; onEnabled: (recoveryCodes: string[]) => void; onCancel: () => void }

function TwoFactorSetupSteps({ settings, onEnabled, onCancel }: SetupProps) {
  const [setup, setSetup] = useState<TwoFactorSetup | null>(null)
  return setup ? (
    <EnableForm setup={setup} onEnabled={onEnabled} onCancel={onCancel} />
  ) : (
    <BeginForm hasPassword={settings.hasPassword} onBegun={setSetup} onCancel={onCancel} />
  )
}

type BeginProps = { hasPassword: boolean; onBegun: (setup: TwoFactorSetup) => void; onCancel: () => void }

function BeginForm({ hasPassword, onBegun, onCancel }: BeginProps) {
  const form = useForm(
    TwoFactorSetupRequest,
    async (body) => onBegun(await setUpTwoFactor(body)),
    secretFieldOf('password'),
  )
  return (
    <Form form={form} verb="Continue" onCancel={onCancel} className="grid max-w-md grid-cols-1 gap-4">
      {hasPassword ? (
        <PasswordField label="Password" name="password" autoComplete="current-password" autoFocus />
      ) : (
        <p>You need an authenticator app on your phone, such as Aegis, Ente Auth or 1Password.</p>
      )}
    </Form>
  )
}

type EnableProps = { setup: TwoFactorSetup; onEnabled: (recoveryCodes: string[]) => void; onCancel: () => void }

function EnableForm({ setup, onEnabled, onCancel }: EnableProps) {
  const form = useForm(
    TwoFactorCodeRequest,
    async ({ code }) => onEnabled(await enableTwoFactor(code)),
    secretFieldOf('code'),
  )
  return (
    <Form form={form} verb="Turn on" onCancel={onCancel} className="grid grid-cols-1 gap-5">
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
        <CodeField label="2. Enter the code from the app" isSixDigits />
      </div>
    </Form>
  )
}

function inFours(secret: string): string {
  return secret.match(/.{1,4}/g)?.join(' ') ?? secret
}

function RecoveryCodeList({ codes, email, onDone }: { codes: string[]; email: string; onDone: () => void }) {
  const listRef = useRef<HTMLUListElement>(null)
  useEffect(() => listRef.current?.focus(), [])
  return (
    <>
      <Notice tone="warning" title="Save your recovery codes">
        Each code signs you in once if you lose your phone. They are not shown again.
      </Notice>
      <ul
        ref={listRef}
        tabIndex={-1}
        aria-label="Recovery codes"
        className="grid max-w-md grid-cols-1 gap-x-6 gap-y-1.5 rounded-lg bg-sunken px-4 py-3 font-mono text-sm whitespace-nowrap sm:grid-cols-2"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={codes.join('\n')} what="recovery codes" />
        <Button onClick={() => download(`Recovery codes for ${email}\n\n${codes.join('\n')}\n`)}>Download</Button>
        <Button look="primary" onClick={onDone}>
          I have saved them
        </Button>
      </div>
    </>
  )
}

function download(text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = 'recovery-codes.txt'
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
