import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Settings } from '../../src/features/accounts/accounts/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { RecoveryCodeList } from './recovery-code-list.tsx'
import { settingsQuery, twoFactorQuery } from './settings-api.ts'
import { RecoveryCodesForm, TurnOffForm } from './two-factor-forms.tsx'
import { TwoFactorSetupSteps } from './two-factor-setup.tsx'

type Step = { name: 'rest' | 'set-up' | 'renew' | 'turn-off' } | { name: 'codes'; codes: string[] }

export function TwoFactorSection({ settings }: { settings: Settings }) {
  const client = useQueryClient()
  const [step, setStep] = useState<Step>({ name: 'rest' })
  const rest = () => setStep({ name: 'rest' })
  const settle = (next: Step) => {
    setStep(next)
    // Prefix of all settings keys, so those are reloaded too.
    void client.invalidateQueries({ queryKey: settingsQuery.queryKey })
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
