import { Secret, TOTP } from 'otpauth'

const PERIOD_SECONDS = 30
const DIGITS = 6
/** 160 bits, as RFC 4226 wants. */
const SECRET_BYTES = 20
/** RFC 6238, 5.2: at most one step of drift either way. */
const DRIFT_STEPS = 1

/** A new secret in Base32, as authenticators take it. */
export function createTotpSecret(): string {
  return new Secret({ size: SECRET_BYTES }).base32
}

/** The `otpauth://` address of the QR code; `account` is what the authenticator shows. */
export function totpUri(secret: string, account: string): string {
  return createTotp(secret, account).toString()
}

/** The time step that `code` belongs to, or null when it is of none near `now`. */
export function findTotpStep(secret: string, code: string, now: Date): number | null {
  const timestamp = now.getTime()
  const drift = createTotp(secret, '').validate({ token: code, timestamp, window: DRIFT_STEPS })
  return drift === null ? null : Math.floor(timestamp / 1000 / PERIOD_SECONDS) + drift
}

function createTotp(secret: string, account: string): TOTP {
  return new TOTP({ issuer: 'Stead', label: account, secret, digits: DIGITS, period: PERIOD_SECONDS })
}
