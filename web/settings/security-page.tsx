import { PasswordSection } from './password-section.tsx'
import { SessionsSection } from './sessions-section.tsx'
import { SettingsFrame, WithSettings } from './settings-frame.tsx'
import { TwoFactorSection } from './two-factor-section.tsx'

/** Page `/settings/security`. */
export function SecurityPage() {
  return (
    <SettingsFrame title="Security" lead="Password, two-factor authentication and active sessions">
      <WithSettings>
        {(settings) => (
          <>
            <PasswordSection settings={settings} />
            <TwoFactorSection settings={settings} />
          </>
        )}
      </WithSettings>
      <SessionsSection />
    </SettingsFrame>
  )
}
